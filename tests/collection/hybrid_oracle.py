"""Hybrid search written out by hand: cosine, BM25 and near spellings, fused by reciprocal rank."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mirror_index.records import normalise_text
from tests.collection.oracle import Oracle

_K1, _B = 1.2, 0.75
_WEIGHTS = {"dense": 1.0, "words": 1.0, "trigrams": 2.0}


@dataclass(frozen=True)
class Expected:
    """What a record must come with: its fused score, cosine and the rank in each leg."""

    id: str
    fused: float
    score: float
    legs: Mapping[str, int]


def hybrid(oracle: Oracle, query: str, stored: Iterable[str]) -> list[Expected]:
    """Every record, best first; `stored` are all texts that the word index holds, unused ones too.

    For collections of fewer texts than a leg has ranks, and texts of up to 100 characters.
    """
    query = normalise_text(query)
    live = {normalise_text(record.text) for record in oracle.records.values()}
    scores = {normalise_text(r.text): oracle.score(query, r) for r in oracle.records.values()}
    legs = {
        "dense": _places(scores),
        "words": _places({t: s for t, s in _bm25(query, list(stored)).items() if t in live}),
        "trigrams": _places({t: s for t in live if (s := _spelling(query.lower(), t.lower()))}),
    }
    found = []
    for record in oracle.records.values():
        text = normalise_text(record.text)
        ranks = {name: places[text] for name, places in legs.items() if text in places}
        fused = sum(_WEIGHTS[name] / (60 + rank) for name, rank in ranks.items())
        found.append(Expected(record.id, round(fused, 12), scores[text], ranks))
    return sorted(found, key=lambda one: (-one.fused, -one.score, one.id))


def _places(scores: Mapping[str, float]) -> dict[str, int]:
    """The place of each from 1; equal scores share one."""
    rounded = {text: round(score, 11) for text, score in scores.items()}
    return {t: 1 + sum(other > s for other in rounded.values()) for t, s in rounded.items()}


def _words(text: str) -> list[str]:
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return re.findall(r"[^\W_]+", plain.lower())


def _bm25(query: str, stored: list[str]) -> dict[str, float]:
    """BM25 as SQLite's FTS5 documents it, for texts with a word of the query."""
    split = {text: _words(text) for text in stored}
    average = sum(map(len, split.values())) / max(1, len(split))
    found: dict[str, float] = {}
    for word in dict.fromkeys(_words(query)):
        having = [text for text, words in split.items() if word in words]
        rarity = math.log((len(split) - len(having) + 0.5) / (len(having) + 0.5))
        rarity = max(rarity, 1e-6)
        for text in having:
            count, length = split[text].count(word), len(split[text])
            weight = count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / average))
            found[text] = found.get(text, 0.0) + rarity * weight
    return found


def _grams(text: str) -> set[str]:
    return {text[place : place + 3] for place in range(len(text) - 2)}


def _spelling(query: str, name: str) -> float:
    """The Dice coefficient of padded trigrams; 0 for what is neither near nor holds the query."""
    if not _grams(query) & _grams(name):
        return 0.0
    most = 1 if len(query) < 5 else 2 if len(query) < 12 else 3
    if query not in name and _slips(query, name) > most:
        return 0.0
    one, other = _grams(f"  {query} "), _grams(f"  {name} ")
    return 2 * len(one & other) / (len(one) + len(other))


def _slips(one: str, other: str) -> int:
    """Edits with swaps of neighbours (optimal string alignment), the whole table."""
    table = [
        [i + j if 0 in (i, j) else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)
    ]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            table[i][j] = min(
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
                table[i - 1][j - 1] + (one[i - 1] != other[j - 1]),
            )
            if i > 1 and j > 1 and (one[i - 1], one[i - 2]) == (other[j - 2], other[j - 1]):
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]
