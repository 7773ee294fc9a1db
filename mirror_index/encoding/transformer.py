"""Bulk encoding with torch: one text at a time in meaning, batched in fact."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from mirror_index.config import EncoderConfig, Pooling, Precision
from mirror_index.encoding.batching import Batch, token_budget_batches
from mirror_index.encoding.fastpath import Forward, bulk_forward, resolve_precision
from mirror_index.encoding.fingerprint import Weight, fingerprint_of
from mirror_index.encoding.pooling import pad_to, pool
from mirror_index.encoding.recipe import Recipe, refuse_padded_mean, write_recipe
from mirror_index.encoding.tokenising import FastTokeniser, Tokenised
from mirror_index.encoding.workers import run_on_cores
from mirror_index.errors import EncoderError
from mirror_index.vectors import Encoded, FloatMatrix, FloatVector, IntVector

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

BATCH_TOKENS = (1024, 32_768)
"""Tokens in one forward pass on a CPU, where they should stay in the core's cache, and on a GPU."""

PADDED_MEAN_WARNING = (
    "padded-mean pooling averages padding, so vectors depend on max_length: use it only for the "
    "checkpoints released with Mirror-BERT, at the max_length they were made with"
)

WINDOW = 8192
"""Texts tokenised and length-sorted together; bounds the memory of `encode` beyond its result."""


def resolve_device(wish: str) -> torch.device:
    """Return the device for a wish of "auto", "cpu", "cuda" or "cuda:N".

    Raises:
        EncoderError: CUDA is asked for by name and is not there.
    """
    if wish == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if wish.startswith("cuda") and not torch.cuda.is_available():
        raise EncoderError(
            "no CUDA device is available", value=wish, remedy="Use --device auto or --device cpu"
        )
    return torch.device(wish)


class TransformerEncoder:
    """A transformers model with a pooling recipe; an `EncoderLike`.

    The float32 model is the reference; `config.precision` chooses the arithmetic of the bulk path,
    which keeps the cosine to the reference above 0.999.

    Args:
        model: an encoder body without a head, float32; taken over and put in eval mode.
        tokenizer: the model's tokenizer; must be backed by the Rust library.
        recipe: pooling, length and prompt.
        config: device, precision, batch size.

    Raises:
        EncoderError: the tokenizer has no Rust backend, or the device is not there.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        recipe: Recipe,
        config: EncoderConfig | None = None,
    ) -> None:
        self.config = config or EncoderConfig()
        self.device = resolve_device(self.config.device)
        self.model = model.to(self.device).eval()
        self.tokenizer = tokenizer
        self.recipe = recipe
        self._tokenise = _fast_tokeniser(tokenizer, recipe)
        if recipe.pooling is Pooling.PADDED_MEAN:
            warnings.warn(PADDED_MEAN_WARNING, stacklevel=2)
        if self.config.threads:
            torch.set_num_threads(self.config.threads)

    @property
    def dim(self) -> int:
        """Number of columns of a vector."""
        return int(self.model.config.hidden_size)

    @property
    def precision(self) -> Precision:
        """Arithmetic the bulk path runs in, after `auto` is resolved."""
        return resolve_precision(self.config.precision, self.device)

    @property
    def batch_tokens(self) -> int:
        """Tokens in one forward pass, padding included."""
        return self.config.batch_tokens or BATCH_TOKENS[self.device.type == "cuda"]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over float32 weights (without pooler), tokenizer and recipe."""
        vocabulary = json.loads(self.tokenizer.backend_tokenizer.to_str())
        return fingerprint_of(_weights(self.model), vocabulary, self.recipe)

    @cached_property
    def _forward(self) -> Forward:
        return bulk_forward(self.model, self.precision)

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

    def encode_reference(self, text: str) -> FloatVector:
        """Return the (dim,) vector of one text alone, in float32: what faster ways must equal."""
        ids = torch.tensor([self._tokenise([text]).ids[0]], device=self.device)
        ids, mask = self._as_pooled(ids, torch.ones_like(ids))
        with torch.inference_mode():
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
            vector: FloatVector = pool(hidden, mask, self.recipe.pooling)[0].cpu().numpy()
        return vector

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
            rows = pool(self._forward(ids, mask), mask, self.recipe.pooling)
        return _Rows(batch.rows, rows.cpu().numpy())

    def _as_pooled(
        self, ids: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the padding that a padded mean averages; nothing for any other pooling."""
        if self.recipe.pooling is not Pooling.PADDED_MEAN:
            return ids, mask
        return pad_to(ids, mask, self.recipe.max_length, self._tokenise.pad_id)

    def save(self, folder: Path) -> None:
        """Write a folder that `load_encoder`, transformers and sentence-transformers open."""
        refuse_padded_mean(self.recipe)
        folder.mkdir(parents=True, exist_ok=True)
        with quiet_transformers():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
        write_recipe(folder, self.recipe, self.fingerprint, self.dim)

    def export_onnx(self, folder: Path) -> None:
        """Add the float32 ONNX copy by which queries are encoded without torch."""
        from mirror_index.encoding.export import export_onnx  # loads torch.onnx, seconds

        export_onnx(self, folder)


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


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence load reports and progress bars of transformers while inside."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _fast_tokeniser(tokenizer: PreTrainedTokenizerBase, recipe: Recipe) -> FastTokeniser:
    from tokenizers import Tokenizer

    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise EncoderError(
            "this tokenizer has no Rust backend (tokenizer.json)",
            value=type(tokenizer).__name__,
            remedy="Convert it to a tokenizer.json first",
        )
    return FastTokeniser(
        Tokenizer.from_str(backend.to_str()),  # a copy: its padding and truncation get set
        max_length=recipe.max_length,
        prompt=recipe.prompt,
        pad_id=tokenizer.pad_token_id or 0,
        unknown_id=tokenizer.unk_token_id,
    )


def _weights(model: PreTrainedModel) -> Iterator[Weight]:
    for name, tensor in sorted(model.state_dict().items()):
        if tensor.is_floating_point():
            data = tensor.detach().float().cpu().contiguous().numpy().data
            yield Weight(name, tuple(tensor.shape), data)
