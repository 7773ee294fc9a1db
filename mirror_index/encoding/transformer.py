"""Bulk encoding with torch: any transformers encoder, one text at a time in meaning, batched in fact."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from mirror_index.config import EncoderConfig, Precision
from mirror_index.encoding.batching import token_budget_batches
from mirror_index.encoding.fastpath import BulkModel, resolve_precision
from mirror_index.encoding.pooling import pool
from mirror_index.encoding.recipe import Recipe, write_recipe
from mirror_index.encoding.tokenising import FastTokeniser, Tokenised
from mirror_index.errors import EncoderError
from mirror_index.vectors import Encoded, FloatMatrix

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

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

    The float32 model is the reference; `config.precision` chooses the arithmetic of the bulk path, which
    keeps the cosine to the reference above 0.999 (bfloat16, float16) or 0.99 (int8).

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

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over float32 weights by name, tokenizer and recipe; pooler heads do not count."""
        return _fingerprint(self.model, self.tokenizer, self.recipe)

    @cached_property
    def _bulk(self) -> BulkModel:
        return BulkModel(self.model, self.precision)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return (len(texts), dim) float32 unit rows in the order of `texts`."""
        return self.encode_audited(texts).vectors

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like `encode`, with token counts, truncation and unknown-token flags."""
        parts = [
            self._encode_window(texts[start : start + WINDOW])
            for start in range(0, len(texts), WINDOW)
        ]
        if not parts:
            parts = [self._empty()]
        return Encoded(
            vectors=np.concatenate([part.vectors for part in parts]),
            tokens=np.concatenate([part.tokens for part in parts]),
            truncated=np.concatenate([part.truncated for part in parts]),
            unknown=np.concatenate([part.unknown for part in parts]),
        )

    def tokenise(self, texts: Sequence[str]) -> Tokenised:
        """Return token ids within the limit, with the audit columns."""
        return self._tokenise(texts)

    def _encode_window(self, texts: Sequence[str]) -> Encoded:
        tokenised = self._tokenise(texts)
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        batches = token_budget_batches(
            tokenised.ids, self.config.batch_tokens, self._tokenise.pad_id
        )
        with torch.inference_mode():
            for batch in batches:
                ids = torch.from_numpy(batch.ids).to(self.device)
                mask = torch.from_numpy(batch.mask).to(self.device)
                rows = pool(self._bulk(ids, mask), mask, self.recipe.pooling)
                vectors[batch.rows] = rows.cpu().numpy()
        if not np.isfinite(vectors).all():
            bad = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise EncoderError(
                "the encoder returned NaN or Inf",
                value=texts[bad],
                remedy="Try --precision float32; if it stays, the weights are damaged",
            )
        return Encoded(
            vectors=vectors,
            tokens=tokenised.tokens,
            truncated=tokenised.truncated,
            unknown=tokenised.unknown,
        )

    def _empty(self) -> Encoded:
        return Encoded(
            vectors=np.empty((0, self.dim), dtype=np.float32),
            tokens=np.empty(0, dtype=np.int64),
            truncated=np.empty(0, dtype=np.bool_),
            unknown=np.empty(0, dtype=np.bool_),
        )

    def save(self, folder: Path) -> None:
        """Write a folder that `load_encoder`, transformers and sentence-transformers open."""
        folder.mkdir(parents=True, exist_ok=True)
        with quiet_transformers():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
        write_recipe(folder, self.recipe, self.fingerprint, self.dim)

    def export_onnx(self, folder: Path) -> None:
        """Add the float32 ONNX copy by which queries are encoded without torch."""
        from mirror_index.encoding.export import export_onnx  # loads torch.onnx, seconds

        export_onnx(self, folder)


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


def _fingerprint(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, recipe: Recipe
) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        if name.startswith("pooler.") or not tensor.is_floating_point():
            continue
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().data)
    vocabulary = json.loads(tokenizer.backend_tokenizer.to_str())
    for setting in ("truncation", "padding"):
        vocabulary.pop(setting, None)
    digest.update(json.dumps(vocabulary, sort_keys=True).encode())
    digest.update(json.dumps(recipe.to_json(), sort_keys=True).encode())
    return digest.hexdigest()
