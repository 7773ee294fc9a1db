"""`tune` from source to folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirror_index.config import EncoderConfig, MirrorConfig, Pooling, Precision, Preset
from mirror_index.encoding import load_encoder
from mirror_index.errors import EncoderError, MirrorIndexError, NoGainError, TuningError, UsageError
from mirror_index.records import Record, Rejected
from mirror_index.tuning import loop, run, tune
from mirror_index.tuning.guard import Verdict
from tests.tiny import write_tiny_encoder

Tiny = Callable[[str], Path]
QUICK = {"batch_size": 40, "precision": Precision.FLOAT32, "device": "cpu"}
ADDED = {"card.json", "card.txt", "tuning.json"}


class Listening:
    """A reporter that remembers stages."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int | None, str]] = []
        self.done: dict[str, int] = {}

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = "texts"
    ) -> Iterator[Callable[[int], None]]:
        self.stages.append((name, total, unit))
        self.done[name] = 0

        def advance(n: int) -> None:
            self.done[name] += n

        yield advance

    def note(self, message: str) -> None:
        raise AssertionError(message)


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def decided(monkeypatch: pytest.MonkeyPatch, gain: bool) -> None:
    verdict = Verdict(gain=gain, reason="said so")
    monkeypatch.setattr(run, "judge", lambda measures: verdict)


def same_weights(left: Path, right: Path) -> bool:
    first, second = (load_encoder(folder).model.state_dict() for folder in (left, right))
    return all(torch.equal(value, second[name]) for name, value in first.items())


