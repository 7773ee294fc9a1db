"""Spelling: edit distance against a plain recursion, hits against a look at every text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror_index.collection import Collection
from mirror_index.records import Record
from mirror_index.store import trigrams
from mirror_index.store.edits import slips_apart
from mirror_index.store.layout import DATABASE, SHORT_TEXT
from mirror_index.store.schema import _SECOND_FORMAT
from tests.fakes import HashEncoder

NAMES = [
    "Arachnodactyly",
    "Hypertrophic cardiomyopathy",
    "Dilated cardiomyopathy",
    "Cardiomyopathy",
    "Myopathy",
    "Gout",
    "Gouty arthritis",
    "Ménière disease",
    "α-thalassemia",
    "心筋梗塞後症候群",
    "x" * SHORT_TEXT,
    "y" * (SHORT_TEXT + 1),
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    folder = tmp_path_factory.mktemp("trigrams") / "c"
    items = [Record(id=str(place), text=text) for place, text in enumerate(NAMES)]
    Collection.build(folder, items, encoder=HashEncoder()).close()
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        yield connection


@pytest.fixture(scope="module")
def names() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE texts (row INTEGER PRIMARY KEY, text TEXT)")
        connection.executemany("INSERT INTO texts VALUES (?, ?)", enumerate(NAMES))
        for statement in _SECOND_FORMAT[-4:]:
            connection.execute(statement)
        yield connection


def found(database: sqlite3.Connection, query: str, limit: int = 100) -> list[str]:
    allowed = np.ones(len(NAMES), dtype=np.bool_)
    hits = trigrams.spelling_hits(database, query, limit, allowed)
    texts = dict(database.execute("SELECT row, text FROM texts").fetchall())
    return [texts[row] for row in hits]


def by_hand(one: str, other: str) -> int:
    """Optimal string alignment, straight from its definition."""

    @cache
    def apart(i: int, j: int) -> int:
        if min(i, j) == 0:
            return max(i, j)
        ways = [
            apart(i - 1, j) + 1,
            apart(i, j - 1) + 1,
            apart(i - 1, j - 1) + (one[i - 1] != other[j - 1]),
        ]
        if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
            ways.append(apart(i - 2, j - 2) + 1)
        return min(ways)

    return apart(len(one), len(other))


@settings(deadline=None)
@given(st.text("abc", max_size=9), st.text("abc", max_size=9), st.integers(0, 6))
def test_slips_are_counted_up_to_the_limit(one: str, other: str, most: int) -> None:
    assert slips_apart(one, other, most) == min(by_hand(one, other), most + 1)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("arachnodactyly", ["Arachnodactyly"]),
        ("arachnodactly", ["Arachnodactyly"]),
        ("rachnodactylyy", ["Arachnodactyly"]),
        ("cardiomyopath", ["Cardiomyopathy", "Dilated cardiomyopathy"]),
        ("myopathy", ["Myopathy", "Cardiomyopathy", "Dilated cardiomyopathy"]),
        ("gout", ["Gout", "Gouty arthritis"]),
        ("goutt", ["Gout"]),
        ("Meniere disease", ["Ménière disease"]),
        ("心筋梗塞", ["心筋梗塞後症候群"]),
        ("THALASSEMIA", ["α-thalassemia"]),
        ("x" * (SHORT_TEXT - 2), ["x" * SHORT_TEXT]),
        ("y" * SHORT_TEXT, []),
        ("y" * (SHORT_TEXT + 1), []),
        ("arthropathy of the heart", []),
        ("go", []),
        ("", []),
        ("\0\0\0\0", []),
        ('"""', []),
    ],
)
def test_what_is_spelt_like_a_query(
    database: sqlite3.Connection, query: str, expected: list[str]
) -> None:
    assert found(database, query)[: len(expected) or None] == expected


def respelt(name: str) -> st.SearchStrategy[str]:
    """A name with up to four changes, or a part of it."""
    place = st.integers(0, len(name))
    change = st.tuples(place, st.text("aex ", max_size=2), st.integers(0, 2))

    def apply(changes: list[tuple[int, str, int]]) -> str:
        text = name
        for at, added, lost in changes:
            text = text[:at] + added + text[at + lost :]
        return text

    part = st.tuples(place, place).map(lambda ends: name[min(ends) : max(ends)])
    return st.one_of(st.lists(change, max_size=4).map(apply), part)


@settings(deadline=None)
@given(query=st.one_of(st.text(max_size=120), st.sampled_from(NAMES).flatmap(respelt)))
def test_hits_are_those_of_a_look_at_every_text(names: sqlite3.Connection, query: str) -> None:
    wanted = trigrams.padded_trigrams(query.lower())
    expected = {}
    most = trigrams.slips_allowed(len(query.lower()))
    for row, name in enumerate(NAMES):
        text = name.lower()
        near = query.lower() in text or by_hand(query.lower()[:130], text) <= most
        shares = set(trigrams.trigrams(query.lower())) & set(trigrams.trigrams(text))
        if near and shares and len(text) <= SHORT_TEXT and len(query.lower()) <= SHORT_TEXT:
            has = trigrams.padded_trigrams(text)
            expected[row] = 2 * len(wanted & has) / (len(wanted) + len(has))
    allowed = np.ones(len(NAMES), dtype=np.bool_)
    assert trigrams.spelling_hits(names, query, 100, allowed) == expected


def test_rare_trigrams_are_read_first(
    database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigrams, "READ_ROWS", 3)
    assert found(database, "dilated cardiomyopathi") == ["Dilated cardiomyopathy"]


def test_a_limit_and_rows_that_are_not_allowed(database: sqlite3.Connection) -> None:
    assert found(database, "cardiomyopathy", limit=1) == ["Cardiomyopathy"]
    allowed = np.zeros(len(NAMES), dtype=np.bool_)
    assert trigrams.spelling_hits(database, "gout", 10, allowed) == {}


def test_a_database_without_the_index(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        assert trigrams.spelling_hits(connection, "gout", 10, np.ones(1, dtype=np.bool_)) == {}
