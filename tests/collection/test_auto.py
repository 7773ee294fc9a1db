"""What `auto` takes when it can measure, and what it says when nothing does what is wished for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirror_index.collection import Collection, approximation
from mirror_index.config import IndexSpec
from mirror_index.errors import EncoderError, UsageError
from mirror_index.index import choosing
from mirror_index.index.building import build_ann
from mirror_index.index.calibration import calibrate, hold_out, measure
from mirror_index.index.exact import exact_search
from mirror_index.index.kinds import search_parameters
from mirror_index.progress import SilentReporter
from mirror_index.store.layout import DATABASE
from mirror_index.vectors import Encoded
from tests.collection.oracle import names
from tests.fakes import HashEncoder

ROWS = 2600
_LISTS = 6


class Notes(SilentReporter):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        self.said.append(message)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `auto` go beyond exact search from few rows on."""
    monkeypatch.setattr(choosing, "EXACT_VALUES", 1000)


def build(folder: Path, notes: Notes, **wishes: Any) -> dict[str, Any]:
    spec = IndexSpec(recall=0.9, **wishes)
    with Collection.build(
        folder, names(ROWS), encoder=HashEncoder(32), spec=spec, reporter=notes
    ) as made:
        assert made.verify(encoder=HashEncoder(32)).ok
        facts: dict[str, Any] = made.info()["index"]
        return facts


def test_the_first_that_does_is_taken(tmp_path: Path, small: None) -> None:
    notes = Notes()
    facts = build(tmp_path / "c", notes)
    assert facts["kind"] == "IVF64,PQ8x4fs"
    assert facts["reached"]
    assert facts["recall_interval"][1] >= 0.9
    assert notes.said == []
    size = (tmp_path / "c/ann/000001.faiss").stat().st_size
    assert facts["bytes_per_vector"] == pytest.approx(size / ROWS, abs=0.1)


