"""Where the names of a dictionary occur in running text, word by word.

Text and names are cut into words whose keys compare equal whatever their typing, number or British
spelling. An index over the words proposes places; a place counts only when the key of the very text
there is, or is a variant of, the key of the name, so that the rules of the exact layer hold.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mirror_index.characters import APOSTROPHES, INVISIBLE
from mirror_index.linking.variants import fold, fold_word
from mirror_index.names import NUMERALS, name_key

_ATOM = re.compile(rf"[^\W_]+(?:['{APOSTROPHES}][^\W_]+)*|&")
_LOOSE = re.compile(r"[^\W_]+")
# Chinese and Japanese put no spaces between words: there each Han character or hiragana is a word,
# and a run of katakana is one, as are the Latin letters beside them.
_HAN = "\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_UNSPACED = re.compile(f"[{_HAN}\u30a0-\u30ff]")
_PIECE = re.compile(f"[{_HAN}]|[\u30a0-\u30ff]+|[^{_HAN}\u30a0-\u30ff]+")
# What ends a sentence or a line of a list ends a name; a single line break only wraps.
_BARRIER = re.compile(r"[.!?;:](?=\s|$)|\n[ \t\r]*\n|[\t|•]|\n\s*[-*•]\s")
_TAIL = re.compile(r"\++|[-%#']")
_SKIPPED = frozenset("a an the of in to on at for by with and or".split())
_LINKING = frozenset("a an the of in to on at for by with".split())
_MOST_CONTENT = 6
_MOST_SKIPPED = 2
_MOST_WORDS = _MOST_CONTENT * (_MOST_SKIPPED + 1)
_FEWEST_LETTERS = 4


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the key of an atom: ``text[start:end]`` is the atom.

    `first` and `last` tell the ends of an atom whose key has several words ("TNFα", "tnf alpha");
    `block` numbers the stretches of text that no name reaches across.
    """

    start: int
    end: int
    form: str
    first: bool
    last: bool
    block: int


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of text and the key of a name there; `how` is exact, variant or reordered."""

    start: int
    end: int
    key: str
    how: str


def words_of(text: str, meanings: Mapping[str, str] | None = None) -> list[Word]:
    """Cut a text into words; those among `meanings` have the words of what they stand for."""
    shape = _shape(text)
    barriers = [match.start() for match in _BARRIER.finditer(shape)]
    words: list[Word] = []
    block = 0
    for start, end in _atoms(shape):
        start, end = _visible(text, start, end)
        while block < len(barriers) and barriers[block] < start:
            block += 1
        atom = text[start:end]
        forms = _forms(atom if meanings is None else meanings.get(atom, atom))
        for place, form in enumerate(forms):
            last = place == len(forms) - 1
            words.append(Word(start, end, form, place == 0, last, block))
    return words


def _atoms(shape: str) -> Iterator[tuple[int, int]]:
    """Yield where words begin and end."""
    for match in _ATOM.finditer(shape):
        if shape.isascii() or not _UNSPACED.search(match[0]):
            yield match.span()
        else:
            for piece in _PIECE.finditer(match[0]):
                yield match.start() + piece.start(), match.start() + piece.end()


def _visible(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without invisible characters at its ends; they belong to no word."""
    if text.isascii():
        return start, end
    while start < end and INVISIBLE.match(text[start]):
        start += 1
    while start < end and INVISIBLE.match(text[end - 1]):
        end -= 1
    return start, end


def _shape(text: str) -> str:
    """Return the text with marks and invisible characters inside words taken for letters."""
    if text.isascii():
        return text
    return "".join(map(_shape_of, text))


@lru_cache(maxsize=4096)
def _shape_of(char: str) -> str:
    if char == "\ufeff":
        return " "
    if unicodedata.category(char)[0] == "M" or INVISIBLE.match(char):
        return "a"
    return char


@lru_cache(maxsize=200_000)
def _forms(atom: str) -> tuple[str, ...]:
    if atom == "&":
        return ("and",)
    return _loose(name_key(atom))


def _loose(key: str) -> tuple[str, ...]:
    words: Iterable[str] = _LOOSE.findall(key)
    if not key.isascii() and _UNSPACED.search(key):
        words = itertools.chain.from_iterable(map(_PIECE.findall, words))
    return tuple(map(_form, words))


