"""What speaks for and against a candidate: names compared with mentions, then concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mirror_index.linking.lexicon import Floats, Lexicon, Words
from mirror_index.linking.ragged import ranges, sums
from mirror_index.linking.translations import Translations
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

FEATURES = (
    "nearness",
    "n-grams",
    "numbers differ",
    "number missing",
    "opposites",
    "negation",
    "words",
    "word pairs",
)
"""Of a concept, in the order of the columns.

The best nearness (`candidates.Finder`; less the penalty of the scope) and n-gram cosine of its
names; whether the numbers of the best name are others, or only one side has any; whether it holds
the opposite of a word of the mention ("left", "right"), or only one side a negation; and the share
of the words that both sides share, weighted by rarity: of the side that shares less, the best name
counts. "Word pairs" is what that share gains when words that translate one another
(`translations`) count in part.
"""

SCOPE_PENALTY = np.array([0.0, 0.005, 0.01, 0.01, 0.01])
"""Taken off the nearness by scope: as near a name, but one that says less about its concept.

A learned weight for scopes gained nothing on held-out synonyms and lost on mentions in text, as did
larger penalties; these gain up to .01.
"""

_NGRAM_SHARE = 0.5  # for choosing the name that stands for a concept only


class Mentions(NamedTuple):
    """Mentions to be compared: their keys and (mentions, dim) unit rows."""

    keys: Sequence[str]
    vectors: FloatMatrix


class Pairs(NamedTuple):
    """Pairs of a mention and a name, ascending by mention."""

    mention: IntVector
    name: IntVector


class Compared(NamedTuple):
    """Concepts compared with mentions, ascending by mention.

    Attributes:
        mention: (n,) number of the mention.
        concept: (n,) number of the concept.
        name: (n,) the name that stands for it.
        pair: (n,) the pair of the mention and that name.
        table: (n, features) float64, columns as in `FEATURES`.
    """

    mention: IntVector
    concept: IntVector
    name: IntVector
    pair: IntVector
    table: Floats


class _Overlap(NamedTuple):
    """Words that each pair shares, literally and with translations, in [0, 1]; numbers at odds."""

    literal: Floats
    translated: Floats
    differ: BoolVector
    missing: BoolVector


class Comparison(NamedTuple):
    """What mentions and names have in common, pair by pair.

    Attributes:
        words: of the mentions.
        pairs: what was compared.
        scores: (pairs,) nearness, less the penalty of the scope.
        ngrams: (pairs,) n-gram cosines.
        overlap: the words they share.
    """

    words: Words
    pairs: Pairs
    scores: Floats
    ngrams: Floats
    overlap: _Overlap


def compare(
    lexicon: Lexicon,
    translations: Translations,
    mentions: Mentions,
    pairs: Pairs,
    nearness: Floats,
) -> Comparison:
    """Compare the mention and the name of every pair.

    Args:
        lexicon: the names.
        translations: word pairs; an empty table makes that feature zero.
        mentions: what is compared.
        pairs: mentions and names, each pair once.
        nearness: (pairs,) how near their vectors are.
    """
    grams = lexicon.ngrams.grams(mentions.keys)
    bounds = np.searchsorted(pairs.mention, np.arange(len(mentions.keys) + 1))
    words = lexicon.words_of(mentions.keys)
    return Comparison(
        words=words,
        pairs=pairs,
        scores=nearness - SCOPE_PENALTY[lexicon.scopes[pairs.name]],
        ngrams=lexicon.ngrams.cosines(grams, bounds, pairs.name).astype(np.float64),
        overlap=_overlap(lexicon, translations, words, pairs),
    )


def by_concept(lexicon: Lexicon, compared: Comparison, chosen: IntVector) -> Compared:
    """Return the features of the concepts of some pairs.

    Args:
        lexicon: the names.
        compared: pairs of mentions and names.
        chosen: places of the pairs that count, ascending.
    """
    words, overlap = compared.words, compared.overlap
    mention, names = compared.pairs.mention[chosen], compared.pairs.name[chosen]
    concepts = lexicon.concept_of[names]
    likeness = compared.scores[chosen] + _NGRAM_SHARE * compared.ngrams[chosen]
    order = np.lexsort((names, -likeness, concepts, mention))
    same = np.diff(mention[order], prepend=-1) == 0
    same &= np.diff(concepts[order], prepend=-1) == 0
    starts = np.flatnonzero(~same)
    best = chosen[order[starts]]

    def highest(values: Floats) -> Floats:
        if not len(starts):
            return values[chosen]
        result: Floats = np.maximum.reduceat(values[chosen[order]], starts)
        return result

    one, name = compared.pairs.mention[best], compared.pairs.name[best]
    crossed = words.poles[::-1, one] & lexicon.words.poles[:, name]
    literal = highest(overlap.literal)
    columns = (
        highest(compared.scores),
        highest(compared.ngrams),
        overlap.differ[best],
        overlap.missing[best],
        (crossed != 0).any(axis=0),
        words.negated[one] != lexicon.words.negated[name],
        literal,
        highest(overlap.translated) - literal,
    )
    table = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    return Compared(one, lexicon.concept_of[name], name, best, table)


class _Entries(NamedTuple):
    """The words of mentions and their translations, ascending by ``mention * size + word``.

    Attributes:
        codes: which word of which mention it counts as.
        weights: 1.0 for the word itself.
        slots: which word of the mention it stands for, from 0.
    """

    codes: IntVector
    weights: Floats
    slots: IntVector


class _Hits(NamedTuple):
    """The words of the names of all pairs: pair, word, weight of the match (0 for none), slot."""

    pair: IntVector
    word: IntVector
    weight: Floats
    slot: IntVector


def _overlap(lexicon: Lexicon, translations: Translations, words: Words, pairs: Pairs) -> _Overlap:
    hits = _hits(lexicon, _entries(translations, words), pairs)
    count = len(pairs.name)
    rarity = lexicon.idf[hits.word]
    theirs = sums(hits.pair, rarity, count)
    literal = hits.weight == 1.0
    shared = sums(hits.pair, rarity * literal, count)
    per_word = _rarities(lexicon, words)
    mine = np.add.reduceat(np.append(per_word, 0.0), words.bounds[:-1])
    mine = np.where(np.diff(words.bounds) > 0, mine, 1.0)[pairs.mention]
    numbers = np.bincount(hits.pair, lexicon.is_number[hits.word], count)
    agreed = np.bincount(hits.pair, lexicon.is_number[hits.word] & literal, count)
    asked = words.numbers[pairs.mention]
    unequal = (numbers > agreed) | (asked > agreed)
    both = (numbers > 0) & (asked > 0)
    covered = _covered(words, per_word, pairs, hits)
    spoken = sums(hits.pair, rarity * hits.weight, count)
    return _Overlap(
        literal=np.minimum(shared / mine, _over(shared, theirs)),
        translated=np.minimum(covered / mine, _over(spoken, theirs)),
        differ=unequal & both,
        missing=unequal & ~both,
    )


def _over(part: Floats, whole: Floats) -> Floats:
    result: Floats = part / np.where(whole > 0.0, whole, 1.0)
    return result


def _rarities(lexicon: Lexicon, words: Words) -> Floats:
    """Return the rarity of each word of mentions; one that no name holds is as rare as any."""
    size = len(lexicon.idf)
    if not size:
        return np.ones(len(words.ids))
    known = words.ids < size
    rarities: Floats = np.where(
        known, lexicon.idf[np.where(known, words.ids, 0)], lexicon.idf.max()
    )
    return rarities


def _entries(translations: Translations, words: Words) -> _Entries:
    size = len(translations.bounds) - 1
    lengths = np.diff(words.bounds)
    mention = np.repeat(np.arange(len(lengths)), lengths)
    slot = np.arange(len(words.ids)) - np.repeat(words.bounds[:-1], lengths)
    known = words.ids < size
    mention, slot, ids = mention[known], slot[known], words.ids[known]
    starts, ends = translations.bounds[ids], translations.bounds[ids + 1]
    places = ranges(starts, ends)
    source = np.repeat(np.arange(len(ids)), ends - starts)
    code = np.concatenate(
        [mention * size + ids, mention[source] * size + translations.words[places]]
    )
    weight = np.concatenate([np.ones(len(ids)), translations.weights[places]])
    slots = np.concatenate([slot, slot[source]])
    order = np.lexsort((slots, -weight, code))
    fresh = np.diff(code[order], prepend=-1) != 0
    kept = order[fresh]
    return _Entries(code[kept], weight[kept], slots[kept])


def _hits(lexicon: Lexicon, entries: _Entries, pairs: Pairs) -> _Hits:
    starts, ends = lexicon.words.bounds[pairs.name], lexicon.words.bounds[pairs.name + 1]
    word = lexicon.words.ids[ranges(starts, ends)]
    pair = np.repeat(np.arange(len(pairs.name)), ends - starts)
    if not len(entries.codes):
        return _Hits(pair, word, np.zeros(len(word)), np.zeros(len(word), dtype=np.int64))
    wanted = pairs.mention[pair] * len(lexicon.idf) + word
    at = np.minimum(np.searchsorted(entries.codes, wanted), len(entries.codes) - 1)
    weight = np.where(entries.codes[at] == wanted, entries.weights[at], 0.0)
    return _Hits(pair, word, weight, entries.slots[at])


def _covered(words: Words, per_word: Floats, pairs: Pairs, hits: _Hits) -> Floats:
    """Return for each pair the rarity of the mention's words, each by its best match."""
    width = int(np.diff(words.bounds).max(initial=1))
    best = np.zeros(len(pairs.name) * width)
    some = np.flatnonzero(hits.weight > 0.0)
    np.maximum.at(best, hits.pair[some] * width + hits.slot[some], hits.weight[some])
    pair, slot = np.divmod(np.flatnonzero(best), width)
    rarity = per_word[words.bounds[pairs.mention[pair]] + slot]
    return sums(pair, rarity * best[best > 0.0], len(pairs.name))
