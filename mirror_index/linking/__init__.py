"""Linking of mentions to the concepts of a dictionary, its calibration and its evaluation."""

from mirror_index.linking.abbreviations import Definition, definitions
from mirror_index.linking.calibration import Calibration, calibrate, load_calibration
from mirror_index.linking.comparing import compare_linking
from mirror_index.linking.overrides import Override, OverrideAction
from mirror_index.linking.pipeline import link
from mirror_index.linking.scoring import GoldMention, LinkingReport, evaluate_linking, read_gold

__all__ = [
    "Calibration",
    "Definition",
    "GoldMention",
    "LinkingReport",
    "Override",
    "OverrideAction",
    "calibrate",
    "compare_linking",
    "definitions",
    "evaluate_linking",
    "link",
    "load_calibration",
    "read_gold",
]
