"""Calibration without labels: held-out synonyms of a dictionary teach what a similarity is worth.

A name of a concept that has others is taken as a mention. Searched without itself it has a right
answer, which comes first or does not; searched without all names of its concept it has none, so
that whatever comes first is wrong. The two kinds of example, weighted by an assumed share of
mentions that name nothing in the dictionary, fit the model of `linking/model.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mirror_index.errors import UsageError
from mirror_index.evaluation.linking import expected_calibration_error
from mirror_index.linking.dense import Nearest, nearest_concepts
from mirror_index.linking.model import (
    DEFAULT_MODEL,
    FEATURES,
    FloatTable,
    FloatVector,
    LinkModel,
    features,
    fit,
)
from mirror_index.names import NAME_KEY_VERSION, name_key
from mirror_index.records import Hit, normalise_text
from mirror_index.vectors import FloatMatrix

if TYPE_CHECKING:
    from mirror_index.collection import Collection, StoredName

STATE_KEY = "linking.calibration"
NIL_SHARE = 0.3
FEWEST = 50
_VERSION = 1
_BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What turns similarities into probabilities in one collection.

    Attributes:
        model: the logistic model.
        calibrated: False when these are the default coefficients.
        reason: why the defaults are used; None when calibrated.
        generation: state of the collection the examples were drawn from; None for defaults.
        fingerprint: encoder the collection was searched with.
        examples: names taken as mentions.
        nil_share: assumed share of mentions that name nothing in the dictionary.
        accuracy: share of the held-out names whose concept came first.
        ece: expected calibration error on the half of the names that the first fit did not see.
    """

    model: LinkModel
    calibrated: bool
    reason: str | None = None
    generation: int | None = None
    fingerprint: str | None = None
    examples: int = 0
    nil_share: float = NIL_SHARE
    accuracy: float | None = None
    ece: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, as stored in the collection."""
        return {
            "version": _VERSION,
            "name_key_version": NAME_KEY_VERSION,
            "features": list(FEATURES),
            "bias": self.model.bias,
            "weights": list(self.model.weights),
            "calibrated": self.calibrated,
            "reason": self.reason,
            "generation": self.generation,
            "fingerprint": self.fingerprint,
            "examples": self.examples,
            "nil_share": self.nil_share,
            "accuracy": self.accuracy,
            "ece": self.ece,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Examples:
    """Features, outcomes, and which name and which kind (NIL or not) each example is of."""

    table: FloatTable
    right: FloatVector
    name: np.ndarray[Any, np.dtype[np.int64]]
    nil: np.ndarray[Any, np.dtype[np.bool_]]

    def of(self, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> _Examples:
        return _Examples(
            table=self.table[chosen],
            right=self.right[chosen],
            name=self.name[chosen],
            nil=self.nil[chosen],
        )

    def weights(self, nil_share: float) -> FloatVector:
        """Weigh the kinds so that NIL examples make up `nil_share`, with a mean weight of 1."""
        nils = max(1, int(self.nil.sum()))
        others = max(1, int((~self.nil).sum()))
        share = np.where(self.nil, nil_share / nils, (1.0 - nil_share) / others)
        return np.asarray(share * len(self.nil), dtype=np.float64)


def calibrate(
    collection: Collection, *, sample: int = 1000, seed: int = 0, nil_share: float = NIL_SHARE
) -> Calibration:
    """Calibrate linking in a collection, and store the result in it for `link` to use.

    Nothing is encoded: the stored vectors of the names are the queries.

    Args:
        collection: a dictionary; only concepts with two names or more serve as examples.
        sample: names taken as mentions, drawn evenly.
        seed: of the draw.
        nil_share: share of future mentions expected to name nothing in the dictionary. It moves the
            probabilities as a whole, not their order.

    Returns:
        The calibration; the defaults (with a reason) when fewer than 50 names can serve.

    Raises:
        UsageError: a share outside [0, 1), or a sample below 1.
    """
    if not 0.0 <= nil_share < 1.0:
        raise UsageError("nil_share must be in [0, 1)", value=nil_share, remedy="Try 0.3")
    if sample < 1:
        raise UsageError("sample must be at least 1", value=sample, remedy="Try 1000")
    names = _sampled(_eligible(collection), sample, seed)
    fingerprint = collection.encoder.fingerprint
    if len(names) < FEWEST:
        calibration = Calibration(
            model=DEFAULT_MODEL,
            calibrated=False,
            reason=f"only {len(names)} names have another one beside them, {FEWEST} are needed",
            fingerprint=fingerprint,
        )
    else:
        examples = _examples(collection, names)
        calibration = _fitted(examples, nil_share, fingerprint, collection.info()["generation"])
    collection.save_state(STATE_KEY, calibration.to_json())
    return calibration


def load_calibration(collection: Collection) -> Calibration:
    """Return the calibration stored in a collection, or the defaults with the reason."""
    stored = collection.load_state(STATE_KEY)
    if stored is None:
        return _defaults("the collection was never calibrated")
    made_by = (stored["version"], stored["name_key_version"], stored["features"])
    if made_by != (_VERSION, NAME_KEY_VERSION, list(FEATURES)):
        return _defaults("the calibration was made by another version")
    if stored["fingerprint"] != collection.encoder.fingerprint:
        return _defaults("the calibration was made with another encoder")
    return Calibration(
        model=LinkModel(bias=stored["bias"], weights=tuple(stored["weights"])),
        **{
            name: stored[name]
            for name in (
                "calibrated",
                "reason",
                "generation",
                "fingerprint",
                "examples",
                "nil_share",
                "accuracy",
                "ece",
            )
        },
    )


def _defaults(reason: str) -> Calibration:
    return Calibration(model=DEFAULT_MODEL, calibrated=False, reason=reason)


def _eligible(collection: Collection) -> Iterator[StoredName]:
    """Yield the names of concepts that have two names or more which differ by more than case."""
    first: dict[str, str] = {}
    several: set[str] = set()
    for name in collection.iter_names():
        form = normalise_text(name.text).casefold()
        if first.setdefault(name.concept_id, form) != form:
            several.add(name.concept_id)
    for name in collection.iter_names():
        if name.concept_id in several and name.row is not None:
            yield name


def _sampled(names: Iterator[StoredName], sample: int, seed: int) -> list[StoredName]:
    """Draw evenly from a stream of unknown length (reservoir sampling, Vitter's algorithm R)."""
    rng = np.random.default_rng(seed)
    kept: list[StoredName] = []
    for seen, name in enumerate(names):
        if seen < sample:
            kept.append(name)
        elif (place := int(rng.integers(0, seen + 1))) < sample:
            kept[place] = name
    # Ordered by id as they came, two halves of the list would be different parts of the dictionary.
    return [kept[place] for place in rng.permutation(len(kept))]


def _examples(collection: Collection, names: Sequence[StoredName]) -> _Examples:
    table: list[tuple[float, float, float]] = []
    right: list[float] = []
    sources: list[int] = []
    nil: list[bool] = []
    key_of: Callable[[str], str] = lru_cache(maxsize=100_000)(name_key)
    for start in range(0, len(names), _BLOCK):
        block = names[start : start + _BLOCK]
        keys = [key_of(name.text) for name in block]
        vectors = collection.vectors_of([name.row for name in block if name.row is not None])
        for without_concept in (False, True):
            answers = _held_out(collection, vectors, block, keys, key_of, without_concept)
            for place, answer in enumerate(answers):
                if not answer.concepts:
                    continue
                top, *rest = answer.concepts
                rival = rest[0] if rest else None
                table.append(features(keys[place], key_of(top.matched_name), top, rival))
                right.append(float(top.concept_id == block[place].concept_id))
                sources.append(start + place)
                nil.append(without_concept)
    return _Examples(
        table=np.array(table, dtype=np.float64).reshape(-1, len(FEATURES)),
        right=np.array(right, dtype=np.float64),
        name=np.array(sources, dtype=np.int64),
        nil=np.array(nil, dtype=np.bool_),
    )


def _held_out(
    collection: Collection,
    vectors: FloatMatrix,
    names: Sequence[StoredName],
    keys: Sequence[str],
    key_of: Callable[[str], str],
    without_concept: bool,
) -> list[Nearest]:
    """Search without the names that share the mention's key, or without its concept as well."""

    def skip(query: int, hit: Hit) -> bool:
        if without_concept and hit.concept_id == names[query].concept_id:
            return True
        return key_of(hit.text) == keys[query]

    return nearest_concepts(collection, vectors, 2, skip)


def _fitted(
    examples: _Examples, nil_share: float, fingerprint: str, generation: int
) -> Calibration:
    seen = examples.name % 2 == 0
    first, second = examples.of(seen), examples.of(~seen)
    trial = fit(first.table, first.right, first.weights(nil_share))
    model = fit(examples.table, examples.right, examples.weights(nil_share))
    positives = examples.right[~examples.nil]
    return Calibration(
        model=model,
        calibrated=True,
        generation=generation,
        fingerprint=fingerprint,
        examples=len(np.unique(examples.name)),
        nil_share=nil_share,
        accuracy=float(positives.mean()) if positives.size else None,
        ece=expected_calibration_error(
            trial.probabilities(second.table), second.right, weights=second.weights(nil_share)
        ),
    )