def _form(word: str) -> str:
    number = NUMERALS.get(word)
    if number is not None:
        return number
    return fold_word(word) if len(word) >= _FEWEST_LETTERS else word


class NameIndex:
    """The names of a dictionary by their words.

    Args:
        keys: the distinct keys of the names.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._names: dict[str, tuple[str, ...]] = {}
        self._bags: dict[str, tuple[str, ...]] = {}
        self._longest: dict[str, int] = {}
        self._content: set[str] = set()
        for key in keys:
            self._add(key)

    def _add(self, key: str) -> None:
        forms = _loose(key)
        if not forms:
            return
        joined = " ".join(forms)
        self._names[joined] = (*self._names.get(joined, ()), key)
        self._longest[forms[0]] = max(self._longest.get(forms[0], 0), len(forms))
        content = _content(forms)
        if 2 <= len(content) <= _MOST_CONTENT and not _UNSPACED.search(key):
            bag = " ".join(sorted(content))
            self._bags[bag] = (*self._bags.get(bag, ()), key)
            self._content.update(content)

    def places(
        self, text: str, words: Sequence[Word], meanings: Mapping[str, str] | None = None
    ) -> Iterator[Place]:
        """Yield where names begin and end, exact ones and variants, longer ones too.

        Args:
            text: the text.
            words: from `words_of`, with the same `meanings`.
            meanings: words that stand for others: the text is judged as if these were there.
        """
        for first, word in enumerate(words):
            if not word.first:
                continue
            joined = ""
            for place in range(first, min(len(words), first + self._longest.get(word.form, 0))):
                if words[place].block != word.block:
                    break
                joined = f"{joined} {words[place].form}" if joined else word.form
                if (
                    words[place].last
                    and joined in self._names
                    and not (len(joined) == 1 and _inside(text, word))
                ):
                    yield from self._judged(
                        text, word.start, words[place].end, self._names[joined], meanings
                    )

    def reordered(self, text: str, words: Sequence[Word]) -> Iterator[Place]:
        """Yield where all words of a name stand in another order, articles and the like apart."""
        for first, word in enumerate(words):
            if not word.first or word.form not in self._content:
                continue
            content: list[str] = []
            skipped = 0
            for other in words[first : first + _MOST_WORDS]:
                if other.block != word.block or (other is not word and _apart(text, other)):
                    break
                if other.form in _LINKING:
                    skipped += 1
                    if skipped > _MOST_SKIPPED:
                        break
                    continue
                if other.form not in self._content or len(content) == _MOST_CONTENT:
                    break
                skipped = 0
                content.append(other.form)
                keys = self._bags.get(" ".join(sorted(content))) if other.last else None
                if keys is not None and len(content) > 1:
                    for key in keys:
                        yield Place(word.start, other.end, key, "reordered")

    def _judged(
        self,
        text: str,
        start: int,
        end: int,
        keys: Sequence[str],
        meanings: Mapping[str, str] | None,
    ) -> Iterator[Place]:
        """Yield the place once for each key that the text there has or is a variant of."""
        key = name_key(_read(text[start:end], meanings))
        tail = _TAIL.match(text, end)
        if tail is not None:  # "CD4+" is another name than "CD4", "cancer-" is not
            longer = name_key(_read(text[start : tail.end()], meanings))
            if longer != key and longer in keys:
                yield Place(start, tail.end(), longer, "exact")
                return
        if key in keys:
            yield Place(start, end, key, "exact")
            return
        for other in keys:
            if fold(other) == fold(key):
                yield Place(start, end, other, "variant")


def _inside(text: str, word: Word) -> bool:
    """Whether a word is one character of a text without spaces: likely a part of a longer one."""
    around = text[max(0, word.start - 1) : word.start] + text[word.end : word.end + 1]
    return _UNSPACED.match(word.form) is not None and _UNSPACED.search(around) is not None


def _read(text: str, meanings: Mapping[str, str] | None) -> str:
    if not meanings:
        return text
    return _ATOM.sub(lambda match: meanings.get(match.group(), match.group()), text)


def _apart(text: str, word: Word) -> bool:
    """Whether a comma or bracket parts a word from the one before it."""
    return any(char in "()[],/" for char in text[max(0, word.start - 2) : word.start])


def _content(forms: Sequence[str]) -> list[str]:
    return [form for form in forms if form not in _SKIPPED]
