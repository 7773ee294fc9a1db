"""Filters: against plain Python over the same rows, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.errors import FilterError
from mirror_index.records import Record, Scope
from mirror_index.store.filters import parse_filter
from tests.fakes import HashEncoder

Keep = Callable[[dict[str, Any]], bool]

ROWS: list[dict[str, Any]] = [
    {"id": "1", "text": "alpha", "year": 2018, "source": "pubmed", "flag": True},
    {"id": "2", "text": "Beta", "year": "2019", "source": "pmc", "flag": False},
    {"id": "3", "text": "gamma", "year": "2020.5", "source": None, "my col": 3},
    {"id": "4", "text": "it's", "year": "n/a", "source": "O'Brien", 'q"t': "x"},
    {"id": "5", "text": "é", "year": -4, "prix (€)": 2.5, "a.b": 1},
    {"id": "6", "text": "zeta", "code": "00601", "text2": "100%", "line": "meta"},
]


def number(row: dict[str, Any], name: str) -> float:
    try:
        return float(row.get(name))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")


CASES: list[tuple[str, Keep]] = [
    ("year >= 2019", lambda r: number(r, "year") >= 2019),
    ("2019 <= year", lambda r: number(r, "year") >= 2019),
    ("year < 2019", lambda r: number(r, "year") < 2019),
    ("year = 2019", lambda r: number(r, "year") == 2019),
    ("year = '2018'", lambda r: str(r.get("year")) == "2018"),
    ("year != 2018", lambda r: r.get("year") is not None and r["year"] != 2018),
    ("year <> 2018 and source = 'pmc'", lambda r: r["id"] == "2"),
    ("year = -4", lambda r: r["id"] == "5"),
    ("year between 2018 and 2020", lambda r: 2018 <= number(r, "year") <= 2020),
    ("not year between 2018 and 2020", lambda r: r["id"] in "345"),
    ("source in ('pubmed', 'pmc')", lambda r: r.get("source") in ("pubmed", "pmc")),
    ("source not in ('pubmed', 'pmc')", lambda r: r.get("source") == "O'Brien"),
    ("year in (2018, 2019)", lambda r: number(r, "year") in (2018, 2019)),
    ("source = 'O''Brien'", lambda r: r["id"] == "4"),
    ("source is null", lambda r: r.get("source") is None),
    ("source is not null", lambda r: r.get("source") is not None),
    ("text like '%a'", lambda r: r["text"].lower().endswith("a")),
    ("text not like '%a'", lambda r: not r["text"].lower().endswith("a")),
    ("text like 'b_ta'", lambda r: r["id"] == "2"),
    ("text = 'it''s'", lambda r: r["id"] == "4"),
    ("text2 like '100%'", lambda r: r["id"] == "6"),
    ("id = '3' or (id = '4' and year = 'n/a')", lambda r: r["id"] in "34"),
    ("id = 3", lambda r: r["id"] == "3"),
    ("not (id = '3' or id = '4')", lambda r: r["id"] not in "34"),
    ("flag = true", lambda r: r.get("flag") is True),
    ("flag = false", lambda r: r.get("flag") is False),
    ('"my col" = 3', lambda r: r["id"] == "3"),
    ('"prix (€)" > 2', lambda r: r["id"] == "5"),
    ('"a.b" = 1', lambda r: r["id"] == "5"),
    ('"q""t" = \'x\'', lambda r: r["id"] == "4"),
    ("metadata.year = 2018", lambda r: r["id"] == "1"),
    ("metadata.line = 'meta'", lambda r: r["id"] == "6"),
    ("line >= 3", lambda r: int(r["id"]) >= 3),
    ("code = 601", lambda r: r["id"] == "6"),
    ("code = '601'", lambda r: False),
    ("scope = 'label' and concept_id = 'C'", lambda r: r["id"] == "1"),
    ("year > 1e3", lambda r: number(r, "year") > 1000),
    ("year < 99999999999999999999", lambda r: number(r, "year") < 1e20),
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    items = [
        Record(
            id=row["id"],
            text=row["text"],
            metadata={name: value for name, value in row.items() if name not in ("id", "text")},
            line=int(row["id"]),
            concept_id="C" if row["id"] == "1" else None,
            scope=Scope.LABEL if row["id"] == "1" else None,
        )
        for row in ROWS
    ]
    folder = tmp_path_factory.mktemp("filters") / "c"
    return Collection.build(folder, items, encoder=HashEncoder(16))


@pytest.mark.parametrize(("where", "keep"), CASES, ids=[case[0] for case in CASES])
def test_a_filter_keeps_what_python_keeps(collection: Collection, where: str, keep: Keep) -> None:
    (hits,) = collection.search(["alpha"], SearchOptions(k=20, where=where))
    assert sorted(hit.id for hit in hits) == [row["id"] for row in ROWS if keep(row)]


REFUSED = [
    "",
    "   ",
    "year",
    "year >",
    "year = 2019;",
    "year = 2019; drop table records",
    "year = 2019 -- comment",
    "/* x */ year = 2019",
    "select 1",
    "year = (select 1)",
    "year in (select 1)",
    "exists (select 1)",
    "pragma user_version",
    "attach 'x' as y",
    "lower(text) = 'a'",
    "text = lower('A')",
    "load_extension('x') = 1",
    "year = year",
    "year + 1 = 2",
    "1 = 1",
    "year is true",
    "records.id = '1'",
    "main.records.id = '1'",
    "year = ?",
    "year = :x",
    "text match 'a'",
    "text regexp 'a'",
    "text glob 'a*'",
    "text like 5",
    "text like 'a' escape '\\'",
    "year in ()",
    "year between symmetric 1 and 2",
    "year in unnest(x)",
    "text ilike 'a'",
    "year is not distinct from 1",
    "case when year = 1 then 1 end",
    "year = 'x' collate nocase",
    "year = cast('1' as int)",
    "*",
    "(" * 5000 + "year = 1" + ")" * 5000,
    " or ".join(["(year = 1"] * 150) + ")" * 150,
    "year = 1 or " * 3000 + "year = 1",
]


@pytest.mark.parametrize("where", REFUSED, ids=range(len(REFUSED)))
def test_anything_else_is_refused(collection: Collection, where: str) -> None:
    with pytest.raises(FilterError):
        collection.search(["alpha"], SearchOptions(where=where))


def test_a_long_flat_filter_is_fine(collection: Collection) -> None:
    where = " or ".join(f"id = '{number}'" for number in range(300))
    (hits,) = collection.search(["alpha"], SearchOptions(k=20, where=where))
    assert len(hits) == len(ROWS)


def test_a_long_list_is_fine(collection: Collection) -> None:
    listed = ", ".join(f"'{number}'" for number in range(2, 2500))
    found = collection.search(["x"], SearchOptions(k=20, where=f"id in ({listed})"))[0]
    assert {hit.id for hit in found} == {row["id"] for row in ROWS} - {"1"}


@pytest.mark.parametrize("where", ["id = 'a\0'", "id = '\udcff'"])
def test_what_sqlite_cannot_hold_is_refused(where: str) -> None:
    with pytest.raises(FilterError, match="not valid Unicode"):
        parse_filter(where)


def test_a_refusal_names_the_part(collection: Collection) -> None:
    with pytest.raises(FilterError, match=r"LOWER\(text\)"):
        parse_filter("year = 1 and lower(text) = 'a'")
    with pytest.raises(FilterError, match="character 12"):
        parse_filter("year = 2019; x")
    with pytest.raises(FilterError, match="line 1, character"):
        parse_filter("year = = 3")


def test_an_unknown_field_lists_the_known_ones(collection: Collection) -> None:
    with pytest.raises(FilterError, match=r"'yaer'.*Known fields: id, .*year"):
        collection.search(["alpha"], SearchOptions(where="yaer = 1"))
    with pytest.raises(FilterError):
        collection.delete(where="yaer = 1")


def test_the_reading_connection_reaches_nothing_else(collection: Collection) -> None:
    with collection._reading() as view:
        for statement in ("ATTACH 'x' AS y", "PRAGMA journal_mode", "SELECT load_extension('x')"):
            with pytest.raises(Exception, match="not authorized"):
                view.store.connection.execute(statement)
        with pytest.raises(Exception, match="readonly"):
            view.store.connection.execute("DELETE FROM records")


def test_the_built_in_columns_need_no_record(tmp_path: Path) -> None:
    with Collection.build(tmp_path / "c", [], encoder=HashEncoder()) as empty:
        assert empty.search(["x"], SearchOptions(where="anything = 1")) == [[]]


@pytest.mark.parametrize("text", ["veg", "year > 3 and veg", "not veg", "(veg)", "veg or year = 1"])
def test_a_column_by_itself_is_told_how_it_compares(text: str) -> None:
    with pytest.raises(FilterError, match=r"veg is a column by itself.*= true"):
        parse_filter(text)


@pytest.mark.parametrize("text", ["veg is true", "veg is not false"])
def test_is_goes_with_null_alone(text: str) -> None:
    with pytest.raises(FilterError, match="than NULL after IS; compare with ="):
        parse_filter(text)
