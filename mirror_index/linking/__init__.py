"""Linking of mentions to the concepts of a dictionary, its calibration and its evaluation."""

from mirror_index.linking.calibration import Calibration, calibrate, load_calibration
from mirror_index.linking.pipeline import link
from mirror_index.linking.scoring import (
    GoldMention,
    LinkingReport,
    evaluate_linking,
    read_gold,
)
from mirror_index.linking.tables import LinkTableReport, link_rows, link_table

__all__ = [
    "Calibration",
    "GoldMention",
    "LinkTableReport",
    "LinkingReport",
    "calibrate",
    "evaluate_linking",
    "link",
    "link_rows",
    "link_table",
    "load_calibration",
    "read_gold",
]
