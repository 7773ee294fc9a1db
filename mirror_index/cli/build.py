"""`mirror-index build`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, report_change
from mirror_index.cli.quantities import DURATION, SIZE
from mirror_index.config import Dtype, IndexSpec


@click.command("build")
@click.argument("source")
@click.option("-o", "--output", required=True, metavar="COLLECTION", help="New collection.")
@options.encoder_name
@options.vectors
@click.option("--tune", "tuned", is_flag=True, help="Tune the encoder on SOURCE first.")
@click.option(
    "--index",
    "kind",
    default="auto",
    show_default=True,
    help="auto, exact, or a FAISS factory string.",
)
@click.option("--recall", type=float, default=0.95, show_default=True, help="Wished recall@10.")
@click.option("--memory", type=SIZE, help="Most memory the index may hold, e.g. 500MB.")
@click.option("--latency", type=DURATION, help="With auto: wished time of a search, e.g. 5ms.")
@click.option(
    "--dtype",
    type=options.names_of(Dtype),
    default=Dtype.FLOAT32.value,
    show_default=True,
    help="How vectors are stored; float16 halves their file.",
)
@click.option("--overwrite", is_flag=True, help="Replace a collection that is there.")
@options.recipe
@options.running
@options.taking
@options.reading
@options.home
@options.allow_quarantine
@options.as_json
def command(
    source: str,
    output: str,
    home: Path,
    as_json: bool,
    allow_quarantine: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Encode the texts of SOURCE and make a COLLECTION of them.

    An interrupted build goes on where it stopped when the same command is given again. With
    --tune, the encoder is first tuned on SOURCE (`mirror-index tune` has all the settings), and
    kept only if that helps. With --vectors nothing is encoded; the vectors are checked against
    --encoder (`default` is the default one), and without it the collection takes vectors as
    queries only.
    """
    from mirror_index.pipeline import build_collection

    spec = _spec(values)
    folder = options.place_collection(output, home)
    with build_collection(
        source,
        folder,
        read_options=options.read_options(values),
        encoder_config=options.encoder_config(values),
        spec=spec,
        reporter=BarReporter(),
        **options.take_options(values),
        **values,
    ) as collection:
        return report_change(
            collection.last_change, as_json=as_json, allow_quarantine=allow_quarantine, where=output
        )


def _spec(values: dict[str, Any]) -> IndexSpec:
    memory = values.pop("memory")
    return IndexSpec(
        **options.take(values, "kind", "recall", "latency"),
        memory=None if memory is None else int(memory),
        dtype=Dtype(values.pop("dtype")),
    )
