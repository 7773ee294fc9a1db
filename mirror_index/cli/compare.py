"""`mirror-index evaluate compare`: two encoders or two collections on one task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_json, print_table
from mirror_index.cli.rankers import collection_ranker, load
from mirror_index.errors import UsageError

TASKS = ("sts", "lexical", "retrieval", "linking")


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--task", required=True, type=click.Choice(TASKS), help="What to compare them on.")
@click.option("--data", required=True, type=click.Path(path_type=Path), help="Judged file, folder.")
@click.option("--columns", default="s1,s2,score", show_default=True, help="Of --task sts.")
@click.option("--split", default="test", show_default=True, help="Of --task retrieval.")
@click.option("--hybrid", is_flag=True, help="Fuse with keyword search (collections, retrieval).")
@click.option("--mention-column", default="mention", show_default=True, help="Of --task linking.")
@click.option("--gold-column", default="gold_ids", show_default=True, help="Of --task linking.")
@click.option("--only", multiple=True, metavar="COLUMN=VALUE", help="Keep rows with this value.")
@options.running
@options.home
@options.as_json
def compare(a: str, b: str, as_json: bool, **values: Any) -> None:  # noqa: ANN401
    """Compare A and B item by item: both, the difference B - A with its 95% interval, and p.

    A and B are encoder folders or hub names (`default` is the default encoder) for sts, lexical and
    retrieval, or collections for retrieval and linking.
    """
    comparison = _COMPARE[values.pop("task")](a, b, values)
    if as_json:
        print_json(comparison)
        return
    click.echo(f"{comparison.task} on {comparison.data}, {comparison.n} items; A {a}, B {b}")
    print_table(
        ("measure", "A", "B", "B - A", "low", "high", "p"),
        [
            (
                name,
                m.a.value,
                m.b.value,
                m.difference.value,
                m.difference.low,
                m.difference.high,
                m.p,
            )
            for name, m in comparison.measures.items()
        ],
    )


def _sts(a: str, b: str, values: dict[str, Any]) -> Any:  # noqa: ANN401 - a Comparison, lazily
    from mirror_index.evaluation import compare_sts

    first, second = _encoders(a, b, values)
    return compare_sts(values["data"], first, second, values["columns"].split(","), names=(a, b))


def _lexical(a: str, b: str, values: dict[str, Any]) -> Any:  # noqa: ANN401
    from mirror_index.evaluation import compare_lexical

    first, second = _encoders(a, b, values)
    return compare_lexical(values["data"], first, second, names=(a, b))


def _retrieval(a: str, b: str, values: dict[str, Any]) -> Any:  # noqa: ANN401
    from mirror_index.evaluation import compare_retrieval

    rankers = [_ranker(name, values) for name in (a, b)]
    return compare_retrieval(values["data"], *rankers, split=values["split"], names=(a, b))


def _linking(a: str, b: str, values: dict[str, Any]) -> Any:  # noqa: ANN401
    from mirror_index.linking import compare_linking, read_gold

    gold = read_gold(
        values["data"],
        values["mention_column"],
        values["gold_column"],
        options.conditions(values["only"]),
    )
    folders = [options.find_collection(name, values["home"]) for name in (a, b)]
    return compare_linking(folders[0], folders[1], gold, data=values["data"].name, names=(a, b))


_COMPARE: dict[str, Callable[[str, str, dict[str, Any]], Any]] = {
    "sts": _sts,
    "lexical": _lexical,
    "retrieval": _retrieval,
    "linking": _linking,
}


def _encoders(a: str, b: str, values: dict[str, Any]) -> list[Any]:
    return [load(name, dict(values)) for name in (a, b)]


def _ranker(name: str, values: dict[str, Any]) -> Any:  # noqa: ANN401
    """Return a collection's search when there is a collection of this name, else an encoder."""
    folder = options.collection_folder(name, values["home"])
    if folder is not None:
        return collection_ranker(folder, hybrid=values["hybrid"])
    if values["hybrid"]:
        raise UsageError("--hybrid needs collections", value=name, remedy="Build one of the corpus")
    return load(name, dict(values))
