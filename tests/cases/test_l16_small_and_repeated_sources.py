"""L16: a corpus smaller than a batch trains, and duplicates are no negatives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirror_index.config import MirrorConfig
from mirror_index.encoding import load_encoder
from mirror_index.tuning import tune
from mirror_index.tuning.pairs import PairSampler
from mirror_index.tuning.strings import collect, split
from tests.tiny import write_tiny_encoder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("base") / "bert", "bert")


def test_fifty_strings_with_a_batch_of_200_train(base: Path, tmp_path: Path) -> None:
    texts = [f"disease of kind {i}" for i in range(50)]
    config = MirrorConfig(batch_size=200, keep=True)
    result = tune(texts, tmp_path / "out", encoder=base, config=config)
    counts = result.card.counts
    assert counts["steps"] == 1
    assert counts["strings"] + counts["held_out_strings"] == 50
    assert load_encoder(result.folder).fingerprint != load_encoder(base).fingerprint


def test_duplicates_are_trained_once_and_never_held_out_and_trained(tmp_path: Path) -> None:
    texts = [f"disease {i}" for i in range(200)] + ["fever", " Fever", "FEVER ", "fever."] * 25
    config = MirrorConfig()
    parts = split(collect(texts, size=10_000, seed=1), config)
    everything = [*parts.strings, *parts.held_strings]
    assert len(everything) == 201
    assert sum(text.casefold().strip(". ") == "fever" for text in everything) == 1


def test_duplicates_in_a_batch_are_no_negatives() -> None:
    texts = [f"disease {i}" for i in range(20)]
    parts = split(collect(texts, size=100, seed=1), MirrorConfig())
    sampler = PairSampler(parts, MirrorConfig(), "[MASK]")
    pairs = sampler.epoch(np.random.default_rng(0))
    relations = sampler.relations([*pairs, *pairs])
    rows = [pair.left_text for pair in (*pairs, *pairs)] * 2
    for i, left in enumerate(rows):
        for j, right in enumerate(rows):
            assert relations.negatives[i, j] == (left != right)