def test_what_misses_its_wish_makes_way(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poor_codes(index: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        found = calibrate(index, *args, **kwargs)
        return found | {"reached": index.knob == "efSearch"}

    monkeypatch.setattr("mirror_index.index.calibration.calibrate", poor_codes)
    notes = Notes()
    facts = build(tmp_path / "c", notes)
    assert facts["kind"] == "HNSW16"
    assert len(notes.said) == 1
    assert notes.said[0].startswith("IVF64,PQ8x4fs: recall@10 is")
    assert [path.name for path in (tmp_path / "c/ann").iterdir()] == ["000001.faiss"]


def test_where_nothing_does_the_best_is_taken_and_said(tmp_path: Path, small: None) -> None:
    notes = Notes()
    facts = build(tmp_path / "c", notes, latency=0.0001)
    assert facts["kind"] in choosing._ladder(ROWS, 32)[: approximation.TRIALS]
    assert len(notes.said) == approximation.TRIALS + 1
    assert "were asked for" in notes.said[0]
    assert notes.said[-1] == f"nothing that was tried does; taking {facts['kind']}"


def test_a_budget_for_no_index_is_said(tmp_path: Path, small: None) -> None:
    notes = Notes()
    assert build(tmp_path / "c", notes, memory=100)["kind"] == "exact"
    assert len(notes.said) == 1
    assert "fits into 100 bytes" in notes.said[0]


def test_wishes_are_kept_for_later_changes(tmp_path: Path, small: None) -> None:
    encoder, spec = HashEncoder(32), IndexSpec(memory=50_000_000, latency=500.0, recall=0.9)
    with Collection.build(tmp_path / "c", names(50), encoder=encoder, spec=spec) as made:
        with made._reading() as view:
            assert IndexSpec(**view.store.meta("index_spec")) == spec
        first = made.info()["index"]
        made.add(names(5, start=50))
        assert made.info()["index"] == first  # exact search is not timed again by a small change


def test_wishes_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="memory must be positive"):
        IndexSpec(memory=-1)
    assert not (tmp_path / DATABASE).exists()


class OnlyKnown(HashEncoder):
    """Takes no text it has not met, as with vectors that came with the source."""

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        if any(text.startswith("unmet") for text in texts):
            raise EncoderError("only what is stored has a vector")
        return super().encode_audited(texts)


def test_queries_are_no_rows(tmp_path: Path) -> None:
    encoder = HashEncoder(32)
    # Dropping a word of every other text gives a text that is stored as well.
    texts = [f"name {n}" for n in range(300)] + [f"name name {n}" for n in range(300)]
    vectors = encoder.encode(texts)
    held = hold_out(vectors, encoder, lambda rows: [texts[row] for row in rows], 0)
    assert held.source == "altered texts, blended vectors"
    assert 0 < len(held.vectors) < 400
    best = (held.vectors.astype(float) @ vectors.T.astype(float)).max(axis=1)
    assert best.max() < 1 - 1e-7
    again = hold_out(vectors, encoder, lambda rows: [texts[row] for row in rows], 0)
    other = hold_out(vectors, encoder, lambda rows: [texts[row] for row in rows], 1)
    assert np.array_equal(held.vectors, again.vectors)
    assert not np.array_equal(held.vectors[:50], other.vectors[:50])


def test_without_an_encoder_vectors_are_blended() -> None:
    encoder = OnlyKnown(32)
    vectors = encoder.encode([record.text for record in names(ROWS)])
    held = hold_out(vectors, encoder, lambda rows: ["unmet text"] * len(rows), 0)
    assert held.source == "blended vectors"
    assert np.allclose(np.linalg.norm(held.vectors, axis=1), 1.0, atol=1e-6)
    assert all(true.scores[0] < 1 - 1e-6 for true in held.truth)
    index = build_ann(vectors, "HNSW16")
    texts = lambda rows: ["unmet text"] * len(rows)  # noqa: E731
    facts = calibrate(index, vectors, encoder, texts, target_recall=0.9)
    assert facts["query_source"] == "blended vectors"
    assert facts["reached"]


def test_recall_is_the_share_of_the_true_ten() -> None:
    encoder = HashEncoder(32)
    texts = [record.text for record in names(ROWS)]
    vectors = encoder.encode(texts)
    index = build_ann(vectors, "IVF64,Flat")
    index.parameters["value"] = _LISTS
    found = measure(index, vectors, encoder, lambda rows: [texts[row] for row in rows])
    held = hold_out(vectors, encoder, lambda rows: [texts[row] for row in rows], 2)
    shares = []
    for query, true in zip(held.vectors, exact_search(held.vectors, vectors, 10), strict=True):
        parameters = search_parameters(index._index, None, _LISTS)
        _, rows = index._index.search(query[None, :], 80, params=parameters)
        assert np.sum(rows >= 0) >= 64  # else the search is widened, which FAISS alone does not do
        scores = (vectors[rows[0][rows[0] >= 0]].astype(float) * query.astype(float)).sum(axis=1)
        shares.append(np.sum(np.sort(scores.round(6))[::-1][:10] >= true.scores[9] - 2e-6) / 10)
    assert found["recall_at_10"] == pytest.approx(np.mean(shares), abs=1e-3)
    low, high = found["recall_interval"]
    assert 0.2 < low <= found["recall_at_10"] <= high < 1.0


def test_verify_fails_when_the_interval_lies_under_the_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = HashEncoder(32)
    spec = IndexSpec(kind="HNSW16", recall=0.9)
    with Collection.build(tmp_path / "c", names(800), encoder=encoder, spec=spec) as made:
        assert made.verify(recall=True, encoder=encoder).ok
        for low, high, fine in ((0.85, 0.91, True), (0.8, 0.89, False)):
            facts = {"recall_at_10": (low + high) / 2, "recall_interval": [low, high]}
            monkeypatch.setattr(
                "mirror_index.index.calibration.measure", lambda *_, facts=facts: facts
            )
            report = made.verify(recall=True, encoder=encoder)
            assert report.ok is fine
            assert report.recall == facts
        (problem,) = report.problems
        assert problem.kind == "recall"
        assert "[0.8, 0.89], 0.9 was promised" in problem.what
