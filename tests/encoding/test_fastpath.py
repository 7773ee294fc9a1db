"""The parts of the lean pass against torch's own."""

from __future__ import annotations

import pytest
import torch

from mirror_index.encoding.fastpath import SAFE_EXPONENT, _weighted

REACHES = (1.0, SAFE_EXPONENT - 1, SAFE_EXPONENT * 4, 1e4)


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("lengths", [None, (5, 2, 1)])
def test_attention_equals_the_softmax_of_torch(
    reach: float, lengths: tuple[int, ...] | None
) -> None:
    generator = torch.Generator().manual_seed(4)
    scores = torch.rand(6, 5, 5, generator=generator) * 2 * reach - reach
    scores[0, 0] = -reach  # a row that is low throughout still sums to one
    value = torch.randn(6, 5, 8, generator=generator)
    expected_of = scores.bfloat16().float()
    real = None
    if lengths is not None:  # three texts of two heads each
        real = (torch.arange(5) < torch.tensor(lengths)[:, None]).bfloat16()
        expected_of[real.repeat_interleave(2, dim=0)[:, None, :].expand(6, 5, 5) == 0] = -torch.inf
    expected = torch.softmax(expected_of, dim=-1) @ value
    found = _weighted(scores.bfloat16(), value.bfloat16(), real).float()
    assert torch.isfinite(found).all()
    assert torch.allclose(found, expected, atol=0.03, rtol=0.03)


@pytest.mark.parametrize("score", [0.0, SAFE_EXPONENT * 2])
def test_padding_weighs_nothing(score: float) -> None:
    scores = torch.full((1, 2, 3), score, dtype=torch.bfloat16)
    value = torch.tensor([[[1.0], [3.0], [1000.0]]], dtype=torch.bfloat16)
    real = torch.tensor([[1.0, 1.0, 0.0]], dtype=torch.bfloat16)
    assert _weighted(scores, value, real).flatten().tolist() == [2.0, 2.0]
