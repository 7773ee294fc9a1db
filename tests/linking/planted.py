"""Names whose vectors hide their concept: most of each vector says nothing about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mirror_index.records import Concept
from mirror_index.vectors import Encoded
from tests.dictionaries import concept
from tests.fakes import HashEncoder

DIM = 48
TOLD = 8
"""Directions that tell concepts apart."""


class PlantedEncoder(HashEncoder):
    """Encodes "c7 b" by its first word in `TOLD` directions, and as louder noise beside."""

    def __init__(self, noise: float = 3.0) -> None:
        super().__init__(dim=DIM, salt=f"planted {noise}")
        self.noise = noise
        self.axes = np.linalg.qr(np.random.default_rng(1).normal(size=(DIM, DIM)))[0]

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        told = super().encode_audited(texts)
        rows = np.zeros((len(texts), DIM))
        for row, text in enumerate(texts):
            first = [ord(character) for character in text.split()[0]]
            rows[row, :TOLD] = np.random.default_rng(first).normal(size=TOLD)
            seed = [ord(character) for character in text]
            noise = np.random.default_rng(seed).normal(size=DIM - TOLD)
            rows[row, TOLD:] = self.noise * noise * np.sqrt(TOLD / (DIM - TOLD))
        rows = rows @ self.axes
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Encoded(
            vectors=np.ascontiguousarray(rows, dtype=np.float32),
            tokens=told.tokens,
            truncated=told.truncated,
            unknown=told.unknown,
        )


def dictionary(concepts: int) -> list[Concept]:
    """Concepts with three names each."""
    return [concept(f"C:{n:04}", f"c{n} a", f"c{n} b", f"c{n} c") for n in range(concepts)]