def test_a_gain_is_saved_with_its_card(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(monkeypatch, True)
    base, output = tiny("bert"), tmp_path / "deep" / "tuned"
    heard = Listening()
    empty = Rejected(line=2, reason="empty", skipped=True)
    items = [*phrases, Rejected(line=1, reason="bad"), empty]
    result = tune(items, output, encoder=base, config=MirrorConfig(**QUICK), reporter=heard)
    assert (result.folder, result.kept, result.reason) == (output, True, "said so")
    assert result.seconds >= sum(result.card.seconds.values()) - 0.01
    assert not same_weights(base, output)
    card = json.loads((output / "card.json").read_text())
    assert card == result.card.to_json()
    assert card["base"] == load_encoder(base).fingerprint
    assert card["tuned"] == load_encoder(output).fingerprint
    assert (output / "card.txt").read_text() == result.card.render()
    assert card["counts"] == {
        "items": 302,
        "rejected": 2,
        "quarantined": 1,
        "strings": 270,
        "held_out_strings": 30,
        "held_out_names": 0,
        "identity_pairs": 270,
        "synonym_pairs": 0,
        "steps": 7,
    }
    assert heard.stages[0] == ("read", None, "rows")
    assert heard.stages[1] == ("tune", 7, "steps")
    assert heard.done["read"] == 302
    assert heard.done["tune"] == 7
    name, total, unit = heard.stages[2]
    assert (name, unit) == ("measure", "texts")
    assert heard.done["measure"] == total
    assert list(tmp_path.rglob(".*")) == []
    settings = json.loads((output / "tuning.json").read_text())
    assert settings["config"]["tau"] == settings["used"]["tau"] == 0.04
    assert settings["used"]["dtype"] == "float32"


def test_without_gain_the_folder_holds_the_base(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(monkeypatch, False)
    base, output = tiny("bert"), tmp_path / "tuned"
    output.mkdir()  # an empty folder is as good as none
    result = tune(phrases, output, encoder=base, config=MirrorConfig(**QUICK))
    assert not result.kept
    assert same_weights(base, output)
    assert load_encoder(output).fingerprint == load_encoder(base).fingerprint == result.card.base
    card = json.loads((output / "card.json").read_text())
    assert (card["kept"], card["reason"]) == (False, "said so")
    assert card["tuned"] != card["base"]


def test_keep_saves_tuned_weights_without_gain(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(monkeypatch, False)
    config = MirrorConfig(keep=True, **QUICK)
    result = tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=config)
    assert result.kept
    assert not result.card.gain
    assert load_encoder(result.folder).fingerprint == result.card.tuned


def test_required_gain_leaves_no_folder(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(monkeypatch, False)
    config = MirrorConfig(require_gain=True, **QUICK)
    with pytest.raises(NoGainError, match="said so"):
        tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=config)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", [True, False])
def test_broken_training_is_never_kept(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: bool
) -> None:
    monkeypatch.setattr(loop, "mirror_loss", lambda rows, *_: rows.sum() * torch.nan)
    base, config = tiny("bert"), MirrorConfig(keep=keep, **QUICK)
    result = tune(phrases, tmp_path / "tuned", encoder=base, config=config)
    assert not result.kept
    assert "stopped being finite by step 1" in result.reason
    assert same_weights(base, result.folder)
    card = json.loads((result.folder / "card.json").read_text())
    assert card["loss"] == {"first": None, "last": None}
    assert card["tuned"] is None
    assert card["measures"][0]["after"] is None


def test_weights_that_overflow_only_in_use_are_never_kept(
    tiny: Tiny, phrases: list[str], tmp_path: Path
) -> None:
    base = tiny("bert")
    config = MirrorConfig(keep=True, learning_rate=1e30, batch_size=300, device="cpu")
    result = tune(phrases, tmp_path / "tuned", encoder=base, config=config)
    assert not result.kept
    assert "training broke down" in result.reason
    assert same_weights(base, result.folder)


def test_the_folder_opens_in_transformers_and_sentence_transformers(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    decided(monkeypatch, True)
    output = tmp_path / "tuned"
    config = MirrorConfig(pooling=Pooling.CLS, **QUICK)
    tune(phrases, output, encoder=tiny("bert"), config=config)
    settings = EncoderConfig(precision=Precision.FLOAT32, device="cpu")
    ours = load_encoder(output, settings).encode(phrases[:20])
    theirs = sentence_transformers.SentenceTransformer(str(output), device="cpu")
    assert np.allclose(ours, theirs.encode(phrases[:20]), atol=1e-5)
    model = transformers.AutoModel.from_pretrained(output)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            assert module.p == 0.1
    assert model.config.attention_probs_dropout_prob == 0.1


def test_settings_of_the_base_survive(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short input of training and the dropout of training are not the encoder's."""
    decided(monkeypatch, True)
    base = load_encoder(tiny("bert"))
    config = MirrorConfig(max_length=5, dropout=0.33, **QUICK)
    result = tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=config)
    tuned = load_encoder(result.folder)
    assert tuned.recipe == base.recipe
    assert tuned.model.config.hidden_dropout_prob == base.model.config.hidden_dropout_prob


def test_an_mlm_checkpoint_is_a_base(
    tiny: Tiny, phrases: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "mlm"
    settings = transformers.AutoConfig.from_pretrained(tiny("bert"))
    transformers.AutoModelForMaskedLM.from_config(settings).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(tiny("bert")).save_pretrained(folder)
    capfd.readouterr()
    tune(phrases, tmp_path / "tuned", encoder=folder, config=MirrorConfig(**QUICK))
    assert capfd.readouterr() == ("", "")
    assert load_encoder(tmp_path / "tuned").dim == 32


def test_a_dictionary_is_tuned_and_measured_on_its_synonyms(
    tiny: Tiny, phrases: list[str], tmp_path: Path
) -> None:
    items = [
        Record(id=str(i), text=text, concept_id=f"C{i // 3}") for i, text in enumerate(phrases)
    ]
    config = MirrorConfig(**QUICK)
    result = tune(items, tmp_path / "tuned", encoder=tiny("bert"), config=config)
    counts = result.card.counts
    assert counts["held_out_names"] == 16
    assert counts["synonym_pairs"] > 150
    assert result.card.measures[0].name == "synonym_acc1"
    assert result.card.measures[0].n == 16
    used = json.loads((result.folder / "tuning.json").read_text())["used"]
    assert used["learning_rate"] == config.synonym_learning_rate


def test_two_runs_give_the_same_encoder(tiny: Tiny, phrases: list[str], tmp_path: Path) -> None:
    config = MirrorConfig(keep=True, **QUICK)
    cards = [
        tune(items, tmp_path / name, encoder=tiny("bert"), config=config).card
        for name, items in (("a", phrases), ("b", [*phrases[::-1], *phrases[:9]]))
    ]
    assert cards[0].tuned == cards[1].tuned
    assert cards[0].measures == cards[1].measures


def test_an_output_that_exists_is_refused_before_any_work(tiny: Tiny, tmp_path: Path) -> None:
    def unread() -> Iterator[str]:
        raise AssertionError
        yield

    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "mine.txt").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for name in ("tuned", "file"):
        with pytest.raises(UsageError, match="exists already"):
            tune(unread(), tmp_path / name, encoder=tiny("bert"))
    assert (tmp_path / "tuned" / "mine.txt").read_text() == "precious"


def test_a_failure_while_writing_leaves_nothing(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any) -> str:
        raise OSError("disk full")

    monkeypatch.setattr("mirror_index.tuning.card.Card.render", fail)
    with pytest.raises(OSError, match="disk full"):
        tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=MirrorConfig(**QUICK))
    assert list(tmp_path.iterdir()) == []


def test_nothing_held_out_shows_nothing(tiny: Tiny, phrases: list[str], tmp_path: Path) -> None:
    config = MirrorConfig(held_out=0.0, keep=True, **QUICK)
    result = tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=config)
    assert result.kept
    assert result.card.measures == ()
    assert "0 held-out strings are too few" in result.reason


@pytest.mark.parametrize("changes", [{"held_out": 0.0}, {"keep": True, "require_gain": True}])
def test_settings_that_cannot_be_met_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        MirrorConfig(**changes)


@pytest.mark.parametrize(
    ("encoder", "items", "error"),
    [
        (Path("/nowhere/model"), ["a"] * 3, TuningError),
        (Path("/nowhere/model"), None, EncoderError),
    ],
)
def test_failures_are_of_the_family(
    encoder: Path,
    items: list[str] | None,
    error: type[MirrorIndexError],
    phrases: list[str],
    tmp_path: Path,
) -> None:
    with pytest.raises(error):
        tune(items or phrases, tmp_path / "tuned", encoder=encoder)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.gpu
def test_a_gpu_tunes_too(tiny: Tiny, phrases: list[str], tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    config = MirrorConfig(keep=True, batch_size=40, device="cuda")
    result = tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=config)
    assert load_encoder(result.folder).fingerprint == result.card.tuned


@pytest.mark.parametrize(
    ("head", "stated", "preset", "asked", "expected"),
    [
        ("BertForMaskedLM", False, Preset.SENTENCE, None, Pooling.CLS),
        ("ElectraForPreTraining", False, Preset.SENTENCE, None, Pooling.CLS),
        ("BertForMaskedLM", False, Preset.SENTENCE, Pooling.MEAN, Pooling.MEAN),
        ("BertForMaskedLM", False, Preset.PHRASE, None, Pooling.MEAN),
        ("BertForMaskedLM", True, Preset.SENTENCE, None, Pooling.MEAN),
        ("BertModel", False, Preset.SENTENCE, None, Pooling.MEAN),
    ],
)
def test_sentences_on_a_raw_model_are_read_by_its_first_token(
    tmp_path: Path,
    phrases: list[str],
    head: str,
    stated: bool,
    preset: Preset,
    asked: Pooling | None,
    expected: Pooling,
) -> None:
    base, output = write_tiny_encoder(tmp_path / "base", "bert"), tmp_path / "tuned"
    if stated:
        load_encoder(base).save(base)
    settings = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**settings, "architectures": [head]}))
    config = MirrorConfig.for_preset(preset, keep=True, pooling=asked, strings=60, **QUICK)
    tune(phrases, output, encoder=base, config=config)
    assert load_encoder(output).recipe.pooling is expected
    written = json.loads((output / "tuning.json").read_text())["config"]
    assert (written["preset"], written["pooling"]) == (preset.value, expected.value)


def test_a_raw_base_that_is_kept_keeps_its_own_pooling(
    tmp_path: Path, phrases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(monkeypatch, False)
    base, output = write_tiny_encoder(tmp_path / "base", "bert"), tmp_path / "tuned"
    settings = json.loads((base / "config.json").read_text())
    changed = {**settings, "architectures": ["BertForMaskedLM"]}
    (base / "config.json").write_text(json.dumps(changed))
    tune(phrases, output, encoder=base, config=MirrorConfig(strings=60, **QUICK))
    assert load_encoder(output).recipe.pooling is Pooling.MEAN
