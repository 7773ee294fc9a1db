"""Character n-grams of name keys: TF-IDF in an inverted index, held in memory.

N-grams see what an encoder of word pieces does not: slips of spelling, word endings, compounds
written apart. They are hashed into a fixed number of buckets, so that nothing grows but two arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mirror_index.linking.ragged import bounds_of, joined, ranges, sums
from mirror_index.vectors import FloatVector, IntVector

BUCKETS = 1 << 20
POSTINGS = 30_000
"""Postings read for one query, rarest n-grams first: what bounds the time of a search."""

_LENGTH_ROOM = 1 << 21  # code points are below this
_MIXER = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing (Knuth, TAOCP 3, 6.4)
_SHIFT = np.uint64(64 - 20)
_KEYS_AT_ONCE = 100_000

Buckets = NDArray[np.int32]
Bounds = NDArray[np.int64]


class Grams(NamedTuple):
    """The n-grams of several keys: those of key i lie at ``bounds[i]:bounds[i + 1]``."""

    bounds: Bounds
    buckets: Buckets
    weights: FloatVector


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramIndex:
    """TF-IDF vectors of the n-grams of `size` keys, by key and by n-gram.

    Attributes:
        size: number of keys.
        by_key: rows of unit length, one a key.
        starts: (BUCKETS + 1,) int32 or int64, where the postings of each n-gram begin.
        keys: (postings,) int32 keys that hold the n-gram.
        weights: (postings,) float32 their weights.
    """

    size: int
    by_key: Grams
    starts: NDArray[np.int32] | Bounds
    keys: NDArray[np.int32]
    weights: FloatVector

    @classmethod
    def of(cls, keys: Sequence[str]) -> NgramIndex:
        """Index the n-grams of keys; memory grows with their total length, about 16 bytes each."""
        bounds, buckets, counts = _counted(keys)
        spread = np.bincount(buckets, minlength=BUCKETS)
        weights = _unit(bounds, _tf(counts) * _idf(len(keys), spread)[buckets])
        starts: Bounds = np.concatenate([[0], np.cumsum(spread)])
        order = np.argsort(buckets, kind="stable")
        owners = np.repeat(np.arange(len(keys), dtype=np.int32), np.diff(bounds))
        return cls(
            size=len(keys),
            by_key=Grams(bounds, buckets, weights),
            starts=starts.astype(np.int32) if len(buckets) < 1 << 31 else starts,
            keys=owners[order],
            weights=weights[order],
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays."""
        own = self.by_key._asdict()
        postings = {"starts": self.starts, "keys": self.keys, "posted": self.weights}
        return {**own, **postings}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> NgramIndex:
        """Return the index that `to_arrays` gave."""
        return cls(
            size=len(arrays["bounds"]) - 1,
            by_key=Grams(arrays["bounds"], arrays["buckets"], arrays["weights"]),
            starts=arrays["starts"],
            keys=arrays["keys"],
            weights=arrays["posted"],
        )

    def grams(self, keys: Sequence[str]) -> Grams:
        """Return the TF-IDF vectors of other keys."""
        bounds, buckets, counts = _counted(keys)
        idf = _idf(self.size, self.starts[buckets + 1] - self.starts[buckets])
        return Grams(bounds, buckets, _unit(bounds, _tf(counts) * idf))

    def nearest(
        self, grams: Grams, n: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[IntVector]:
        """Return about `n` keys nearest to each query, best first by exact cosine.

        Args:
            grams: of the queries.
            n: keys wanted; fewer come back when fewer share an n-gram that was read.
            allowed: (size,) True for the keys that may be found; None for all.
        """
        found = []
        for first, last in pairwise(grams.bounds.tolist()):
            partial = self._partial(grams.buckets[first:last], grams.weights[first:last])
            if allowed is not None:
                partial[~allowed] = 0.0
            found.append(_largest(partial, 3 * n))
        bounds = bounds_of(found)
        scores = self.cosines(grams, bounds, joined(found))
        return [
            few[np.lexsort((few, -scores[first:last]))[:n]]
            for few, (first, last) in zip(found, pairwise(bounds.tolist()), strict=True)
        ]

    def _partial(self, buckets: Buckets, weights: FloatVector) -> NDArray[np.float64]:
        """Return the cosine of every key over the rarest n-grams of a query."""
        first, last = self.starts[buckets], self.starts[buckets + 1]
        lengths = last - first
        order = np.argsort(lengths, kind="stable")
        read = order[: max(1, int(np.searchsorted(np.cumsum(lengths[order]), POSTINGS)))]
        parts = [slice(first[one], last[one]) for one in read]
        if not parts:
            return np.zeros(self.size)
        keys = np.concatenate([self.keys[part] for part in parts])
        values = np.concatenate([self.weights[part] for part in parts])
        values *= np.repeat(weights[read], lengths[read])
        sums = np.bincount(keys, values, minlength=self.size)
        return np.asarray(sums, dtype=np.float64)

    def cosines(self, grams: Grams, bounds: Bounds, keys: IntVector) -> FloatVector:
        """Return the exact cosines of queries with some keys.

        Args:
            grams: of the queries.
            bounds: (queries + 1,) where the keys of each query begin.
            keys: those of all queries, one after the other.
        """
        weight_of = np.zeros(BUCKETS, dtype=np.float32)  # of the query at hand, in every n-gram
        found = np.zeros(len(keys), dtype=np.float32)
        for query, (first, last) in enumerate(pairwise(bounds.tolist())):
            part = slice(grams.bounds[query], grams.bounds[query + 1])
            weight_of[grams.buckets[part]] = grams.weights[part]
            found[first:last] = self._products(weight_of, keys[first:last])
            weight_of[grams.buckets[part]] = 0.0
        return found

    def _products(self, weight_of: FloatVector, keys: IntVector) -> NDArray[np.float64]:
        """Return the products of one query's n-grams with those of keys."""
        starts = self.by_key.bounds[keys]
        ends = self.by_key.bounds[keys + 1]
        places = ranges(starts, ends)
        products = weight_of[self.by_key.buckets[places]] * self.by_key.weights[places]
        owners = np.repeat(np.arange(len(keys)), ends - starts)
        return sums(owners, products.astype(np.float64), len(keys))


def _largest(values: NDArray[np.float64], n: int) -> IntVector:
    """Return the places of the `n` largest positive values, in no order."""
    floor = float(values.max(initial=0.0)) * 0.5
    found = np.flatnonzero(values >= floor) if floor > 0.0 else np.empty(0, dtype=np.int64)
    if floor > 0.0 and len(found) < n:
        found = np.flatnonzero(values > 0.2 * floor)
    if len(found) > n:
        found = found[np.argpartition(-values[found], n - 1)[:n]]
    return found


def _idf(size: int, spread: NDArray[Any]) -> FloatVector:
    """Return the inverse document frequency of n-grams that so many of `size` keys hold."""
    result: FloatVector = np.log((1.0 + size) / (1.0 + spread)).astype(np.float32)
    return result + np.float32(1.0)


def _tf(counts: NDArray[np.int64]) -> FloatVector:
    result: FloatVector = (1.0 + np.log(counts)).astype(np.float32)
    return result


def _unit(bounds: Bounds, weights: FloatVector) -> FloatVector:
    owners = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    norms = np.sqrt(np.bincount(owners, weights.astype(np.float64) ** 2, len(bounds) - 1))
    result: FloatVector = (weights / norms[owners]).astype(np.float32)
    return result


def _counted(keys: Sequence[str]) -> tuple[Bounds, Buckets, NDArray[np.int64]]:
    """Return the bounds, n-grams and counts of keys, some at a time."""
    parts = [
        _counted_part(keys[start : start + _KEYS_AT_ONCE])
        for start in range(0, len(keys), _KEYS_AT_ONCE)
    ]
    lengths = np.concatenate([part[0] for part in parts] or [np.empty(0, dtype=np.int64)])
    return (
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([part[1] for part in parts] or [np.empty(0, dtype=np.int32)]),
        np.concatenate([part[2] for part in parts] or [np.empty(0, dtype=np.int64)]),
    )


def _counted_part(
    keys: Sequence[str],
) -> tuple[NDArray[np.int64], Buckets, NDArray[np.int64]]:
    """Return how many distinct n-grams each key has, which, and how often it holds each."""
    text = "".join(f" {key} \0" for key in keys).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(text, dtype=np.uint32).astype(np.uint64)
    ends = codes == 0
    owners = np.cumsum(ends) - ends
    grams = codes[:-2] * np.uint64(_LENGTH_ROOM) + codes[1:-1]
    grams = grams * np.uint64(_LENGTH_ROOM) + codes[2:]
    whole = ~(ends[:-2] | ends[1:-1] | ends[2:]) if len(codes) > 2 else np.empty(0, dtype=bool)
    buckets = ((grams * _MIXER) >> _SHIFT).astype(np.int64)[whole]
    pairs, counts = np.unique(owners[:-2][whole] * BUCKETS + buckets, return_counts=True)
    lengths = np.bincount(pairs // BUCKETS, minlength=len(keys))
    return lengths, (pairs % BUCKETS).astype(np.int32), counts
