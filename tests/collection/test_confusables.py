"""Confusable texts against a comparison of every pair."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirror_index.collection import Collection, lookalikes, neighbours
from mirror_index.collection.confusables import Confusable, Likeness, confusables
from mirror_index.collection.lookalikes import one_slip
from mirror_index.config import IndexSpec
from mirror_index.errors import UsageError
from mirror_index.names import name_key
from mirror_index.records import Concept, Name, Record, Scope
from tests.cli.conftest import Run, run
from tests.collection.oracle import names
from tests.fakes import HashEncoder

__all__ = ["run"]


def of(found: list[Confusable], likeness: Likeness) -> dict[frozenset[str], float]:
    return {
        frozenset((pair.text, pair.other_text)): pair.score
        for pair in found
        if pair.likeness is likeness
    }


def some_concepts(count: int, seed: int) -> list[Any]:
    """Concepts with several names, texts that concepts share, and plain records."""
    rng = random.Random(seed)
    texts = [record.text for record in names(3 * count)]
    items: list[Any] = []
    for number in range(count):
        chosen = rng.sample(texts, 4)
        synonyms = tuple(Name(text=text, scope=Scope.EXACT) for text in chosen[1:])
        items.append(Concept(id=f"C{number}", label=chosen[0], names=synonyms))
    items += [Record(id=f"p{number}", text=rng.choice(texts)) for number in range(20)]
    return items


def owned(items: list[Any]) -> dict[str, set[str]]:
    owners: dict[str, set[str]] = {}
    for item in items:
        for record in item.records() if isinstance(item, Concept) else [item]:
            owners.setdefault(record.text, set()).add(record.concept_id or record.id)
    return owners


def nearest_by_hand(
    owners: dict[str, set[str]], encoder: HashEncoder, threshold: float
) -> dict[str, float]:
    """Return the best cosine with a text of no common owner, where it reaches the threshold."""
    texts = list(owners)
    rows = encoder.encode(texts).astype(np.float64)
    scores = np.round(rows @ rows.T, 6)
    best = {}
    for one, text in enumerate(texts):
        others = [
            scores[one, other]
            for other, name in enumerate(texts)
            if other != one and owners[text].isdisjoint(owners[name])
        ]
        if others and max(others) >= threshold:
            best[text] = float(max(others))
    return best


@pytest.mark.parametrize("index", ["exact", "HNSW16"])
@pytest.mark.parametrize("threshold", [-1.0, 0.6, 0.9, 1.0])
def test_near_texts_are_those_of_all_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threshold: float, index: str
) -> None:
    monkeypatch.setattr(neighbours, "BLOCK", 37)
    monkeypatch.setattr(neighbours, "FETCHES", (2, 5, 400))
    encoder, items = HashEncoder(24), some_concepts(60, seed=1)
    with Collection.build(
        tmp_path / "c", items, encoder=encoder, spec=IndexSpec(kind=index, recall=1.0)
    ) as collection:
        found = confusables(collection, threshold=threshold)
        again = confusables(collection, threshold=threshold, exact=True)
    best = nearest_by_hand(owned(items), encoder, threshold)
    every = {likeness: of(found, likeness) for likeness in Likeness}
    pairs = {**every[Likeness.NEAR], **every[Likeness.ONE_SLIP], **every[Likeness.SAME_NAME]}
    owners = owned(items)
    for pair, score in every[Likeness.NEAR].items():
        one, other = pair
        assert owners[one].isdisjoint(owners[other])
        assert score in (pytest.approx(best[one], abs=2e-6), pytest.approx(best[other], abs=2e-6))
    for text, score in best.items():
        assert max(s for pair, s in pairs.items() if text in pair) >= score - 2e-6
    shared = {frozenset((text,)) for text, ids in owners.items() if len(ids) > 1}
    assert set(every[Likeness.SAME_TEXT]) == shared
    assert shared
    same = {likeness: of(again, likeness) for likeness in Likeness}
    assert len(same[Likeness.NEAR]) == len(every[Likeness.NEAR])


def test_names_that_are_the_same_or_a_slip_apart(tmp_path: Path) -> None:
    texts = {
        "a": ["Hypertension", "Löfgren syndrome", "Gout", "type 1 thing", "ALT level"],
        "b": ["hypertension", "hypertensoin", "Lofgren's syndrome", "Gous", "type 2 thing"],
        "c": ["hyper tension", "AST level", "Hypertensions", "arachnodactyly"],
    }
    items = [
        Concept(id=id_, label=label, names=tuple(Name(text=t, scope=Scope.EXACT) for t in synonyms))
        for id_, (label, *synonyms) in texts.items()
    ]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        found = confusables(collection, threshold=1.0)
    assert set(of(found, Likeness.SAME_NAME)) == {
        frozenset(("Hypertension", "hypertension")),
        frozenset(("Löfgren syndrome", "Lofgren's syndrome")),
    }
    assert set(of(found, Likeness.ONE_SLIP)) == {
        frozenset(("Hypertension", "hypertensoin")),
        frozenset(("Hypertension", "hyper tension")),
        frozenset(("Hypertension", "Hypertensions")),
    }
    first = next(pair for pair in found if pair.text == "Hypertension")
    assert (first.owners, first.other_owners) == (("a",), ("b",))


@pytest.mark.parametrize("held", [10, 10_000_000])
def test_slips_are_those_of_all_pairs(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    from mirror_index.store.owners import Owners

    monkeypatch.setattr(lookalikes, "HELD", held)
    rng = random.Random(3)
    words = ["".join(rng.choice("ab ") for _ in range(rng.randint(4, 8))) for _ in range(150)]
    keys = {row: key for row, word in enumerate(words) if (key := name_key(word))}
    numbers = np.asarray([rng.randrange(40) for _ in words], dtype=np.int64)
    owners = Owners(names=[str(n) for n in range(40)], single=numbers, several={})
    expected: dict[str, str] = {}
    groups = lookalikes._by_key(keys)
    for other, one in itertools.permutations(groups, 2):
        earlier = list(groups).index(one) < list(groups).index(other)
        long = min(len(one), len(other)) >= 5
        apart = any(numbers[r] != numbers[s] for r in groups[one] for s in groups[other])
        if earlier and long and apart and one_slip(one, other):
            expected.setdefault(other, one)
    found = list(lookalikes.one_slip_apart(keys, owners))
    assert {frozenset((keys[one], keys[row])) for one, row in found} == {
        frozenset(pair) for pair in expected.items()
    }
    assert len(found) == len(expected) > 10
    assert all(numbers[one] != numbers[row] for one, row in found)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("gastric tumour", "gastric tumours", True),
        ("gastric tumour", "gastrci tumour", True),
        ("gastric tumour", "gastrictumour", True),
        ("type 1 defect", "type 2 defect", False),
        ("type a defect", "type b defect", False),
        ("protein hdl1234", "protein hdl1235", False),
        ("protein hdla234", "protein hdlb234", True),
        ("alt", "ast", False),
        ("gout", "gouts", False),
        ("gastric tumour", "gastric tumour", False),
        ("gastric tumour", "gastic tumor", False),
    ],
)
def test_what_one_slip_is(one: str, other: str, expected: bool) -> None:
    assert one_slip(one, other) is expected
    assert one_slip(other, one) is expected


def test_shared_texts_and_tombstones(tmp_path: Path) -> None:
    items = [Record(id=f"r{n:02}", text="aspirin") for n in range(30)]
    items += [Record(id="x", text="ibuprofen"), Record(id="y", text="ibuprofen")]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        found = confusables(collection)
        assert [(p.likeness, p.text, p.owners, len(p.other_owners)) for p in found] == [
            (Likeness.SAME_TEXT, "aspirin", ("r00",), 10),
            (Likeness.SAME_TEXT, "ibuprofen", ("x",), 1),
        ]
        collection.delete(where="text = 'aspirin' or id = 'x'")
        assert confusables(collection, threshold=-1.0) == []
        with pytest.raises(UsageError, match="a cosine"):
            confusables(collection, threshold=1.5)


def test_an_empty_collection(tmp_path: Path) -> None:
    with Collection.build(tmp_path / "c", [], encoder=HashEncoder()) as collection:
        assert confusables(collection) == []


def test_the_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,text\na,heart attack\nb,Heart  attack\nc,rye bread\n")
    np.save(tmp_path / "v.npy", np.array([[1, 0], [1, 0.1], [0, 1]]))
    target = tmp_path / "c"
    made = ("build", tmp_path / "s.csv", "-o", target, "--vectors", tmp_path / "v.npy")
    assert run(*made).status == 0
    (pair,) = run("confusables", target, "--json").json
    assert pair == {
        "likeness": "same name",
        "score": 0.995037,
        "text": "heart attack",
        "owners": ["a"],
        "other_text": "Heart attack",
        "other_owners": ["b"],
    }
    shown = run("confusables", target, "--threshold", -1, "--limit", 1)
    assert len(shown.out.splitlines()) == 2
    assert "2 pairs, 1 shown" in shown.err
    assert run("confusables", target, "--threshold", 2).status == 2
    assert run("confusables", target, "--limit", 0).status == 2
