"""The settings of tuning; part of `config`, where it is imported from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, NamedTuple

from mirror_index.choices import Pooling, Precision, choose, plain, require, require_device


class Preset(str, Enum):
    """The three levels of text that Mirror-BERT was published for (arXiv 2104.08027, section 4)."""

    SENTENCE = "sentence"
    PHRASE = "phrase"
    WORD = "word"


class Loss(str, Enum):
    """What tuning minimises (mirror_index.tuning.objective)."""

    INFONCE = "infonce"
    MULTI_SIMILARITY = "multi-similarity"


class MaskUnit(str, Enum):
    """What the span mask counts in."""

    CHAR = "char"
    TOKEN = "token"
    WORD = "word"


class _Rule(NamedTuple):
    """What the numbers of some settings must be; None, where a setting has it, always passes."""

    names: tuple[str, ...]
    allowed: Callable[[Any], bool]
    rule: str
    remedy: str


def _positive(value: float) -> bool:
    return 0 < value < math.inf


def _not_negative(value: float) -> bool:
    return 0 <= value < math.inf


def _at_least(least: int) -> Callable[[int], bool]:
    return lambda value: value >= least


def _share(value: float) -> bool:
    return 0 <= value < 1


_RULES = (
    _Rule(("tau",), _positive, "must be positive", "The paper uses 0.04 and 0.2"),
    _Rule(("learning_rate",), _positive, "must be positive", "Try 2e-5"),
    _Rule(
        ("synonym_pairs", "synonym_learning_rate", "synonym_tau"),
        _positive,
        "must be positive",
        "To go without synonyms: synonyms=False (--no-synonyms)",
    ),
    _Rule(("span_mask",), _not_negative, "must not be negative", "0 is off"),
    _Rule(
        ("weight_decay", "seed", "checkpoint_every", "mlm_steps", "mask_from"),
        _not_negative,
        "must not be negative",
        "Leave it out",
    ),
    _Rule(("epochs",), _at_least(1), "must be at least 1", "The paper uses 1 or 2"),
    _Rule(("batch_size",), _at_least(2), "must be at least 2", "Try 200"),
    _Rule(
        ("micro_batch",), _at_least(1), "must be at least 1", "Leave it out to keep whole batches"
    ),
    _Rule(("strings",), _at_least(2), "must be at least 2", "Try 10000"),
    _Rule(("max_length",), _at_least(3), "must be at least 3", "Try 50"),
    _Rule(
        ("drophead", "held_out", "warmup", "synonym_warmup"),
        _share,
        "must be in [0, 1)",
        "Give a share such as 0.1",
    ),
    _Rule(("dropout",), _share, "must be in [0, 1)", "The paper uses 0.1"),
    _Rule(("noise",), lambda value: 0 <= value <= 1, "must be in [0, 1]", "Try 0.5"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorConfig:
    """Mirror-BERT tuning. Defaults are the paper's for the sentence level; see `for_preset`.

    Attributes:
        tau: temperature of InfoNCE.
        span_mask: characters, or what `mask` names, masked in one random span of the second view;
            0 for none.
        mask: what `span_mask` counts in.
        mask_from: characters from which on strings are masked; shorter ones stay whole.
        noise: chance that the second view is respelt (letters, case, punctuation).
        loss: InfoNCE, or multi-similarity over hard pairs.
        dropout: hidden and attention dropout probability in both views; None keeps the model's.
        drophead: probability to drop a whole attention head; with drophead, `dropout` should be 0.
        pooling: None means what the base says; where it says nothing, masked mean, but the first
            token for sentences on a masked language model as pretraining left it.
        strings: at most this many distinct strings, sampled with `seed`.
        batch_size: string pairs a step.
        micro_batch: string pairs that the memory holds at once, which changes no gradient; None
            keeps whole batches as long as they fit.
        checkpoint_every: steps between two saves that an interrupted run goes on from; 0 for none.
        synonyms: use pairs of names of one concept as positives as well, when the source has
            concepts.
        mlm_steps: steps of masked language modelling on the strings before all else; the base must
            have the head of a masked language model.
        warmup: share of the steps over which the learning rate rises; above 0 it then falls
            linearly to 0, at 0 it is constant, as published.
        synonym_pairs: at most this many pairs of names of one concept an epoch.
        synonym_learning_rate: learning rate when synonyms are used.
        synonym_tau: temperature when synonyms are used.
        synonym_warmup: `warmup` when synonyms are used.
        held_out: share of the strings (at most 1,000) kept unseen for the before/after card.
        require_gain: raise when the card shows no gain; `keep` forces the tuned weights to be
            saved.
    """

    preset: Preset = Preset.SENTENCE
    tau: float = 0.04
    span_mask: int = 5
    mask: MaskUnit = MaskUnit.CHAR
    mask_from: int = 31
    noise: float = 0.0
    loss: Loss = Loss.INFONCE
    epochs: int = 1
    max_length: int = 50
    batch_size: int = 200
    micro_batch: int | None = None
    checkpoint_every: int = 25
    mlm_steps: int = 0
    learning_rate: float = 2e-5
    weight_decay: float = 0.01
    warmup: float = 0.0
    dropout: float | None = 0.1
    drophead: float = 0.0
    pooling: Pooling | None = None
    strings: int = 10_000
    synonyms: bool = True
    synonym_pairs: int = 20_000
    synonym_learning_rate: float = 1e-4
    synonym_tau: float = 0.05
    synonym_warmup: float = 0.1
    seed: int = 33
    device: str = "auto"
    precision: Precision = Precision.AUTO
    held_out: float = 0.1
    require_gain: bool = False
    keep: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        choose(self, preset=Preset, mask=MaskUnit, loss=Loss, pooling=Pooling, precision=Precision)
        require_device(self.device)
        for names, allowed, rule, remedy in _RULES:
            for name in names:
                value = getattr(self, name)
                require(value is None or allowed(value), f"{name} {rule}", value, remedy)
        require(
            self.pooling is not Pooling.PADDED_MEAN,
            "pooling padded-mean is not for tuning",
            Pooling.PADDED_MEAN.value,
            "Use mean",
        )
        require(
            not (self.keep and self.require_gain),
            "keep and require_gain exclude each other",
            None,
            "Use one of them",
        )
        require(
            self.held_out > 0 or self.keep,
            "with held_out 0 no gain can be shown",
            self.held_out,
            "Hold out a share such as 0.1, or use keep",
        )

    @classmethod
    def for_preset(cls, preset: Preset, **changes: object) -> MirrorConfig:
        """Return the published settings of a level, with `changes` applied on top.

        Raises:
            UsageError: no such level, or a setting that is out of range.
        """
        settings: dict[str, Any] = {"preset": preset, **_PRESETS.get(preset, {}), **changes}
        return cls(**settings)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return plain(asdict(self))


_PRESETS: Mapping[Preset, Mapping[str, Any]] = {
    Preset.SENTENCE: {
        "tau": 0.04, "span_mask": 5, "mask_from": 31, "epochs": 1, "max_length": 50,
    },
    Preset.PHRASE: {"tau": 0.04, "span_mask": 5, "mask_from": 0, "epochs": 1, "max_length": 50},
    Preset.WORD: {"tau": 0.2, "span_mask": 0, "mask_from": 0, "epochs": 2, "max_length": 25},
}  # fmt: skip
