"""Every knob: frozen, keyword-only, validated on creation, saved with the results it produced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from mirror_index.errors import UsageError


class Pooling(str, Enum):
    """How token vectors become one text vector."""

    MEAN = "mean"
    CLS = "cls"


class Precision(str, Enum):
    """Arithmetic of bulk encoding; `auto` picks the fastest that stays above cosine 0.999."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class Preset(str, Enum):
    """The three levels of text that Mirror-BERT was published for (arXiv 2104.08027, section 4)."""

    SENTENCE = "sentence"
    PHRASE = "phrase"
    WORD = "word"


class OnDuplicate(str, Enum):
    """What to do with an id that occurs twice in a source with different content."""

    ERROR = "error"
    FIRST = "first"
    LAST = "last"


class OnTruncate(str, Enum):
    """What to do with texts longer than the encoder reads."""

    REPORT = "report"
    ERROR = "error"


def _require(ok: bool, what: str, value: object, remedy: str) -> None:
    if not ok:
        raise UsageError(what, value=value, remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """How texts are encoded. The first three fields change the vectors, the rest only the speed.

    Attributes:
        pooling: None means what the encoder's folder says, else masked mean.
        max_length: tokens read per text, special tokens included; None means the encoder's own
            limit.
        prompt: text put before every input, None means the encoder's own (usually none).
        device: "auto", "cpu", "cuda" or "cuda:N".
        precision: arithmetic of the bulk path.
        batch_tokens: tokens (padding included) in one forward pass; None means 1,024 on a CPU and
            32,768 on a GPU.
        threads: CPU threads; None leaves the library's choice.
    """

    pooling: Pooling | None = None
    max_length: int | None = None
    prompt: str | None = None
    device: str = "auto"
    precision: Precision = Precision.AUTO
    batch_tokens: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        _require(
            self.max_length is None or self.max_length >= 3,
            "max_length must be at least 3 tokens",
            self.max_length,
            "Leave it out to use the encoder's own limit",
        )
        _require(
            self.batch_tokens is None or self.batch_tokens >= 1,
            "batch_tokens must be positive",
            self.batch_tokens,
            "Try 1024",
        )
        _require(
            self.threads is None or self.threads >= 1,
            "threads must be at least 1",
            self.threads,
            "Leave it out to use all cores",
        )
        _require(
            re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device) is not None,
            "unknown device",
            self.device,
            "Use auto, cpu, cuda or cuda:N",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorConfig:
    """Mirror-BERT tuning. Defaults are the paper's for the sentence level; see `for_preset`.

    Attributes:
        tau: temperature of InfoNCE.
        span_mask: characters masked in one random span of the second view; 0 for none.
        dropout: hidden and attention dropout probability in both views; None keeps the model's.
        drophead: probability to drop a whole attention head; with drophead, `dropout` should be 0.
        strings: at most this many distinct strings, sampled with `seed`.
        batch_size: string pairs a step.
        synonyms: use pairs of names of one concept as positives as well, when the source has
            concepts.
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
    epochs: int = 1
    max_length: int = 50
    batch_size: int = 200
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
        _require(self.tau > 0, "tau must be positive", self.tau, "The paper uses 0.04 and 0.2")
        _require(self.span_mask >= 0, "span_mask must not be negative", self.span_mask, "0 is off")
        _require(
            self.epochs >= 1, "epochs must be at least 1", self.epochs, "The paper uses 1 or 2"
        )
        _require(self.batch_size >= 2, "batch_size must be at least 2", self.batch_size, "Try 200")
        for name in ("weight_decay", "seed"):
            value = getattr(self, name)
            _require(value >= 0, f"{name} must not be negative", value, "Leave it out")
        _require(self.strings >= 2, "strings must be at least 2", self.strings, "Try 10000")
        _require(
            self.learning_rate > 0, "learning_rate must be positive", self.learning_rate, "Try 2e-5"
        )
        for name in ("synonym_pairs", "synonym_learning_rate", "synonym_tau"):
            value = getattr(self, name)
            _require(
                value > 0, f"{name} must be positive", value, "Use synonyms=False to go without"
            )
        for name in ("drophead", "held_out", "warmup", "synonym_warmup"):
            value = getattr(self, name)
            _require(0 <= value < 1, f"{name} must be in [0, 1)", value, "Give a share such as 0.1")
        _require(
            self.dropout is None or 0 <= self.dropout < 1,
            "dropout must be in [0, 1)",
            self.dropout,
            "The paper uses 0.1",
        )
        _require(self.max_length >= 3, "max_length must be at least 3", self.max_length, "Try 50")
        _require(
            not (self.keep and self.require_gain),
            "keep and require_gain exclude each other",
            None,
            "Use one of them",
        )
        _require(
            self.held_out > 0 or self.keep,
            "with held_out 0 no gain can be shown",
            self.held_out,
            "Hold out a share such as 0.1, or use keep",
        )

    @classmethod
    def for_preset(cls, preset: Preset, **changes: object) -> MirrorConfig:
        """Return the published settings of a level, with `changes` applied on top."""
        settings: dict[str, Any] = {"preset": preset, **_PRESETS[preset], **changes}
        return cls(**settings)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return _plain(asdict(self))


_PRESETS: Mapping[Preset, Mapping[str, Any]] = {
    Preset.SENTENCE: {"tau": 0.04, "span_mask": 5, "epochs": 1, "max_length": 50},
    Preset.PHRASE: {"tau": 0.04, "span_mask": 5, "epochs": 1, "max_length": 50},
    Preset.WORD: {"tau": 0.2, "span_mask": 0, "epochs": 2, "max_length": 25},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSpec:
    """Which index to build.

    Attributes:
        kind: "auto", "exact", or any FAISS factory string such as "HNSW32" or "IVF1024,Flat".
        recall: recall@10 that the search parameters of an approximate index are calibrated to.
    """

    kind: str = "auto"
    recall: float = 0.95

    def __post_init__(self) -> None:
        _require(0 < self.recall <= 1, "recall must be in (0, 1]", self.recall, "Try 0.95")
        _require(bool(self.kind.strip()), "the index kind is empty", self.kind, "Use auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """One search; `where` is an SQL-like expression over `id`, `text` and metadata."""

    k: int = 10
    where: str | None = None
    exact: bool = False
    hybrid: bool = False

    def __post_init__(self) -> None:
        _require(self.k >= 1, "k must be at least 1", self.k, "Ask for one hit or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOptions:
    """One linking run.

    Attributes:
        k: candidates shown per mention, each another concept.
        min_probability: below it the answer is NIL.
        ambiguity_margin: closer than this to the runner-up, the answer is ambiguous.
    """

    k: int = 5
    min_probability: float = 0.5
    ambiguity_margin: float = 0.02

    def __post_init__(self) -> None:
        _require(self.k >= 1, "k must be at least 1", self.k, "Ask for one candidate or more")
        _require(
            0 <= self.min_probability <= 1,
            "min_probability must be in [0, 1]",
            self.min_probability,
            "Try 0.5",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a source becomes records.

    Attributes:
        format: "auto" (by file name), or txt, csv, tsv, jsonl, parquet, sqlite, obo.
        text_column: None means `text`, `name`, `label`, `title` or `sentence`, whichever is there,
            or the only column.
        id_column: None means `id` or `_id` when there is one, else ids are the file's name without
            its folder and the number of the line (txt) or row, such as `names.txt:12`.
        concept_column: makes the rows names of concepts.
        scope_column: column with the kind of each name (preferred, exact, synonym, ...).
        sql: query that yields the rows of an SQLite source.
        encoding: character encoding of text files.
        quoting: whether double quotes delimit fields; only for CSV (TSV never has quoting).
    """

    format: str = "auto"
    text_column: str | None = None
    id_column: str | None = None
    concept_column: str | None = None
    scope_column: str | None = None
    sql: str | None = None
    encoding: str = "utf-8"
    quoting: bool = True


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.value if isinstance(value, Enum) else value for key, value in values.items()}
