"""The main job as one call: early refusals, and what the tuned encoder beside it serves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.config import EncoderConfig, MirrorConfig, Pooling, Precision
from mirror_index.encoding import adaptive, load_encoder, load_stored_encoder
from mirror_index.errors import CollectionError, EncoderError, EncoderMismatchError, UsageError
from mirror_index.pipeline import add_to_collection, build_collection, building
from tests.tiny import write_tiny_encoder

QUICK = MirrorConfig(batch_size=8, precision=Precision.FLOAT32)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "names.txt"
    path.write_text("\n".join(f"{a}{b} {c}" for a in "abc" for b in "defg" for c in "hijk"))
    return path


def test_a_finished_collection_is_refused_before_tuning(
    encoder: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_collection(source, tmp_path / "c", encoder=encoder).close()
    monkeypatch.setattr(building, "_tuned_encoder", lambda *given: pytest.fail("tuned"))
    with pytest.raises(CollectionError, match="here already"):
        build_collection(source, tmp_path / "c", encoder=encoder, tuned=True)


def test_a_tuned_encoder_serves_only_the_request_it_was_made_for(
    encoder: Path, source: Path, tmp_path: Path
) -> None:
    with build_collection(source, tmp_path / "c", encoder=encoder, tuned=QUICK) as first:
        fingerprint = first.info()["encoder_fingerprint"]
    with build_collection(
        source, tmp_path / "c", encoder=encoder, tuned=QUICK, overwrite=True
    ) as second:
        assert second.info()["encoder_fingerprint"] == fingerprint
    source.write_text(source.read_text() + "\nanother name\n")
    with pytest.raises(UsageError, match="another source or with other settings"):
        build_collection(source, tmp_path / "c", encoder=encoder, tuned=QUICK, overwrite=True)


def test_several_processes_tune_but_do_not_build(
    encoder: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UsageError, match="build with --encoder"):
        build_collection(source, tmp_path / "c", encoder=encoder, tuned=QUICK)
    assert not (tmp_path / "c").exists()
    build_collection(source, tmp_path / "c", encoder=encoder).close()  # no tuning, no team


def test_standard_input_cannot_be_tuned_on(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="standard input"):
        build_collection("-", tmp_path / "c", tuned=True)


def test_a_build_answers_as_it_will_after_reopening(
    encoder: Path, source: Path, tmp_path: Path
) -> None:
    config = EncoderConfig(precision=Precision.BFLOAT16)
    with build_collection(source, tmp_path / "c", encoder=encoder, encoder_config=config) as built:
        fresh = built.search(["ad h", "something else"])
    with Collection.open(tmp_path / "c") as again:
        assert again.search(["ad h", "something else"]) == fresh


def test_many_texts_are_added_with_torch_and_few_without(
    encoder: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_collection(source, tmp_path / "c", encoder=encoder).close()
    more = tmp_path / "more.csv"
    more.write_text("id,text\nx1,first new text\nx2,second new text\n")
    monkeypatch.setattr(adaptive, "MANY", 2)
    with add_to_collection(more, tmp_path / "c") as changed:
        assert changed.last_change is not None
        assert (changed.last_change.added, changed.last_change.texts_encoded) == (2, 2)
        assert changed.search(["second new text"])[0][0].id == "x2"
        assert changed.verify().ok


def test_both_engines_of_a_stored_encoder_agree(encoder: Path, tmp_path: Path) -> None:
    saved = load_encoder(encoder, EncoderConfig(precision=Precision.FLOAT32))
    saved.save(tmp_path)
    saved.export_onnx(tmp_path)
    stored = load_stored_encoder(tmp_path, EncoderConfig(precision=Precision.FLOAT32))
    texts = [f"text {number}" for number in range(adaptive.MANY)]
    assert np.abs(stored.encode(texts)[:20] - stored.encode(texts[:20])).max() < 1e-5
    stored.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "model.onnx").is_file()
    other = load_stored_encoder(tmp_path, EncoderConfig(pooling=Pooling.CLS))
    with pytest.raises(EncoderMismatchError, match="fingerprint"):
        other.encode(texts)


def test_a_length_beyond_the_model_is_refused(encoder: Path) -> None:
    with pytest.raises(EncoderError, match="reads at most 80 tokens: 81"):
        load_encoder(encoder, EncoderConfig(max_length=81))
