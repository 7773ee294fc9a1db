"""What the context of a mention is worth: nothing, its sentence, its document."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks import data
from benchmarks.harness import kept, threads, workspace
from benchmarks.quality_text import default_encoder
from benchmarks.report import Cell, Column, Result, Table

if TYPE_CHECKING:
    from mirror_index.records import Link

QUICK_MENTIONS = 40
Row = dict[str, str]

_COLUMNS = (
    Column(name="context"),
    Column(name="mentions"),
    Column(name="n", spec=",d"),
    Column(name="Acc@1", spec=".3f"),
    Column(name="Acc@5", spec=".3f"),
    Column(name="linked", spec=",d"),
    Column(name="right of these", spec=",d"),
)


def run(quick: bool) -> Result:
    """Link the mentions of NCBI disease test with abbreviations of their context written out."""
    rows = kept("contexts", quick, lambda: _measured(quick))
    return Result(
        title="linking mentions with the abbreviations of their context (NCBI disease test)",
        tables=(Table(title="Mentions of one concept", columns=_COLUMNS, rows=rows),),
        note=(
            "Default encoder, untuned. Held out are the mentions that are no name of their concept "
            "after lower-casing and stripping punctuation; abbreviations are those of them that "
            "have ten characters at most, no space and two capitals. A document is made of the "
            "sentences of the corpus that hold a mention."
        ),
        settings={"threads": threads()},
    )


def _measured(quick: bool) -> list[list[Cell]]:
    from mirror_index.collection import Collection
    from mirror_index.linking import calibrate, link

    with data.find("linking/ncbi_disease.test.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    documents: dict[str, dict[str, None]] = {}
    for row in rows:
        documents.setdefault(row["doc"], {})[row["sentence"]] = None
    rows = [row for row in rows if row["kind"] == "single"][: QUICK_MENTIONS if quick else None]
    names = data.records(data.find(data.MEDIC))
    if quick:
        wanted = {one for row in rows for one in row["gold_ids_dict"].split("|")}
        names = [name for name in names if name.concept_id in wanted]
    contexts: dict[str, Callable[[Row], str | None]] = {
        "none": lambda row: None,
        "sentence": lambda row: row["sentence"],
        "document": lambda row: " ".join(documents[row["doc"]]),
    }
    found: list[list[Cell]] = []
    with (
        workspace() as folder,
        Collection.build(folder / "medic", names, encoder=default_encoder()) as collection,
    ):
        calibrate(collection)
        for name, context in contexts.items():
            mentions = [row["mention"] for row in rows]
            links = link(collection, mentions, contexts=[context(row) for row in rows])
            found += [[name, *cells] for cells in _scores(rows, links)]
    return found


def _scores(rows: Sequence[Row], links: Sequence[Link]) -> list[list[Cell]]:
    parts: dict[str, Callable[[Row], Any]] = {
        "all": lambda row: True,
        "held out": lambda row: row["in_dict_norm"] == "0",
        "abbreviations": lambda row: row["in_dict_norm"] == "0" and _is_short(row["mention"]),
    }
    scores: list[list[Cell]] = []
    for name, wanted in parts.items():
        answers = [
            (set(row["gold_ids_dict"].split("|")), answer)
            for row, answer in zip(rows, links, strict=True)
            if wanted(row)
        ]
        ranked = [(gold, [one.concept_id for one in a.candidates]) for gold, a in answers]
        linked = [(gold, a) for gold, a in answers if a.status.value == "linked"]
        size = max(1, len(answers))
        scores.append(
            [
                name,
                len(answers),
                sum(bool(gold & set(ids[:1])) for gold, ids in ranked) / size,
                sum(bool(gold & set(ids[:5])) for gold, ids in ranked) / size,
                len(linked),
                sum(a.concept_id in gold for gold, a in linked),
            ]
        )
    return scores


def _is_short(mention: str) -> bool:
    return len(mention) <= 10 and " " not in mention and sum(map(str.isupper, mention)) >= 2
