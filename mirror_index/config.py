"""Every knob: frozen, keyword-only, validated on creation, saved with the results it produced."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from enum import Enum
from numbers import Integral
from typing import Any

from mirror_index.choices import Pooling as Pooling
from mirror_index.choices import Precision as Precision
from mirror_index.choices import choose as _choose
from mirror_index.choices import plain as _plain
from mirror_index.choices import require as _require
from mirror_index.choices import require_device as _require_device
from mirror_index.tuning_config import Loss as Loss
from mirror_index.tuning_config import MaskUnit as MaskUnit
from mirror_index.tuning_config import MirrorConfig as MirrorConfig
from mirror_index.tuning_config import Preset as Preset


class OnDuplicate(str, Enum):
    """What to do with an id that occurs twice in a source with different content."""

    ERROR = "error"
    FIRST = "first"
    LAST = "last"


class OnTruncate(str, Enum):
    """What to do with texts longer than the encoder reads."""

    REPORT = "report"
    ERROR = "error"


class Dtype(str, Enum):
    """How vectors are stored; float16 halves the file and moves a score by less than 0.001."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"

    @property
    def item_size(self) -> int:
        """Bytes of a value."""
        return 2 if self is Dtype.FLOAT16 else 4


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
        _choose(self, pooling=Pooling, precision=Precision)
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
        _require_device(self.device)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSpec:
    """Which index to build, and how its vectors are stored.

    Attributes:
        kind: "auto", "exact", or any FAISS factory string such as "HNSW32" or "IVF1024,Flat".
        recall: recall@10 that the search parameters of an approximate index are calibrated to.
        memory: most bytes that the index may hold in memory while it is searched (the vector file
            is mapped, not held); None is no limit.
        latency: most milliseconds that `auto` lets one search of one query take (the median); None
            leaves it the balance of docs/adr/009.
        dtype: how the vector file stores vectors.
    """

    kind: str = "auto"
    recall: float = 0.95
    memory: int | None = None
    latency: float | None = None
    dtype: Dtype = Dtype.FLOAT32

    def __post_init__(self) -> None:
        _choose(self, dtype=Dtype)
        for name, remedy in (("memory", "Try 500MB"), ("latency", "Try 10 milliseconds")):
            value = getattr(self, name)
            _require(
                value is None or 0 < value < math.inf, f"{name} must be positive", value, remedy
            )
        _require(0 < self.recall <= 1, "recall must be in (0, 1]", self.recall, "Try 0.95")
        _require(bool(self.kind.strip()), "the index kind is empty", self.kind, "Use auto")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, from which `IndexSpec(**values)` makes it again."""
        return _plain(asdict(self))


MOST_HITS = 1_000_000_000
"""FAISS counts in 32 bits, with room for ties and rows that a filter takes out."""


def _require_count(k: int) -> None:
    _require(isinstance(k, Integral), "k must be a whole number", k, "Ask for one or more")
    _require(k >= 1, "k must be at least 1", k, "Ask for one or more")
    _require(k <= MOST_HITS, f"k must be at most {MOST_HITS:,}", k, "Ask for fewer")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """One search; `where` is an SQL-like expression over `id`, `text` and metadata."""

    k: int = 10
    where: str | None = None
    exact: bool = False
    hybrid: bool = False

    def __post_init__(self) -> None:
        _require_count(self.k)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOptions:
    """One linking run.

    Attributes:
        k: candidates shown per mention, each another concept.
        min_probability: below it the answer is NIL.
        ambiguity_margin: closer than this to the runner-up, the answer is ambiguous.
        precision: share of the linked that should be right; sets `min_probability` by the
            calibration of the collection, and is refused where there is none.
        types: only concepts of these semantic types; none means all.
    """

    k: int = 5
    min_probability: float = 0.5
    ambiguity_margin: float = 0.02
    precision: float | None = None
    types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_count(self.k)
        _require(not isinstance(self.types, str), "types is one text", self.types, "Give a list")
        _require(
            0 <= self.min_probability <= 1,
            "min_probability must be in [0, 1]",
            self.min_probability,
            "Try 0.5",
        )
        _require(
            self.precision is None or 0 < self.precision < 1,
            "precision must be in (0, 1)",
            self.precision,
            "Try 0.9",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a source becomes records.

    Attributes:
        format: "auto" (by file name), or txt, csv, tsv, jsonl, parquet, sqlite, obo, owl, skos,
            rdf, obograph, rrf, ctd.
        text_column: None means `text`, `name`, `label`, `title` or `sentence`, whichever is there,
            or the only column.
        id_column: None means `id` or `_id` when there is one, else ids are the file's name without
            its folder and the number of the line (txt) or row, such as `names.txt:12`.
        concept_column: makes the rows names of concepts.
        scope_column: column with the kind of each name (preferred, exact, synonym, ...).
        sql: query that yields the rows of an SQLite source.
        encoding: character encoding of text files.
        quoting: whether double quotes delimit fields; only for CSV (TSV never has quoting).
        languages: names in these languages are taken, such as "en" or the UMLS's "ENG", the first
            being preferred for labels, and those that have no language; none chosen means all.
        vocabularies: source vocabularies (SAB) of the UMLS that are taken; none chosen means all.
        synonyms: an SSSOM table whose mappings add names to the concepts of the source.
    """

    format: str = "auto"
    text_column: str | None = None
    id_column: str | None = None
    concept_column: str | None = None
    scope_column: str | None = None
    sql: str | None = None
    encoding: str = "utf-8"
    quoting: bool = True
    languages: tuple[str, ...] = ()
    vocabularies: tuple[str, ...] = ()
    synonyms: str | None = None

    def __post_init__(self) -> None:
        for name in ("languages", "vocabularies"):
            value = getattr(self, name)
            _require(not isinstance(value, str), f"{name} is one text", value, "Give a list")
        for tag in self.languages:
            _require(
                re.fullmatch(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", tag) is not None,
                "this is no language",
                tag,
                "Use a tag such as en, de-CH or the UMLS's ENG",
            )
