"""An encoder takes a list of texts, and says so when it is given something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirror_index.encoding import load_encoder
from mirror_index.encoding.onnx import OnnxEncoder
from mirror_index.errors import UsageError

Tiny = Callable[[str], Path]


@pytest.fixture(scope="module", params=["torch", "onnx"])
def encoder(
    request: pytest.FixtureRequest, tiny: Tiny, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    loaded = load_encoder(tiny("bert"))
    if request.param == "torch":
        return loaded
    folder = tmp_path_factory.mktemp("saved") / "encoder"
    loaded.save(folder)
    loaded.export_onnx(folder)
    return OnnxEncoder.open(folder)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ("one text", "one text where several are wanted"),
        ([None], "this is not a text"),
        (["a", 5], "this is not a text: 5"),
        ([b"bytes"], "this is not a text"),
        (["good", "half \ud800"], "half of a surrogate pair"),
    ],
)
def test_other_than_texts_is_told(encoder: Any, texts: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        encoder.encode(texts)


def test_texts_may_be_odd_and_lie_in_any_list(encoder: Any) -> None:
    texts = ["", "\0", "e\u0301", "😀" * 300, "ｆｕｌｌ", "a\nb", "مرحبا"]
    vectors = encoder.encode(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    for other in (tuple(texts), np.array(texts, dtype=object)):
        np.testing.assert_allclose(encoder.encode(other), vectors, atol=1e-6)
