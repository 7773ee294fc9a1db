"""`mirror-index evaluate sts | lexical | retrieval | linking | recall | compare`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mirror_index.cli import options
from mirror_index.cli.compare import compare
from mirror_index.cli.output import print_fields, print_json
from mirror_index.cli.rankers import collection_ranker, load
from mirror_index.config import LinkOptions
from mirror_index.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from mirror_index.evaluation.linking import CurvePoint

ENCODER_OPTIONS = (
    "encoder",
    "pooling",
    "max_length",
    "prompt",
    "device",
    "precision",
    "batch_tokens",
    "threads",
)


@click.group("evaluate")
def command() -> None:
    """Measure an encoder or a collection on judged data."""


def show(values: Mapping[str, Any], as_json: bool) -> None:
    """Print a report as a JSON line or as fields."""
    print_json(values) if as_json else print_fields(values)


@command.command("sts")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--columns", default="s1,s2,score", show_default=True, help="Two texts and their score."
)
@options.encoder_name
@options.recipe
@options.running
@options.as_json
def sts(file: Path, columns: str, encoder: str | None, as_json: bool, **values: Any) -> None:  # noqa: ANN401
    """Correlate cosines with judged similarity over a TSV or CSV file with a header."""
    from mirror_index.encoding import load_encoder
    from mirror_index.evaluation import evaluate_sts

    model = load_encoder(encoder, options.encoder_config(values))
    show(evaluate_sts(file, model, columns.split(",")).to_json(), as_json)


@command.command("lexical")
@click.argument("file", type=click.Path(path_type=Path))
@options.encoder_name
@options.recipe
@options.running
@options.as_json
def lexical(file: Path, encoder: str | None, as_json: bool, **values: Any) -> None:  # noqa: ANN401
    """Correlate cosines with judged similarity over lines of: word, word, score (no header)."""
    from mirror_index.encoding import load_encoder
    from mirror_index.evaluation import evaluate_lexical

    model = load_encoder(encoder, options.encoder_config(values))
    show(evaluate_lexical(file, model).to_json(), as_json)


@command.command("retrieval")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--collection", help="Evaluate a collection of the corpus instead of an encoder.")
@click.option("--split", default="test", show_default=True, help="Queries and judgements to use.")
@click.option("--hybrid", is_flag=True, help="Fuse with keyword search (with --collection).")
@click.option("-o", "--output", type=options.NEW_PATH, help="Write a TREC run file.")
@options.encoder_name
@options.recipe
@options.running
@options.home
@options.as_json
def retrieval(
    folder: Path,
    collection: str | None,
    split: str,
    hybrid: bool,
    output: Path | None,
    encoder: str | None,
    home: Path,
    as_json: bool,
    **values: Any,  # noqa: ANN401
) -> None:
    """Rank the corpus of a BEIR FOLDER for its queries: nDCG@10, MAP, recall, MRR."""
    from mirror_index.evaluation import evaluate_retrieval, write_trec_run

    if collection is None and hybrid:
        raise UsageError("--hybrid goes with --collection", remedy="Give a collection")
    if collection is not None:
        refuse_given(ENCODER_OPTIONS, "a collection encodes queries with the encoder it holds")
    ranker = None
    if collection is not None:
        ranker = collection_ranker(options.find_collection(collection, home), hybrid=hybrid)
    model = None if ranker else load(encoder, values)
    report = evaluate_retrieval(folder, model, split=split, search=ranker)
    if output is not None:
        write_trec_run(output, report.run)
    show(report.to_json(), as_json)


def refuse_given(names: Sequence[str], why: str) -> None:
    """Refuse options that were given but would change nothing.

    Raises:
        UsageError: names the first of them.
    """
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UsageError(
                f"--{name.replace('_', '-')} goes without --collection: {why}",
                value=context.params[name],
                remedy="Leave out one of the two",
            )


@command.command("linking")
@click.argument("collection")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mention-column", default="mention", show_default=True, help="Column of mentions.")
@click.option("--gold-column", default="gold_ids", show_default=True, help="Column of gold ids.")
@click.option("--only", multiple=True, metavar="COLUMN=VALUE", help="Keep rows with this value.")
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw the risk-coverage curve (a .png file)."
)
@options.home
@options.as_json
def linking(
    collection: str,
    file: Path,
    mention_column: str,
    gold_column: str,
    only: tuple[str, ...],
    plot: Path | None,
    home: Path,
    as_json: bool,
) -> None:
    """Link the mentions of a TSV or CSV FILE and compare with their gold ids (A|B for several)."""
    from mirror_index.collection import Collection
    from mirror_index.linking import evaluate_linking, read_gold

    gold = read_gold(file, mention_column, gold_column, options.conditions(only))
    with Collection.open(options.find_collection(collection, home)) as opened:
        report = evaluate_linking(opened, gold, LinkOptions())
    if plot is not None:
        draw(report.scores.curve, plot)
    values = report.to_json()
    if not as_json:  # a hundred points are nothing to read
        del values["scores"]["curve"]
    show(values, as_json)


def draw(curve: Sequence[CurvePoint], path: Path) -> None:
    """Draw a risk-coverage curve, or say what is missing for it."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(
            "--plot needs matplotlib", value=str(path), remedy="pip install 'mirror-index[plot]'"
        )
    from mirror_index.evaluation.plotting import draw_curve

    draw_curve(curve, path)


@command.command("recall")
@click.argument("collection")
@options.home
@options.as_json
def recall(collection: str, home: Path, as_json: bool) -> int:
    """Verify COLLECTION and measure again how many of the true ten nearest its index finds."""
    from mirror_index.collection.verifying import verify_collection

    report = verify_collection(options.find_collection(collection, home), recall=True)
    if report.recall is not None or report.ok:
        show(report.recall or {"index": "exact", "recall_at_10": 1.0}, as_json)
    for problem in report.problems:
        click.echo(f"{problem.where}: {problem.what}. {problem.remedy}", err=True)
    return ExitCode.DONE if report.ok else ExitCode.FAILED


command.add_command(compare)
