"""The parts of the lean pass against torch's own."""

from __future__ import annotations

import pytest
import torch

from mirror_index.encoding.fastpath import SAFE_EXPONENT, _weighted


@pytest.mark.parametrize("reach", [1.0, SAFE_EXPONENT - 1, SAFE_EXPONENT * 4, 1e4])
def test_attention_equals_the_softmax_of_torch(reach: float) -> None:
    generator = torch.Generator().manual_seed(4)
    scores = torch.rand(6, 5, 5, generator=generator) * 2 * reach - reach
    scores[0, 0] = -reach  # a row that is low throughout still sums to one
    value = torch.randn(6, 5, 8, generator=generator)
    expected = torch.softmax(scores.bfloat16().float(), dim=-1) @ value
    found = _weighted(scores.bfloat16(), value.bfloat16()).float()
    assert torch.isfinite(found).all()
    assert torch.allclose(found, expected, atol=0.03, rtol=0.03)


def test_a_blocked_position_weighs_nothing() -> None:
    scores = torch.zeros(1, 2, 3, dtype=torch.bfloat16)
    scores[..., 2] = torch.finfo(torch.bfloat16).min
    value = torch.tensor([[[1.0], [3.0], [1000.0]]], dtype=torch.bfloat16)
    assert _weighted(scores, value).flatten().tolist() == [2.0, 2.0]
