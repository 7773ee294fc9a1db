"""What a source offers to tune on: strings, names of concepts, and what is held out of them."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from mirror_index.config import MirrorConfig
from mirror_index.errors import TuningError
from mirror_index.names import name_key
from mirror_index.records import Concept, Record, Rejected, SourceItem, normalise_text

MIN_STRINGS = 16
"""Fewer distinct strings than this leave nothing to contrast or to hold out."""

MAX_HELD_OUT = 1_000
MAX_NAMES = 200_000
_FLOOR_HELD_OUT = 16


def near_key(text: str) -> str:
    """Return the key that near-identical strings share: case, accents, punctuation aside."""
    return name_key(text) or text


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A bounded, seeded, order-independent sample of a source.

    Attributes:
        items: items read, rejected rows included.
        rejected: rows the reader did not take.
        quarantined: those of them that hold something, i.e. were not just skipped.
        strings: distinct normalised strings, in the order of their seeded hash.
        concepts: distinct normalised names by concept id, concepts in the order of their seeded
            hash.
    """

    items: int
    rejected: int
    quarantined: int
    strings: tuple[str, ...]
    concepts: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldName:
    """A name kept unseen, whose concept has other names to be found by."""

    text: str
    concept_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What is trained on and what is not; no held-out string is near-identical to a trained one.

    Attributes:
        strings: strings for identity pairs.
        concepts: names by concept that may form synonym pairs.
        dictionary: all names by concept but the held-out ones: what held-out names are looked up
            in.
        held_strings: unseen strings.
        held_names: unseen names of concepts in `dictionary`.
    """

    strings: tuple[str, ...]
    concepts: Mapping[str, tuple[str, ...]]
    dictionary: Mapping[str, tuple[str, ...]]
    held_strings: tuple[str, ...]
    held_names: tuple[HeldName, ...]


class _StringSample:
    """The `size` distinct strings with the smallest seeded hashes: uniform, in bounded memory."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._seed = seed
        self._kept: set[str] = set()
        self._heap: list[tuple[int, str]] = []

    def add(self, text: str) -> None:
        if text in self._kept:
            return
        entry = (-_rank(text, self._seed), text)
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, entry)
        elif entry > self._heap[0]:
            self._kept.remove(heapq.heapreplace(self._heap, entry)[1])
        else:
            return
        self._kept.add(text)

    def strings(self) -> tuple[str, ...]:
        return tuple(text for _, text in sorted(self._heap, reverse=True))


