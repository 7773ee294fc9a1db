"""S18: near-identical sentences, three strings and many epochs do not spoil the encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.config import MirrorConfig
from mirror_index.encoding import load_encoder
from mirror_index.errors import ExitCode, TuningError
from mirror_index.tuning import TuneResult, tune
from tests.tiny import write_tiny_encoder

ALIKE = [f"Patient {i} took the drug and reported a mild fever." for i in range(300)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("base") / "bert", "bert")


def check_sound(result: TuneResult, base: Path) -> None:
    """Either the base came back untouched, or the tuned one is better and not collapsed."""
    saved, before = load_encoder(result.folder).fingerprint, load_encoder(base).fingerprint
    assert (saved != before) is result.kept
    if result.kept:
        cosine, rank = (result.card.measure(name) for name in ("mean_cosine", "effective_rank"))
        assert result.card.gain
        assert cosine.after.value <= max(0.95, cosine.before.value)
        assert rank.after.value >= 0.5 * rank.before.value
    else:
        assert result.reason


@pytest.mark.parametrize("epochs", [1, 10])
def test_near_identical_sentences(base: Path, tmp_path: Path, epochs: int) -> None:
    config = MirrorConfig(epochs=epochs, learning_rate=1e-3)
    check_sound(tune(ALIKE, tmp_path / "out", encoder=base, config=config), base)


def test_identical_but_for_case_and_punctuation(base: Path, tmp_path: Path) -> None:
    texts = [f"{'Fever' if i % 2 else 'fever'}{'!' * i}" for i in range(300)]
    with pytest.raises(TuningError, match="1 distinct strings are too few"):
        tune(texts, tmp_path / "out", encoder=base)


def test_three_strings(base: Path, tmp_path: Path) -> None:
    with pytest.raises(TuningError) as caught:
        tune(["fever", "cough", "rash"], tmp_path / "out", encoder=base)
    assert str(caught.value) == (
        "3 distinct strings are too few to tune on, 16 are needed. "
        "Add more of the collection, or use the base encoder as it is"
    )
    assert caught.value.exit_code is ExitCode.FAILED
    assert not (tmp_path / "out").exists()


def test_a_collapse_is_noticed_and_not_kept(base: Path, tmp_path: Path) -> None:
    """A learning rate far too high drives every text to one direction."""
    texts = [f"{word} {i}" for i in range(60) for word in ("fever", "rash", "cough", "pain")]
    config = MirrorConfig(epochs=10, learning_rate=0.5)
    result = tune(texts, tmp_path / "out", encoder=base, config=config)
    assert not result.kept
    assert "the vectors collapsed" in result.reason
    assert load_encoder(result.folder).fingerprint == load_encoder(base).fingerprint
