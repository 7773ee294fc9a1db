"""What docs/linking.md and docs/annotation.md list is what the code has."""

from __future__ import annotations

from pathlib import Path

from mirror_index.annotation.annotator import PROBABILITY, SHORT_PROBABILITY
from mirror_index.annotation.files import FORMATS
from mirror_index.annotation.plausible import SHORT
from mirror_index.linking.overrides import METHOD
from mirror_index.linking.variants import BRITISH, IRREGULAR
from mirror_index.linking.widening import VARIANT_DISCOUNT

FOLDER = Path(__file__).parents[2] / "docs"
LINKING = " ".join((FOLDER / "linking.md").read_text(encoding="utf-8").split())
ANNOTATION = (FOLDER / "annotation.md").read_text(encoding="utf-8")


def test_every_spelling_is_listed() -> None:
    for pairs in (BRITISH, IRREGULAR.items()):
        assert ", ".join(f"{left}/{right}" for left, right in pairs) + "." in LINKING


def test_the_numbers_are_right() -> None:
    assert f"{VARIANT_DISCOUNT} of the probability of an exact match" in LINKING
    assert list(PROBABILITY.values()) == [0.75, 0.75, 0.8, 0.5]
    assert "0.75, 0.75, 0.8 and 0.5 by method, 0.5 for short names" in " ".join(ANNOTATION.split())
    assert SHORT_PROBABILITY == 0.5
    assert SHORT == 3


def test_every_method_and_format_is_described() -> None:
    for name in (*PROBABILITY, METHOD, *FORMATS):
        assert f"| `{name}` |" in ANNOTATION
