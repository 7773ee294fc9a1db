"""Languages of names: which are wanted, which label to take, and how many names were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mirror_index.errors import SourceError
from mirror_index.readers.source import source_name
from mirror_index.records import Rejected

# The UMLS's codes (its table of languages) and their tags (ISO 639-1, else 639-3).
_UMLS = {
    "ara": "ar",
    "baq": "eu",
    "chi": "zh",
    "cze": "cs",
    "dan": "da",
    "dut": "nl",
    "eng": "en",
    "est": "et",
    "fin": "fi",
    "fre": "fr",
    "ger": "de",
    "gre": "el",
    "heb": "he",
    "hun": "hu",
    "ita": "it",
    "jpn": "ja",
    "kor": "ko",
    "lav": "lv",
    "lit": "lt",
    "nor": "no",
    "pol": "pl",
    "por": "pt",
    "rus": "ru",
    "scr": "hr",
    "slv": "sl",
    "spa": "es",
    "swe": "sv",
    "tur": "tr",
    "ukr": "uk",
}


def language_tag(code: str) -> str:
    """Return the tag of a language code of the UMLS (``ENG`` -> ``en``), a tag as it is."""
    return _UMLS.get(code.lower(), code)


@dataclass(frozen=True, slots=True)
class Worded:
    """A text and its language; None where the source does not tell."""

    text: str
    language: str | None = None


@dataclass(slots=True)
class Languages:
    """The choice of languages for one source, and the count of what it left out.

    A chosen ``en`` takes ``en-GB`` too (basic filtering, RFC 4647); names without a language are
    always taken.
    """

    wanted: Sequence[str]
    taken: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.wanted = tuple(language_tag(code).lower() for code in self.wanted)

    def rank(self, language: str | None) -> int | None:
        """Return how well a language fits, 0 best; None when it is not wanted.

        With no choice, names without a language come before English, English before the others.
        """
        if not self.wanted:
            return 0 if language is None else 1 if _within(language.lower(), "en") else 2
        if language is None:
            return len(self.wanted)
        tag = language.lower()
        return next((n for n, one in enumerate(self.wanted) if _within(tag, one)), None)

    def take(self, language: str | None) -> bool:
        """Return whether a name is taken, and count it."""
        if self.rank(language) is None:
            self.left_out[str(language)] += 1
            return False
        self.taken += 1
        return True

    def best(self, texts: Sequence[Worded]) -> Worded | None:
        """Return the text whose language fits best, the first among equals; None if none does."""
        ranked = [
            (rank, n)
            for n, one in enumerate(texts)
            if (rank := self.rank(one.language)) is not None
        ]
        return texts[min(ranked)[1]] if ranked else None

    def summary(self, source: str | Path) -> Rejected | None:
        """Return what was left out as one skipped row without a line; None if nothing was.

        Raises:
            SourceError: no name was in a wanted language.
        """
        if not self.left_out:
            return None
        counts = ", ".join(f"{tag} {count}" for tag, count in self.left_out.most_common())
        if not self.taken:
            raise SourceError(
                "no name is in a chosen language",
                value=list(self.wanted),
                where=source_name(source),
                remedy=f"The languages there are: {counts}",
            )
        total = sum(self.left_out.values())
        reason = f"{total} names are not in a chosen language and were left out ({counts})"
        return Rejected(line=0, reason=reason, skipped=True)


def _within(tag: str, wanted: str) -> bool:
    return tag == wanted or tag.startswith(f"{wanted}-")
