"""The questions of the before/after card, and what one encoder answers to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mirror_index.progress import Advance
from mirror_index.tuning import marks
from mirror_index.tuning.augment import ALTERATIONS
from mirror_index.tuning.resampling import FloatArray
from mirror_index.tuning.strings import Split
from mirror_index.vectors import EncoderLike, FloatMatrix, IntVector

ALTERED_STRINGS = 400
OTHER_STRINGS = 2_000
DICTIONARY_NAMES = 20_000
_SHORTEST = 4
_PIECE = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class Altered:
    """Altered copies of held-out strings, to be found among the originals and other strings.

    Attributes:
        kind: which alteration.
        texts: the altered copies.
        rows: (queries,) row of each one's original in the gallery.
    """

    kind: str
    texts: tuple[str, ...]
    rows: IntVector


@dataclass(frozen=True, slots=True, kw_only=True)
class Dictionary:
    """Held-out names, to be found among the names of concepts.

    Attributes:
        queries: the held-out names.
        gold: (queries,) concept number of each.
        names: names of all concepts, those of one concept next to each other.
        starts: (concepts,) row of the first name of each concept.
    """

    queries: tuple[str, ...]
    gold: IntVector
    names: tuple[str, ...]
    starts: IntVector


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """All that an encoder is asked.

    Attributes:
        gallery: strings that altered copies are looked for in; the first `held` are the held-out
            ones.
        held: number of held-out strings.
        altered: one set of queries per kind of alteration that applied to any string.
        dictionary: None when no name could be held out.
        marked: for each kind of marks, the first strings of the gallery between these; empty where
            there is a dictionary, which says more.
    """

    gallery: tuple[str, ...]
    held: int
    altered: tuple[Altered, ...]
    dictionary: Dictionary | None
    marked: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What one encoder answers.

    Attributes:
        vectors: (held, dim) float32 unit rows of the held-out strings.
        ranks: per kind of alteration, the rank of the original (from 1) for each query.
        distances: per kind, the squared distance from each altered copy to its original.
        name_ranks: rank of the right concept for each held-out name; empty without a dictionary.
        neighbours: share of its neighbours that each held-out string keeps between marks; empty
            unless that was asked.
    """

    vectors: FloatMatrix
    ranks: Mapping[str, IntVector]
    distances: Mapping[str, FloatArray]
    name_ranks: IntVector
    neighbours: FloatArray = field(default_factory=lambda: np.empty(0))


def make_probes(split: Split, seed: int) -> Probes:
    """Draw the questions: the same split and seed give the same ones.

    At most 400 held-out strings of four characters or more are altered in each way and looked for
    among all held-out and 2,000 trained strings; held-out names are looked up in at most 20,000
    names. Where no name is held out, 400 of the gallery are asked about between marks.
    """
    generator = np.random.default_rng(seed)
    others = generator.permutation(len(split.strings))[:OTHER_STRINGS]
    gallery = (*split.held_strings, *(split.strings[index] for index in others))
    asked = [row for row, text in enumerate(split.held_strings) if len(text) >= _SHORTEST]
    altered = [_alter(kind, gallery, asked[:ALTERED_STRINGS], generator) for kind in ALTERATIONS]
    return Probes(
        gallery=gallery,
        held=len(split.held_strings),
        altered=tuple(queries for queries in altered if queries.texts),
        dictionary=_dictionary(split, generator) if split.held_names else None,
        marked=() if split.held_names else _marked(gallery, len(split.held_strings)),
    )


def texts_of(probes: Probes) -> int:
    """Return how many texts `answer` encodes."""
    altered = sum(len(queries.texts) for queries in probes.altered)
    dictionary = probes.dictionary
    names = len(dictionary.queries) + len(dictionary.names) if dictionary else 0
    return len(probes.gallery) + altered + names + sum(map(len, probes.marked))


