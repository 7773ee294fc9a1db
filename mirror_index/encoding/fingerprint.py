"""The fingerprint of an encoder: SHA-256 over float32 weights, tokenizer and recipe. No torch here.

The same digest comes out of a loaded model and of its files, so that an encoder whose fingerprint
is known can be recognised without loading it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from mirror_index.encoding.recipe import Recipe


class Weight(NamedTuple):
    """A float32 weight: its name, its shape and its bytes, little-endian."""

    name: str
    shape: tuple[int, ...]
    data: Any


class StoredWeight(NamedTuple):
    """Where a weight lies in a safetensors file, in bytes from its start."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


def fingerprint_of(weights: Iterable[Weight], vocabulary: dict[str, Any], recipe: Recipe) -> str:
    """Return the digest in hex.

    Args:
        weights: all of them, in the order of their names; a pooler, which no vector depends on, is
            left out.
        vocabulary: ``tokenizer.json``; truncation and padding, which are set anew for each use, do
            not count.
        recipe: pooling, length and prompt.
    """
    digest = hashlib.sha256()
    for weight in weights:
        if not weight.name.startswith("pooler."):
            digest.update(f"{weight.name} {weight.shape}".encode())
            digest.update(weight.data)
    counted = {k: v for k, v in vocabulary.items() if k not in {"truncation", "padding"}}
    digest.update(json.dumps(counted, sort_keys=True).encode())
    digest.update(json.dumps(recipe.to_json(), sort_keys=True).encode())
    return digest.hexdigest()


def stored_weights(path: Path) -> dict[str, StoredWeight]:
    """Return what the header of a safetensors file says of each tensor.

    Raises:
        ValueError: the file has no such header.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > path.stat().st_size:
            raise ValueError("not a safetensors file")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    return {
        name: StoredWeight(
            entry["dtype"], tuple(entry["shape"]), *(8 + size + at for at in entry["data_offsets"])
        )
        for name, entry in header.items()
    }
