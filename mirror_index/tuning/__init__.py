"""Tuning an encoder to a collection without labels, and proving what that is worth."""

from __future__ import annotations

from mirror_index.tuning.card import Card, Measure
from mirror_index.tuning.run import TuneResult, tune

__all__ = ["Card", "Measure", "TuneResult", "tune"]
