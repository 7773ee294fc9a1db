"""Fitting the probabilities of linking anew when the dictionary has changed by enough."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mirror_index.collection import Collection, CommittedState
from mirror_index.collection.unencoded import load_unencoded
from mirror_index.linking.calibration import VERSION, calibrate
from mirror_index.names import NAME_KEY_VERSION
from mirror_index.progress import SILENT, Reporter

STATE_KEY = "linking.fitted"
SHARE = 0.05


def refit_when_due(collection: Collection, reporter: Reporter) -> None:
    """Calibrate when nothing was fitted yet, or more than `SHARE` of the records changed since.

    A fit reads every name; done for each small change, adding would cost what the collection holds.
    The calibration says which generation it was fitted on.
    """
    if load_unencoded(collection.encoder_folder) is not None:
        return  # given vectors without their encoder: no mention can be encoded
    states = collection.history()
    if not states[0].concepts or not _due(collection.load_state(STATE_KEY), states):
        return
    with reporter.stage("calibrate linking", 1, "fits") as advance:
        calibrate(collection)
        advance(1)
    fitted = {"generation": states[0].generation, **_versions()}
    collection.save_state(STATE_KEY, fitted)


def roll_back_collection(
    folder: Path, generation: int, *, reporter: Reporter = SILENT
) -> Collection:
    """Return to an earlier state of a collection; see `Collection.rollback`.

    Returns:
        The collection, open; its `last_change` says what was done.

    Raises:
        MirrorIndexError: there is no such state, or it can no longer be returned to.
    """
    collection = Collection.open(folder)
    collection.rollback(generation)
    refit_when_due(collection, reporter)
    return collection


def _due(fitted: dict[str, int] | None, states: Sequence[CommittedState]) -> bool:
    if fitted is None or any(fitted.get(name) != one for name, one in _versions().items()):
        return True
    since = [state for state in states if state.generation > fitted["generation"]]
    if any(state.verb == "build" for state in since):
        return True
    changed = sum(state.counts[kind] for state in since for kind in ("added", "updated", "deleted"))
    return changed > SHARE * states[0].records


def _versions() -> dict[str, int]:
    """Return the versions of what a calibration rests on."""
    return {"name_key_version": NAME_KEY_VERSION, "version": VERSION}