def answer(encoder: EncoderLike, probes: Probes, advance: Advance) -> Answers:
    """Ask one encoder everything; `advance` hears of every piece of texts encoded."""
    gallery = _encode(encoder, probes.gallery, advance)
    ranks: dict[str, IntVector] = {}
    distances: dict[str, FloatArray] = {}
    for queries in probes.altered:
        vectors = _encode(encoder, queries.texts, advance)
        ranks[queries.kind] = ranks_of(vectors @ gallery.T, queries.rows)
        difference = vectors.astype(np.float64) - gallery[queries.rows]
        distances[queries.kind] = np.einsum("ij,ij->i", difference, difference)
    return Answers(
        vectors=gallery[: probes.held],
        ranks=ranks,
        distances=distances,
        name_ranks=_name_ranks(encoder, probes.dictionary, advance),
        neighbours=_neighbours(encoder, probes, gallery, advance),
    )


def ranks_of(scores: NDArray[np.float32], gold: IntVector) -> IntVector:
    """Return the rank (from 1) of column `gold[i]` in row i; ties count against it.

    So an encoder that gives everything the same vector finds nothing.
    """
    own = np.take_along_axis(scores, gold[:, None], axis=1)
    return np.asarray((scores >= own).sum(axis=1), dtype=np.int64)


def _alter(
    kind: str, gallery: Sequence[str], asked: Sequence[int], generator: np.random.Generator
) -> Altered:
    present = set(gallery)
    texts: list[str] = []
    rows: list[int] = []
    for row in asked:
        text = ALTERATIONS[kind](gallery[row], generator).strip()
        if text and text not in present:
            texts.append(text)
            rows.append(row)
    return Altered(kind=kind, texts=tuple(texts), rows=np.array(rows, dtype=np.int64))


def _dictionary(split: Split, generator: np.random.Generator) -> Dictionary:
    wanted = {name.concept_id for name in split.held_names}
    rest = [concept_id for concept_id in split.dictionary if concept_id not in wanted]
    order = [*dict.fromkeys(name.concept_id for name in split.held_names)]
    order += [rest[index] for index in generator.permutation(len(rest))]
    names: list[str] = []
    starts: list[int] = []
    number: dict[str, int] = {}
    for concept_id in order:
        if concept_id not in wanted and len(names) >= DICTIONARY_NAMES:
            break
        number[concept_id] = len(starts)
        starts.append(len(names))
        names += split.dictionary[concept_id]
    return Dictionary(
        queries=tuple(name.text for name in split.held_names),
        gold=np.array([number[name.concept_id] for name in split.held_names], dtype=np.int64),
        names=tuple(names),
        starts=np.array(starts, dtype=np.int64),
    )


def _marked(gallery: Sequence[str], held: int) -> tuple[tuple[str, ...], ...]:
    compared = gallery[: marks.COMPARED]
    if not held or len(compared) < marks.FEWEST:
        return ()
    return tuple(tuple(texts) for texts in marks.between(compared))


def _neighbours(
    encoder: EncoderLike, probes: Probes, gallery: FloatMatrix, advance: Advance
) -> FloatArray:
    if not probes.marked:
        return np.empty(0)
    compared = len(probes.marked[0])
    marked = [_encode(encoder, texts, advance) for texts in probes.marked]
    return marks.neighbours_kept(gallery[:compared], marked, min(probes.held, compared))


def _name_ranks(encoder: EncoderLike, dictionary: Dictionary | None, advance: Advance) -> IntVector:
    if dictionary is None:
        return np.empty(0, dtype=np.int64)
    names = _encode(encoder, dictionary.names, advance)
    scores = _encode(encoder, dictionary.queries, advance) @ names.T
    return ranks_of(np.maximum.reduceat(scores, dictionary.starts, axis=1), dictionary.gold)


def _encode(encoder: EncoderLike, texts: Sequence[str], advance: Advance) -> FloatMatrix:
    pieces = []
    for start in range(0, len(texts), _PIECE):
        pieces.append(encoder.encode(texts[start : start + _PIECE]))
        advance(len(pieces[-1]))
    return np.concatenate(pieces) if pieces else np.empty((0, encoder.dim), dtype=np.float32)
