"""Any transformers encoder: loaded, run and saved through that library."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mirror_index import durable
from mirror_index.config import EncoderConfig, Pooling, Precision
from mirror_index.encoding.arithmetic import resolve_precision
from mirror_index.encoding.bulk import BulkEncoder, resolve_device
from mirror_index.encoding.fastpath import Forward, bulk_forward
from mirror_index.encoding.fingerprint import Weight, fingerprint_of
from mirror_index.encoding.pooling import pool
from mirror_index.encoding.recipe import Recipe, refuse_padded_mean, write_recipe
from mirror_index.encoding.tokenising import FastTokeniser
from mirror_index.errors import EncoderError
from mirror_index.vectors import Encoded, FloatVector

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PADDED_MEAN_WARNING = (
    "padded-mean pooling averages padding, so vectors depend on max_length: use it only for the "
    "checkpoints released with Mirror-BERT, at the max_length they were made with"
)


class TransformerEncoder(BulkEncoder):
    """A transformers model with a pooling recipe; an `EncoderLike`.

    The float32 model is the reference; `config.precision` chooses the arithmetic of the bulk path,
    which keeps the cosine to the reference above 0.999, or 0.99 in int8.

    Args:
        model: an encoder body without a head, float32; taken over and put in eval mode.
        tokenizer: the model's tokenizer; must be backed by the Rust library.
        recipe: pooling, length and prompt.
        config: device, precision, batch size.

    Raises:
        EncoderError: the tokenizer has no Rust backend, or the device is not there.

    Pickled, one that `load_encoder` made is its source, config and fingerprint: it is loaded anew
    where it is unpickled, and refused where something else lies there. One made otherwise has to be
    saved first.

    Attributes:
        again: loads the encoder of a given fingerprint anew; None where it came from no source.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        recipe: Recipe,
        config: EncoderConfig | None = None,
    ) -> None:
        config = config or EncoderConfig()
        device = resolve_device(config.device)
        self.model = model.to(device).eval()
        self.tokenizer = tokenizer
        self.again: Callable[[str], TransformerEncoder] | None = None
        super().__init__(
            forward=self._run,
            tokenise=_fast_tokeniser(tokenizer, recipe),
            recipe=recipe,
            dim=int(model.config.hidden_size),
            device=device,
            config=config,
        )
        if recipe.pooling is Pooling.PADDED_MEAN:
            warnings.warn(PADDED_MEAN_WARNING, stacklevel=2)

    def __reduce__(self) -> tuple[Callable[[str], TransformerEncoder], tuple[str]]:
        if self.again is None:
            raise TypeError(
                "this encoder came from no folder and cannot be pickled: save it, and load it there"
            )
        return self.again, (self.fingerprint,)

    @property
    def precision(self) -> Precision:
        """Arithmetic the bulk path runs in, after `auto` is resolved."""
        return resolve_precision(self.config.precision, self.device)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over float32 weights (without pooler), tokenizer and recipe."""
        vocabulary = json.loads(self.tokenizer.backend_tokenizer.to_str())
        return fingerprint_of(_weights(self.model), vocabulary, self.recipe)

    @cached_property
    def _fast(self) -> Forward:
        frame = self._tokenise([""]).ids[0]
        return bulk_forward(self.model, self.precision, frame)

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like `encode`, with token counts, truncation and unknown-token flags."""
        _ = self._fast  # made here, once, and not by each of the threads
        return super().encode_audited(texts)

    def _run(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self._fast(ids, mask)

    def encode_reference(self, text: str) -> FloatVector:
        """Return the (dim,) vector of one text alone, in float32: what faster ways must equal."""
        ids = torch.tensor([self._tokenise([text]).ids[0]], device=self.device)
        ids, mask = self._as_pooled(ids, torch.ones_like(ids))
        with torch.inference_mode():
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
            vector: FloatVector = pool(hidden, mask, self.recipe.pooling)[0].cpu().numpy()
        return vector

    def save(self, folder: Path) -> None:
        """Write a folder that `load_encoder`, transformers and sentence-transformers open."""
        refuse_padded_mean(self.recipe)
        folder.mkdir(parents=True, exist_ok=True)
        with quiet_transformers(), durable.utf8_folder(folder) as place:
            self.model.save_pretrained(place)
            self.tokenizer.save_pretrained(place)
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


def _weights(model: PreTrainedModel) -> Iterator[Weight]:
    for name, tensor in sorted(model.state_dict().items()):
        if tensor.is_floating_point():
            data = tensor.detach().float().cpu().contiguous().numpy().data
            yield Weight(name, tuple(tensor.shape), data)
