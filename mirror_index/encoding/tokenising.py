"""Text to token ids, with the audit of what was cut and what was not known. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mirror_index.errors import EncoderError, UsageError
from mirror_index.records import several
from mirror_index.vectors import BoolVector, IntVector

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Tokenised:
    """Token ids of each text within the limit, and the audit columns of `vectors.Encoded`."""

    ids: list[list[int]]
    tokens: IntVector
    truncated: BoolVector
    unknown: BoolVector


class FastTokeniser:
    """A Rust tokenizer with a recipe's limit and prompt; shared by every way of running a model.

    Args:
        tokenizer: taken over: its padding and truncation are set here.
        max_length: tokens kept per text, special tokens included.
        prompt: put before every text.
        pad_id: id that fills the right of a batch.
        unknown_id: id that stands for text the vocabulary cannot spell; None if there is none.

    Raises:
        EncoderError: the limit leaves no room for a token of a text.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        max_length: int,
        prompt: str = "",
        pad_id: int = 0,
        unknown_id: int | None = None,
    ) -> None:
        self.pad_id = pad_id
        self._tokenizer = tokenizer
        self._prompt = prompt
        self._unknown_id = unknown_id
        self._special = tokenizer.num_special_tokens_to_add(False)
        if max_length <= self._special:
            raise EncoderError(
                f"the encoder reads no token of a text, besides {self._special} special ones",
                value=max_length,
                remedy="Mend model_max_length in its tokenizer_config.json, or give --max-length",
            )
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length)

    def __call__(self, texts: Sequence[str]) -> Tokenised:
        """Tokenise in input order.

        Raises:
            EncoderError: the tokenizer has no token for a text, not even one for the unknown.
            UsageError: one text instead of a list, or things that are no texts.
        """
        prompted = [self._prompt + text for text in several(texts)]
        try:
            encodings = self._tokenizer.encode_batch_fast(prompted)
        except Exception as error:  # the Rust library raises bare Exception
            _check_unicode(prompted)
            raise EncoderError(
                f"the tokenizer cannot read a text: {error}",
                remedy="Check that the tokenizer.json of the encoder is complete",
            ) from error
        ids = [encoding.ids for encoding in encodings]
        return Tokenised(
            ids=ids,
            tokens=np.fromiter(map(self._full_length, encodings), np.int64, len(ids)),
            truncated=np.fromiter((bool(e.overflowing) for e in encodings), np.bool_, len(ids)),
            unknown=np.fromiter((self._unknown_id in row for row in ids), np.bool_, len(ids)),
        )

    def _full_length(self, encoding: Any) -> int:  # noqa: ANN401 - the Rust class has no stub
        rest = sum(len(piece.ids) - self._special for piece in encoding.overflowing)
        return len(encoding.ids) + rest


def _check_unicode(texts: Sequence[str]) -> None:
    """Refuse texts that have no UTF-8 form, as those read with `surrogateescape` have none."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                "a text holds half of a surrogate pair",
                value=text,
                remedy='Replace it: text.encode("utf-8", "replace").decode()',
            ) from error
