"""Learning to rank and calibration without labels: held-out synonyms of a dictionary teach both.

A name of a concept that has others is taken as a mention. Searched without itself it has a right
answer, which ranking learns to put first; searched without all names of its concept it has none,
so that whatever is found is wrong. The two kinds of example, weighted by an assumed share of
mentions that name nothing in the dictionary, fit the two models of `linking/model.py`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mirror_index.errors import UsageError
from mirror_index.evaluation.linking import (
    CurvePoint,
    expected_calibration_error,
    risk_coverage,
)
from mirror_index.linking.examples import FEWEST, Examples, eligible, examples_of
from mirror_index.linking.features import FEATURES
from mirror_index.linking.lexicon import Lexicon
from mirror_index.linking.lexiconfile import keep_lexicon, lexicon_of
from mirror_index.linking.model import CONFIDENCE, DEFAULT_MODEL, LinkModel
from mirror_index.linking.projection import Projection
from mirror_index.linking.space import StaleLexiconError
from mirror_index.linking.translations import Translations
from mirror_index.names import NAME_KEY_VERSION

if TYPE_CHECKING:
    from mirror_index.collection import Collection

STATE_KEY = "linking.calibration"
NIL_SHARE = 0.2
SAMPLE = 2000
FEWEST_LINKED = 30
"""Held-out names above a threshold from which on its precision is more than chance."""

WORTH = 0.1
"""Share of the loss that word pairs must save to be used; see docs/linking.md."""

NETWORK_WORTH = 0.02
"""The same of the network beside the linear ranking."""

FEWEST_FOR_NETWORK = 200
"""Held-out names in either half whose concept was among the candidates."""

VERSION = 4
"""Of what is stored; a calibration of another one is not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What turns features into probabilities in one collection.

    Attributes:
        model: the weights.
        calibrated: False when these are the default coefficients.
        reason: why the defaults are used; None when calibrated.
        generation: state of the collection the examples were drawn from; None for defaults.
        fingerprint: encoder the collection was searched with.
        examples: names taken as mentions.
        nil_share: assumed share of mentions that name nothing in the dictionary.
        accuracy: share of the held-out names whose concept came first.
        ece: expected calibration error on the half of the names that the first fit did not see.
        curve: precision and coverage by threshold, on the same half.
        word_pairs: words that translate one another, as triples; none where they gain too little.
        projection: the map into the space that names are searched in; None where it gains nothing.
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
    curve: tuple[CurvePoint, ...] = ()
    word_pairs: tuple[Any, ...] = ()
    projection: Projection | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, as stored in the collection."""
        values = {name: getattr(self, name) for name in _PLAIN}
        return {
            "version": VERSION,
            "name_key_version": NAME_KEY_VERSION,
            "model": self.model.to_json(),
            "curve": [asdict(point) for point in self.curve],
            "word_pairs": list(self.word_pairs),
            "projection": None if self.projection is None else self.projection.to_json(),
            **values,
        }

    def summary(self) -> dict[str, Any]:
        """Return the few facts that a person wants to see."""
        facts = {name: getattr(self, name) for name in _PLAIN if name != "fingerprint"}
        return {
            **facts,
            "word_pairs": len(self.word_pairs),
            "projection": None if self.projection is None else self.projection.matrix.shape[1],
            "network": self.model.network is not None,
        }

    def translations(self, lexicon: Lexicon) -> Translations:
        """Return the word pairs in the numbers of a lexicon."""
        return Translations.from_json(lexicon, list(self.word_pairs))

    def threshold_for(self, precision: float) -> float:
        """Return the lowest `min_probability` at which this share of the linked is right.

        It is read from the curve, i.e. from held-out synonyms that the model had not seen, in a
        mixture with `nil_share` mentions of nothing.

        Raises:
            UsageError: without a calibration, or when no threshold reaches it.
        """
        if not self.calibrated:
            raise UsageError(
                f"a precision needs a calibration: {self.reason}",
                value=precision,
                remedy="Run `mirror-index calibrate COLLECTION`, or give --min-probability",
            )
        curve = [one for one in self.curve if one.coverage * self.examples >= FEWEST_LINKED]
        reached = [point for point in curve if point.precision >= precision]
        if not reached:
            best = max(curve, key=lambda point: point.precision)
            raise UsageError(
                "no threshold reaches this precision on held-out synonyms",
                value=precision,
                remedy=f"At most {best.precision:.3f} is reached, at probability "
                f"{best.threshold:.2f}; wish for less",
            )
        return min(point.threshold for point in reached)


_PLAIN = (
    "calibrated",
    "reason",
    "generation",
    "fingerprint",
    "examples",
    "nil_share",
    "accuracy",
    "ece",
)


def calibrate(
    collection: Collection, *, sample: int = SAMPLE, seed: int = 0, nil_share: float = NIL_SHARE
) -> Calibration:
    """Learn to rank and calibrate in a collection, and store the result in it for `link` to use.

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
        UsageError: a share outside [0, 1), a sample below 1, or a negative seed.
    """
    if not 0.0 <= nil_share < 1.0:
        raise UsageError("nil_share must be in [0, 1)", value=nil_share, remedy="Try 0.3")
    if sample < 1:
        raise UsageError("sample must be at least 1", value=sample, remedy="Try 2000")
    if seed < 0:
        raise UsageError("seed must not be negative", value=seed, remedy="Try 0")
    calibration = _current(collection, sample, seed, nil_share)
    collection.save_state(STATE_KEY, calibration.to_json())
    keep_lexicon(collection, lexicon_of(collection))
    return calibration


def _current(collection: Collection, sample: int, seed: int, nil_share: float) -> Calibration:
    """Calibrate in the newest state, again when a writer moves it on meanwhile."""
    lexicon = lexicon_of(collection)
    while True:
        try:
            return _calibrated(collection, lexicon, sample, seed, nil_share)
        except StaleLexiconError as stale:
            lexicon = lexicon_of(collection, stale.generation)


def _calibrated(
    collection: Collection, lexicon: Lexicon, sample: int, seed: int, nil_share: float
) -> Calibration:
    fingerprint = collection.encoder.fingerprint
    rng = np.random.default_rng(seed)
    names = rng.permutation(eligible(lexicon))[:sample]
    if len(names) < FEWEST:
        return Calibration(
            model=DEFAULT_MODEL,
            calibrated=False,
            reason=f"only {len(names)} names have another one beside them, {FEWEST} are needed",
            fingerprint=fingerprint,
        )
    examples = examples_of(collection, lexicon, names, rng)
    word_pairs = examples.gain_of_word_pairs() >= WORTH
    if not word_pairs:
        examples = examples.without_word_pairs()
    trial = _trial(examples, nil_share)
    judged = examples.of(examples.second).judged(trial, nil_share)
    learnt = Translations.learn(lexicon, examples.seen).to_json(lexicon) if word_pairs else []
    return Calibration(
        model=examples.fitted(nil_share, network=trial.network is not None),
        calibrated=True,
        generation=lexicon.generation,
        fingerprint=fingerprint,
        examples=len(names),
        nil_share=nil_share,
        accuracy=judged.accuracy,
        ece=expected_calibration_error(judged.claimed, judged.right, weights=judged.weights),
        curve=risk_coverage(judged.claimed, judged.right, weights=judged.weights),
        word_pairs=tuple(learnt),
        projection=examples.projection,
    )


def _trial(examples: Examples, nil_share: float) -> LinkModel:
    """Return the model of the first half, with a network where that serves the second."""
    first, second = examples.of(~examples.second), examples.of(examples.second)
    linear = first.fitted(nil_share, network=False)
    if min(len(first.choices().right), len(second.choices().right)) < FEWEST_FOR_NETWORK:
        return linear
    both = first.fitted(nil_share, network=True, ranking=linear.ranking)
    return both if second.loss(both) <= (1.0 - NETWORK_WORTH) * second.loss(linear) else linear


def load_calibration(collection: Collection) -> Calibration:
    """Return the calibration stored in a collection, or the defaults with the reason."""
    stored = collection.load_state(STATE_KEY)
    if stored is None:
        return _defaults("the collection was never calibrated")
    if (stored["version"], stored["name_key_version"]) != (VERSION, NAME_KEY_VERSION):
        return _defaults("the calibration was made by another version")
    made_for = (stored["model"]["features"], stored["model"]["confidence_features"])
    if made_for != (list(FEATURES), list(CONFIDENCE)):
        return _defaults("the calibration was made by another version")
    if stored["fingerprint"] != collection.encoder.fingerprint:
        return _defaults("the calibration was made with another encoder")
    return Calibration(
        model=LinkModel.from_json(stored["model"]),
        curve=tuple(CurvePoint(**point) for point in stored["curve"]),
        word_pairs=tuple(stored["word_pairs"]),
        projection=Projection.from_json(stored["projection"]),
        **{name: stored[name] for name in _PLAIN},
    )


def _defaults(reason: str) -> Calibration:
    return Calibration(model=DEFAULT_MODEL, calibrated=False, reason=reason)
