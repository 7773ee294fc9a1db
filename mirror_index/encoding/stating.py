"""One kind of error for whatever an encoder's folder sets off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mirror_index.errors import EncoderError, MirrorIndexError


@contextmanager
def stated(source: str | Path | None) -> Iterator[None]:
    """Turn whatever odd files of an encoder's folder set off into one error that names the folder.

    Transformers and tokenizers raise anything over a setting of another type: TypeError,
    AttributeError, OverflowError, ZeroDivisionError and classes of their own.
    """
    try:
        yield
    except (MirrorIndexError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise EncoderError(
            f"the encoder cannot be loaded: {reason}",
            value=str(source),
            remedy="Check the settings in its .json files, or take the folder from its origin",
        ) from error
