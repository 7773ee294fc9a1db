"""A deterministic encoder for tests that are not about encoders: hashed trigrams, no torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mirror_index.vectors import Encoded, FloatMatrix


class HashEncoder:
    """Unit vectors from signed, hashed character n-grams (1 to 3): similar spellings are near.

    `salt` changes the "weights": another salt is another encoder with another fingerprint.
    """

    def __init__(self, dim: int = 64, salt: str = "", max_length: int = 64) -> None:
        self.dim = dim
        self.salt = salt
        self.max_length = max_length
        self.encoded = 0

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(f"hash-encoder {self.dim} {self.salt}".encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        return self.encode_audited(texts).vectors

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        self.encoded += len(texts)
        rows = np.zeros((len(texts), self.dim), dtype=np.float64)
        tokens = np.zeros(len(texts), dtype=np.int64)
        for row, text in enumerate(texts):
            words = text.lower().split()
            tokens[row] = len(words) + 2
            kept = " ".join(words[: self.max_length - 2])
            padded = f" {kept} "
            for n in (1, 2, 3):
                for start in range(len(padded) - n + 1):
                    gram = f"{self.salt}{n}{padded[start : start + n]}"
                    digest = hashlib.blake2b(gram.encode(), digest_size=8).digest()
                    value = int.from_bytes(digest, "little")
                    rows[row, value % self.dim] += 1.0 if value >> 63 else -1.0
            if not rows[row].any():
                rows[row, 0] = 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Encoded(
            vectors=np.ascontiguousarray(rows, dtype=np.float32),
            tokens=tokens,
            truncated=tokens > self.max_length,
            unknown=np.zeros(len(texts), dtype=np.bool_),
        )

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        recipe = {"kind": "hash", "dim": self.dim, "salt": self.salt, "max_length": self.max_length}
        (folder / "hash.json").write_text(json.dumps(recipe))

    @classmethod
    def load(cls, folder: Path) -> HashEncoder:
        recipe = json.loads((folder / "hash.json").read_text())
        return cls(dim=recipe["dim"], salt=recipe["salt"], max_length=recipe["max_length"])
