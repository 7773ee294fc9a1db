"""A test collection in the layout of BEIR (Thakur et al., NeurIPS 2021), read from its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirror_index.errors import SourceError
from mirror_index.evaluation.tables import Table, require_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalData:
    """A test collection: texts of documents and queries by id, graded judgements by query id."""

    name: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]


def load_beir(folder: str | Path, split: str = "test") -> RetrievalData:
    """Read a test collection.

    The folder holds ``corpus.jsonl`` (``_id``, ``title``, ``text``), ``queries.<split>.jsonl`` or
    ``queries.jsonl`` (``_id``, ``text``), and ``qrels.<split>.tsv`` or ``qrels/<split>.tsv`` with
    the header ``query-id corpus-id score``. A document's text is its title, a space and its text.

    Raises:
        SourceError: a file is missing or empty, a line is not what it should be (the line is
            named), or a judged query has no text.
    """
    folder = Path(folder)
    qrels = _read_qrels(_first(folder, f"qrels.{split}.tsv", f"qrels/{split}.tsv"))
    queries = _read_texts(_first(folder, f"queries.{split}.jsonl", "queries.jsonl"))
    documents = _read_texts(_first(folder, "corpus.jsonl"))
    if not documents or not qrels:
        raise SourceError("there are no documents or no judgements", value=str(folder))
    missing = sorted(set(qrels) - set(queries))
    if missing:
        raise SourceError(
            f"{len(missing)} judged queries have no text",
            value=missing[0],
            where=str(folder.name),
            remedy="Check that queries and qrels belong together",
        )
    return RetrievalData(
        name=folder.name,
        documents=documents,
        queries={query_id: queries[query_id] for query_id in qrels},
        qrels=qrels,
    )


def _first(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise SourceError(
        f"the folder has no {' or '.join(names)}",
        value=str(folder),
        remedy="Give a folder in the layout of BEIR",
    )


def _read_texts(path: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for where, entry in _json_lines(path):
        if not isinstance(entry.get("_id"), str) or not isinstance(entry.get("text"), str):
            raise SourceError("a line needs the text fields _id and text", where=where)
        title = entry.get("title") or ""
        texts[entry["_id"]] = f"{title} {entry['text']}".strip()
    return texts


def _json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path.name}, line {number}"
            try:
                entry = json.loads(line)
            except ValueError as error:
                raise SourceError(f"a line is not JSON ({error})", where=where) from error
            if not isinstance(entry, dict):
                raise SourceError("a line is not a JSON object", value=entry, where=where)
            yield where, entry


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    table = Table(path)
    require_columns(table, ("query-id", "corpus-id", "score"))
    qrels: dict[str, dict[str, int]] = {}
    for row in table:
        try:
            grade = int(row.cells["score"])
        except ValueError as error:
            raise SourceError(
                "a judgement is not a whole number",
                value=row.cells["score"],
                where=f"{path.name}, line {row.line}",
            ) from error
        qrels.setdefault(row.cells["query-id"], {})[row.cells["corpus-id"]] = grade
    return qrels
