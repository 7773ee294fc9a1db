"""`mirror-index build`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, report_change
from mirror_index.config import IndexSpec


@click.command("build")
@click.argument("source")
@click.option("-o", "--output", required=True, metavar="COLLECTION", help="New collection.")
@options.encoder_name
@click.option("--tune", "tuned", is_flag=True, help="Tune the encoder on SOURCE first.")
@click.option(
    "--index",
    "kind",
    default="auto",
    show_default=True,
    help="auto, exact, or a FAISS factory string.",
)
@click.option("--recall", type=float, default=0.95, show_default=True, help="Wished recall@10.")
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
    kept only if that helps.
    """
    from mirror_index.pipeline import build_collection

    spec = IndexSpec(kind=values.pop("kind"), recall=values.pop("recall"))
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
