"""Bulk encoding with torch: one text at a time in meaning, batched in fact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch

from mirror_index.config import EncoderConfig, Pooling
from mirror_index.encoding.batching import Batch, token_budget_batches
from mirror_index.encoding.fastpath import Forward
from mirror_index.encoding.pooling import pad_to, pool
from mirror_index.encoding.recipe import Recipe
from mirror_index.encoding.tokenising import FastTokeniser, Tokenised
from mirror_index.encoding.workers import run_on_cores, use_threads
from mirror_index.errors import EncoderError
from mirror_index.vectors import Encoded, FloatMatrix, IntVector

BATCH_TOKENS = (1024, 32_768)
"""Tokens in one forward pass on a CPU, where they should stay in the core's cache, and on a GPU."""

WINDOW = 8192
"""Texts tokenised and length-sorted together; bounds the memory of `encode` beyond its result."""


def resolve_device(wish: str) -> torch.device:
    """Return the device for a wish of "auto", "cpu", "cuda" or "cuda:N".

    Raises:
        EncoderError: CUDA is asked for by name and is not there, or has no device of this number.
    """
    if wish == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if wish.startswith("cuda") and not torch.cuda.is_available():
        raise EncoderError(
            "no CUDA device is available", value=wish, remedy="Use --device auto or --device cpu"
        )
    device = torch.device(wish)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise EncoderError(
            "no CUDA device has this number",
            value=wish,
            remedy=f"There are {torch.cuda.device_count()}, counted from cuda:0",
        )
    return device


class BulkEncoder:
    """Tokenises, sorts by length, runs batches through a forward pass and pools them.

    Args:
        forward: ids and mask, (batch, length) int64, to the last hidden layer.
        tokenise: the tokeniser.
        recipe: pooling, length and prompt.
        dim: number of columns of a vector.
        device: where `forward` wants its input.
        config: batch size and threads.
    """

    def __init__(
        self,
        *,
        forward: Forward,
        tokenise: FastTokeniser,
        recipe: Recipe,
        dim: int,
        device: torch.device,
        config: EncoderConfig,
    ) -> None:
        self.config = config
        self.device = device
        self.recipe = recipe
        self._forward = forward
        self._tokenise = tokenise
        self._dim = dim
        if config.threads:
            use_threads(config.threads)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("an encoder cannot be pickled: load it in each process")

    @property
    def dim(self) -> int:
        """Number of columns of a vector."""
        return self._dim

    @property
    def batch_tokens(self) -> int:
        """Tokens in one forward pass, padding included."""
        return self.config.batch_tokens or BATCH_TOKENS[self.device.type == "cuda"]

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return (len(texts), dim) float32 unit rows in the order of `texts`."""
        return self.encode_audited(texts).vectors

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like `encode`, with token counts, truncation and unknown-token flags."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        audits: list[Tokenised] = []
        for start, window in self._windows(texts):
            audits.append(window)
            batches = token_budget_batches(window.ids, self.batch_tokens, self._tokenise.pad_id)
            for done in run_on_cores(self._encode_batch, batches, self.device):
                vectors[start + done.rows] = done.vectors
        _check_finite(vectors, texts)
        return Encoded(
            vectors=vectors,
            tokens=np.concatenate([audit.tokens for audit in audits] or [np.empty(0, np.int64)]),
            truncated=np.concatenate([a.truncated for a in audits] or [np.empty(0, np.bool_)]),
            unknown=np.concatenate([a.unknown for a in audits] or [np.empty(0, np.bool_)]),
        )

    def tokenise(self, texts: Sequence[str]) -> Tokenised:
        """Return token ids within the limit, with the audit columns."""
        return self._tokenise(texts)

    def _windows(self, texts: Sequence[str]) -> Iterator[_Window]:
        """Yield tokenised windows; the next one is tokenised while the caller works on this one."""
        starts = range(0, len(texts), WINDOW)
        with ThreadPoolExecutor(max_workers=1) as ahead:
            futures = [
                ahead.submit(self._tokenise, texts[start : start + WINDOW]) for start in starts[:1]
            ]
            for start in starts:
                window = futures.pop().result()
                if start + WINDOW < len(texts):
                    following = texts[start + WINDOW : start + 2 * WINDOW]
                    futures.append(ahead.submit(self._tokenise, following))
                yield _Window(start, window)

    def _encode_batch(self, batch: Batch) -> _Rows:
        with torch.inference_mode():
            ids = torch.from_numpy(batch.ids).to(self.device)
            mask = torch.from_numpy(batch.mask).to(self.device)
            ids, mask = self._as_pooled(ids, mask)
            try:
                hidden = self._forward(ids, mask)
            except IndexError as error:
                raise EncoderError(
                    "the tokenizer gives a token that the model has no embedding for",
                    value=int(ids.max()),
                    remedy="Take tokenizer and weights from one checkpoint",
                ) from error
            rows = pool(hidden, mask, self.recipe.pooling)
        return _Rows(batch.rows, rows.cpu().numpy())

    def _as_pooled(
        self, ids: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the padding that a padded mean averages; nothing for any other pooling."""
        if self.recipe.pooling is not Pooling.PADDED_MEAN:
            return ids, mask
        return pad_to(ids, mask, self.recipe.max_length, self._tokenise.pad_id)


class _Window(NamedTuple):
    start: int
    tokenised: Tokenised


class _Rows(NamedTuple):
    rows: IntVector
    vectors: FloatMatrix


def _check_finite(vectors: FloatMatrix, texts: Sequence[str]) -> None:
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise EncoderError(
            "the encoder returned NaN or Inf",
            value=texts[int(np.flatnonzero(~finite)[0])],
            remedy="Try --precision float32; if it stays, the weights are damaged",
        )
