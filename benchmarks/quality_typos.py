"""What the spelling leg of a hybrid search is worth: names with one and two random slips."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from unittest import mock

from benchmarks import data
from benchmarks.harness import kept, say, threads, workspace
from benchmarks.quality_text import default_encoder
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.config import ReadOptions, SearchOptions
from mirror_index.readers import read
from mirror_index.records import normalise_text

if TYPE_CHECKING:
    from mirror_index.collection import Collection

NAMES = 1000
QUICK_NAMES = 50
SEED = 7
_DICTIONARY = "linking/dict_hpo2025.tsv"
_COLUMNS = ReadOptions(text_column="name", concept_column="concept_id", scope_column="kind")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TABLE = (
    Column(name="slips"),
    Column(name="search"),
    Column(name="queries", spec=",d"),
    Column(name="Acc@1", spec=".3f"),
    Column(name="Acc@10", spec=".3f"),
)


def slip(text: str, rng: random.Random) -> str:
    """Return a text with a character left out, added, replaced or swapped with the next."""
    while True:
        at = rng.randrange(len(text))
        letter = rng.choice(_LETTERS)
        changed = rng.choice(
            (
                text[:at] + text[at + 1 :],
                text[:at] + letter + text[at:],
                text[:at] + letter + text[at + 1 :],
                text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :],
            )
        )
        if changed != text and normalise_text(changed) == changed:
            return changed


def run_typos(quick: bool) -> Result:
    """Measure names with slips, dense and hybrid, with and without the spelling leg."""
    rows: list[Sequence[Cell]] = kept("typos", quick, lambda: _measured(quick))
    return Result(
        title="misspelt names of the Human Phenotype Ontology, the default encoder untuned",
        tables=(Table(title="The name itself among the first hits", columns=_TABLE, rows=rows),),
        note=(
            "Random names of five characters or more, each with random slips: a character left "
            "out, added, replaced, or swapped with the next. The last row of each kind leaves out "
            "the trigrams."
        ),
        settings={"threads": threads(), "seed": SEED},
    )


def _measured(quick: bool) -> list[Sequence[Cell]]:
    from mirror_index.collection import Collection

    rows: list[Sequence[Cell]] = []
    with workspace() as folder:
        items = list(read(data.find(_DICTIONARY), _COLUMNS))
        items = items[:2000] if quick else items
        with Collection.build(folder / "hpo", items, encoder=default_encoder()) as built:
            records = [getattr(item, "text", "") for item in items]
            names = sorted({normalise_text(text) for text in records if len(text) >= 5})
            rng = random.Random(SEED)
            queries = wanted = rng.sample(names, QUICK_NAMES if quick else NAMES)
            for slips in (1, 2):
                queries = [slip(query, rng) for query in queries]
                rows += _searches(built, slips, queries, wanted)
    return rows


def _searches(
    built: Collection, slips: int, queries: Sequence[str], wanted: Sequence[str]
) -> list[Sequence[Cell]]:
    from mirror_index.collection import searching

    def found(label: str, hybrid: bool) -> list[Cell]:
        say(f"  {slips} slips, {label}")
        answers = built.search(queries, SearchOptions(k=10, hybrid=hybrid))
        texts = [[normalise_text(hit.text) for hit in hits] for hits in answers]
        first = sum(name in one[:1] for name, one in zip(wanted, texts, strict=True))
        ten = sum(name in one for name, one in zip(wanted, texts, strict=True))
        return [str(slips), label, len(queries), first / len(queries), ten / len(queries)]

    rows = [found("dense", False), found("hybrid", True)]
    with mock.patch.object(searching, "spelling_hits", _nothing):
        rows.append(found("hybrid without spelling", True))
    return [*rows]


def _nothing(*_: Any) -> dict[int, float]:  # noqa: ANN401
    return {}
