"""Short texts of different owners that are one name, or one slip of the pen apart."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mirror_index.names import name_key
from mirror_index.store.edits import slips_apart
from mirror_index.store.owners import Owners

FEWEST_LETTERS = 5
"""Shorter words differ by a letter and mean different things: ALT and AST."""
HELD = 20_000_000
"""Deletions held at a time, 16 bytes each; more names than that are gone through again."""
_DIGITS = re.compile(r"\d+")


def keys_of(texts: Iterable[tuple[int, str]]) -> dict[int, str]:
    """Return the exact-layer key (`names.name_key`) of each row's text, where there is one."""
    keys = ((row, name_key(text)) for row, text in texts)
    return {row: key for row, key in keys if key}


def same_names(keys: Mapping[int, str], owners: Owners) -> Iterator[tuple[int, int]]:
    """Yield for each row the first row of the same key that has other owners, if any."""
    for rows in _by_key(keys).values():
        for place, row in enumerate(rows):
            first = next((one for one in rows[:place] if not owners.share(one, row)), None)
            if first is not None:
                yield first, row


def one_slip_apart(keys: Mapping[int, str], owners: Owners) -> Iterator[tuple[int, int]]:
    """Yield for each key its first row and that of the first earlier key one slip away.

    They are the first rows without an owner in common. Two keys one slip apart have a string in
    common that both, or one of them, become by losing a character (Mor and Fraenkel, CACM 1982):
    only keys that share one are compared.
    """
    groups = _by_key(keys)
    names = [key for key in groups if len(key) >= FEWEST_LETTERS]
    parts = max(1, -(-sum(len(name) + 1 for name in names) // HELD))
    found: dict[int, int] = {}
    pairs: dict[int, tuple[int, int]] = {}
    for part in range(parts):
        for sharing in _sharing(names, part, parts):
            for later, place in enumerate(sharing):
                for one in sharing[:later]:
                    if one >= found.get(place, place):
                        break
                    pair = _apart(groups[names[one]], groups[names[place]], owners)
                    if pair is not None and one_slip(names[one], names[place]):
                        found[place], pairs[place] = one, pair
                        break
    yield from (pairs[place] for place in sorted(pairs))


def _by_key(keys: Mapping[int, str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for row, key in keys.items():
        groups.setdefault(key, []).append(row)
    return groups


def _apart(rows: list[int], others: list[int], owners: Owners) -> tuple[int, int] | None:
    """Return the first two rows, one of each, without an owner in common; the lower one first."""
    pairs = ((one, other) for other in others for one in rows)
    found = next((pair for pair in pairs if not owners.share(*pair)), None)
    return None if found is None else (min(found), max(found))


def _sharing(names: Sequence[str], part: int, parts: int) -> Iterator[list[int]]:
    """Yield ascending places of names with a deletion in common, of one part of all hashes."""
    hashes, places = array("Q"), array("q")
    for place, name in enumerate(names):
        for value in {_hash(deleted) for deleted in _deletions(name)}:
            if value % parts == part:
                hashes.append(value)
                places.append(place)
    if not hashes:
        return
    values: NDArray[np.uint64] = np.frombuffer(hashes, dtype=np.uint64)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    bounds = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True])))
    numbers = np.frombuffer(places, dtype=np.int64)[order]
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if stop - start > 1:
            yield sorted(numbers[start:stop].tolist())


def _deletions(key: str) -> Iterator[str]:
    yield key
    for place in range(len(key)):
        yield key[:place] + key[place + 1 :]


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def one_slip(one: str, other: str) -> bool:
    """Return whether two different keys are one slip apart, in a space or in one long word.

    Digits are left alone: "type 1" and "type 2" differ on purpose.
    """
    if one == other or slips_apart(one, other, 1) > 1:
        return False
    if _DIGITS.findall(one) != _DIGITS.findall(other):
        return False
    words, others = one.split(" "), other.split(" ")
    if len(words) != len(others):
        return True
    differing = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    return min(len(word) for pair in differing for word in pair) >= FEWEST_LETTERS
