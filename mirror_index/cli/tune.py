"""`mirror-index tune`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, print_json
from mirror_index.config import Loss, MaskUnit, MirrorConfig, Pooling, Precision, Preset
from mirror_index.errors import ExitCode

if TYPE_CHECKING:
    from mirror_index.tuning import TuneResult

_SETTINGS = (
    ("--tau", float, "Temperature of InfoNCE."),
    ("--span-mask", int, "Characters, or what --mask names, masked in the second view."),
    ("--mask-from", int, "Characters from which on strings are masked."),
    ("--noise", float, "Chance that the second view is respelt."),
    ("--epochs", int, "Passes over the strings."),
    ("--max-length", int, "Tokens read of each string while tuning."),
    ("--batch-size", int, "Pairs a step."),
    ("--micro-batch", int, "Pairs the memory holds at once.  [default: all that fit]"),
    ("--checkpoint-every", int, "Steps between two checkpoints; 0 for none.  [default: 25]"),
    ("--mlm-steps", int, "Steps of masked language modelling before; for raw MLMs."),
    ("--learning-rate", float, "Learning rate without synonyms."),
    ("--weight-decay", float, "Weight decay."),
    ("--warmup", float, "Share of the steps that warm up; 0 keeps the rate constant."),
    ("--dropout", float, "Dropout in both views."),
    ("--drophead", float, "Chance to drop an attention head; use with --dropout 0."),
    ("--strings", int, "Most strings to tune on, sampled with the seed."),
    ("--synonym-pairs", int, "Most pairs of names of one concept an epoch."),
    ("--synonym-learning-rate", float, "Learning rate with synonyms."),
    ("--synonym-tau", float, "Temperature with synonyms."),
    ("--synonym-warmup", float, "Share of the steps that warm up, with synonyms."),
    ("--held-out", float, "Share of the strings kept unseen for the card."),
    ("--seed", int, "Seed of every random choice."),
)

_CHOICES = {"pooling": Pooling, "precision": Precision, "mask": MaskUnit, "loss": Loss}


def tuning_settings(command: Any) -> Any:  # noqa: ANN401 - a click decorator
    """Add one option per setting of `MirrorConfig`; what is left out comes from the preset."""
    for flag, kind, text in reversed(_SETTINGS):
        command = click.option(flag, type=kind, help=text)(command)
    return command


@click.command("tune")
@click.argument("source")
@click.option("-o", "--output", required=True, type=options.NEW_PATH, help="New folder.")
@options.encoder_name
@click.option(
    "--preset",
    type=options.names_of(Preset),
    default=Preset.PHRASE.value,
    show_default=True,
    help="Published settings for the kind of text.",
)
@tuning_settings
@click.option("--pooling", type=options.names_of(Pooling), help="How tokens become one vector.")
@click.option("--mask", type=options.names_of(MaskUnit), help="What --span-mask counts.")
@click.option("--loss", type=options.names_of(Loss), help="What is minimised.")
@click.option("--no-synonyms", is_flag=True, help="Do not learn from names of one concept.")
@click.option("--require-gain", is_flag=True, help="Fail when tuning does not help.")
@click.option("--keep", is_flag=True, help="Keep the tuned weights whatever the card says.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option(
    "--precision", type=options.names_of(Precision), default="auto", help="Arithmetic of tuning."
)
@click.option("--threads", type=int, help="CPU threads.  [default: all cores]")
@options.reading
@options.allow_quarantine
@options.as_json
def command(
    source: str,
    output: Path,
    allow_quarantine: bool,
    as_json: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Tune an encoder on the texts of SOURCE without labels, and keep it only if it helps.

    Mirror-BERT (Liu et al., EMNLP 2021): every text and a slightly altered copy are a positive
    pair. When SOURCE is an ontology or dictionary, names of one concept are positives too. The
    folder written holds the encoder, the before/after card (card.txt, card.json, card.png) and the
    settings. Interrupted, the same command goes on from OUTPUT.partial. Under torchrun or
    `accelerate launch` the processes tune together.
    """
    from mirror_index.readers import read
    from mirror_index.tuning import tune

    read_options, encoder = options.read_options(values), values.pop("encoder")
    result = tune(
        read(source, read_options),
        output,
        encoder=encoder,
        config=mirror_config(values),
        reporter=BarReporter(),
    )
    if not result.leads:  # of several processes that tune together, one speaks
        return ExitCode.DONE
    _show(result, as_json)
    quarantined = result.card.counts["quarantined"]
    if quarantined and not allow_quarantine:
        click.echo(
            f"{quarantined} rows of the source could not be taken; `mirror-index build` keeps them "
            "with their reasons. --allow-quarantine makes this exit 0.",
            err=True,
        )
        return ExitCode.QUARANTINED
    return ExitCode.DONE


def _show(result: TuneResult, as_json: bool) -> None:
    if as_json:
        print_json({"folder": str(result.folder), "kept": result.kept, "reason": result.reason,
                    "seconds": result.seconds, "card": result.card.to_json()})  # fmt: skip
    else:
        click.echo(result.card.render())
        click.echo(f"Encoder: {result.folder}")


def mirror_config(values: dict[str, Any]) -> MirrorConfig:
    """Return the settings for what was given on the command line."""
    given = {name: value for name, value in values.items() if value is not None}
    given["synonyms"] = not given.pop("no_synonyms")
    preset = Preset(given.pop("preset"))
    for name, kind in _CHOICES.items():
        if name in given:
            given[name] = kind(given[name])
    return MirrorConfig.for_preset(preset, **given)
