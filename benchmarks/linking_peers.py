"""Other linkers by name alone, over the same names; each is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.harness import threads
from mirror_index.records import Record, Scope

DEPTH = 5
Ranking = list[str]
Linker = Callable[[Sequence[str]], list[Ranking]]


def _tf_idf(names: Sequence[Record]) -> Linker:
    """Character 3-grams as scispaCy's candidate generator uses them, searched exactly."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), dtype=np.float32)
    table = vectorizer.fit_transform([name.text for name in names]).T.tocsr()

    def link(mentions: Sequence[str]) -> list[Ranking]:
        scores = vectorizer.transform(mentions) @ table
        return [_best(names, row.toarray()[0]) for row in scores]

    return link


def _rapidfuzz(names: Sequence[Record]) -> Linker:
    from rapidfuzz import fuzz, process

    texts = [name.text.lower() for name in names]

    def link(mentions: Sequence[str]) -> list[Ranking]:
        lowered = [mention.lower() for mention in mentions]
        return [
            _best(names, row)
            for start in range(0, len(lowered), 64)
            for row in process.cdist(
                lowered[start : start + 64], texts, scorer=fuzz.token_sort_ratio, workers=threads()
            )
        ]

    return link


def _gilda(names: Sequence[Record]) -> Linker:
    from gilda.grounder import Grounder
    from gilda.process import normalize
    from gilda.term import Term

    terms = [
        Term(
            norm_text=normalize(name.text),
            text=name.text,
            db="D",
            id=name.concept_id,
            entry_name=name.text,
            status="name" if name.scope is Scope.LABEL else "synonym",
            source="d",
        )
        for name in names
    ]
    grounder = Grounder(terms)

    def link(mentions: Sequence[str]) -> list[Ranking]:
        return [[match.term.id for match in grounder.ground(mention)] for mention in mentions]

    return link


def _best(names: Sequence[Record], scores: np.ndarray) -> Ranking:
    """Return the concepts of the best names, the best first."""
    some = np.argpartition(-scores, min(100, len(scores) - 1))[:100]
    order = some[np.argsort(-scores[some], kind="stable")]
    return list(dict.fromkeys(str(names[place].concept_id) for place in order))[:DEPTH]


PEERS: dict[str, Callable[[Sequence[Record]], Linker]] = {
    "character 3-grams": _tf_idf,
    "rapidfuzz token_sort_ratio": _rapidfuzz,
    "Gilda": _gilda,
}