class _ConceptSample:
    """Whole concepts with the smallest seeded hashes, as many as fit into `size` names."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._seed = seed
        self._names = 0
        self._groups: dict[str, dict[str, None]] = {}
        self._heap: list[tuple[int, str]] = []
        self._bound: tuple[int, str] | None = None

    def add(self, concept_id: str, text: str) -> None:
        group = self._groups.get(concept_id)
        if group is None:
            entry = (-_rank(concept_id, self._seed), concept_id)
            if self._bound is not None and entry <= self._bound:
                return
            heapq.heappush(self._heap, entry)
            group = self._groups[concept_id] = {}
        if text not in group:
            group[text] = None
            self._names += 1
        while self._names > self._size and len(self._groups) > 1:
            self._bound = heapq.heappop(self._heap)
            self._names -= len(self._groups.pop(self._bound[1]))

    def concepts(self) -> dict[str, tuple[str, ...]]:
        order = sorted(self._heap, reverse=True)
        return {concept_id: tuple(self._groups[concept_id]) for _, concept_id in order}


def collect(
    items: Iterable[SourceItem | str], *, size: int, seed: int, names: int = MAX_NAMES
) -> Corpus:
    """Read a source once and keep a sample of it.

    Texts count as the same after `normalise_text`; empty ones and obsolete concepts are left out.
    The sample depends on the set of strings and on `seed`, not on order or repetition.

    Args:
        items: records, concepts, rejected rows or plain strings.
        size: distinct strings to keep.
        seed: of the sample.
        names: names of concepts to keep; whole concepts are left out beyond it.
    """
    strings = _StringSample(size, seed)
    concepts = _ConceptSample(names, seed)
    count = rejected = quarantined = 0
    for item in items:
        count += 1
        if isinstance(item, Rejected):
            rejected += 1
            quarantined += not item.skipped
            continue
        for raw, concept_id in _texts(item):
            text = normalise_text(raw)
            if not text:
                continue
            strings.add(text)
            if concept_id is not None:
                concepts.add(concept_id, text)
    return Corpus(
        items=count,
        rejected=rejected,
        quarantined=quarantined,
        strings=strings.strings(),
        concepts=concepts.concepts(),
    )


def split(corpus: Corpus, config: MirrorConfig) -> Split:
    """Hold out what the card is measured on, and leave the rest for training.

    Of strings that are near-identical (`near_key`) one stands for all, so that nothing held out has
    a twin among the trained ones. The share held out is `config.held_out`, at most 1,000 and, for
    small sources, at least 16 or a quarter, whichever is less. Names are held out one a concept,
    and only those whose concept can still be found by another name and that no other concept bears.

    Raises:
        TuningError: fewer than 16 distinct strings, or nothing left to train on.
    """
    key_of = cache(near_key)
    by_key: dict[str, str] = {}
    for text in corpus.strings:
        by_key.setdefault(key_of(text), text)
    strings = tuple(by_key.values())[: config.strings + MAX_HELD_OUT]
    if len(strings) < MIN_STRINGS:
        raise TuningError(
            f"{len(strings)} distinct strings are too few to tune on, {MIN_STRINGS} are needed",
            remedy="Add more of the collection, or use the base encoder as it is",
        )
    held_strings = strings[: _held_out(min(len(strings), config.strings), config.held_out)]
    candidates = tuple(_findable_names(corpus.concepts, key_of, config.seed))
    held_names = candidates[: _held_out(len(candidates), config.held_out)]
    unseen = {key_of(name.text) for name in held_names}
    dictionary = _without(corpus.concepts, unseen, key_of)
    unseen |= {key_of(text) for text in held_strings}
    trained = [text for text in strings if key_of(text) not in unseen]
    if len(trained) < 2:
        raise TuningError(
            f"holding out {config.held_out:g} of {len(strings)} strings leaves none to tune on",
            remedy="Hold out a smaller share, such as 0.1",
        )
    return Split(
        strings=tuple(trained[: config.strings]),
        concepts=_without(corpus.concepts, unseen, key_of),
        dictionary=dictionary,
        held_strings=held_strings,
        held_names=held_names,
    )


def _texts(item: Record | Concept | str) -> Iterator[tuple[str, str | None]]:
    if isinstance(item, str):
        yield item, None
    elif isinstance(item, Record):
        yield item.text, item.concept_id
    else:
        yield from ((record.text, item.id) for record in item.records())


def _rank(text: str, seed: int) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=b"%d" % seed)
    return int.from_bytes(digest.digest(), "big")


def _held_out(count: int, share: float) -> int:
    if share == 0:
        return 0
    floor = min(_FLOOR_HELD_OUT, count // 4)
    return min(MAX_HELD_OUT, max(round(share * count), floor))


def _findable_names(
    concepts: Mapping[str, tuple[str, ...]], key_of: Callable[[str], str], seed: int
) -> Iterator[HeldName]:
    """Yield one name a concept that no other concept bears and that is not its concept's only one.

    The first name is never taken: records come label first, and a label is what is looked for.
    """
    keys = {concept_id: [key_of(name) for name in names] for concept_id, names in concepts.items()}
    bearers = Counter(key for own in keys.values() for key in set(own))
    for concept_id, names in concepts.items():
        own = keys[concept_id]
        free = [
            name
            for name, key in zip(names[1:], own[1:], strict=True)
            if key != own[0] and bearers[key] == 1
        ]
        if free:
            text = min(free, key=lambda name: _rank(name, seed))
            yield HeldName(text=text, concept_id=concept_id)


def _without(
    concepts: Mapping[str, tuple[str, ...]], unseen: set[str], key_of: Callable[[str], str]
) -> dict[str, tuple[str, ...]]:
    left = {
        concept_id: tuple(name for name in names if key_of(name) not in unseen)
        for concept_id, names in concepts.items()
    }
    return {concept_id: names for concept_id, names in left.items() if names}
