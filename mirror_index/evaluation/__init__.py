"""What an encoder, a collection or a linker is worth: similarity, retrieval and linking metrics."""

from mirror_index.evaluation.beir import load_beir
from mirror_index.evaluation.comparing import (
    Comparison,
    MeasureComparison,
    compare_items,
    compare_lexical,
    compare_retrieval,
    compare_sts,
)
from mirror_index.evaluation.intervals import (
    Interval,
    PairedDifference,
    bootstrap_mean,
    bootstrap_statistic,
    paired_difference,
)
from mirror_index.evaluation.linking import (
    LinkingScores,
    Prediction,
    canonical_id,
    expected_calibration_error,
    parse_gold,
    score_linking,
)
from mirror_index.evaluation.retrieval import (
    RetrievalReport,
    evaluate_retrieval,
    rank_dense,
    score_run,
    write_trec_run,
)
from mirror_index.evaluation.sts import StsReport, evaluate_lexical, evaluate_sts, pearson, spearman

__all__ = [
    "Comparison",
    "Interval",
    "LinkingScores",
    "MeasureComparison",
    "PairedDifference",
    "Prediction",
    "RetrievalReport",
    "StsReport",
    "bootstrap_mean",
    "bootstrap_statistic",
    "canonical_id",
    "compare_items",
    "compare_lexical",
    "compare_retrieval",
    "compare_sts",
    "evaluate_lexical",
    "evaluate_retrieval",
    "evaluate_sts",
    "expected_calibration_error",
    "load_beir",
    "paired_difference",
    "parse_gold",
    "pearson",
    "rank_dense",
    "score_linking",
    "score_run",
    "spearman",
    "write_trec_run",
]
