"""Encoders recognised by their files: run, and saved, without torch and transformers.

Loading torch and transformers takes seconds, which is most of the time of a small build. An
encoder needs neither when its files alone say which one it is: the default encoder, whose
fingerprint is a constant, and every folder saved by this library, which states its own. All others
are loaded by transformers, because only that knows what it makes of their files.
"""

from __future__ import annotations

import json
import mmap
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

from mirror_index.config import EncoderConfig, Precision
from mirror_index.encoding.default import default_encoder_folder, is_default
from mirror_index.encoding.fingerprint import Weight, fingerprint_of, stored_weights
from mirror_index.encoding.onnx import ONNX_FILE, OnnxEncoder, note_copy, open_session
from mirror_index.encoding.recipe import (
    RECIPE_FILE,
    WEIGHTS_FILE,
    Recipe,
    read_json,
    read_recipe,
    write_recipe,
)
from mirror_index.encoding.shapes import is_bert_shaped, positions

DEFAULT_FINGERPRINT = "8cab40d5414a2d4378ef9acb5907a167c8911d532a1efb64a4999e8b056ec503"
"""Fingerprint of the default encoder as transformers loads it."""

_TOKENISER = "tokenizer.json"
_FILES = ("config.json", _TOKENISER, "tokenizer_config.json", WEIGHTS_FILE)


class KnownEncoder(OnnxEncoder):
    """A model folder of the shape of BERT, run through a graph that is nowhere but in memory."""

    def __init__(
        self,
        folder: Path,
        config: SimpleNamespace,
        recipe: Recipe,
        fingerprint: str,
        threads: int | None,
    ) -> None:
        from mirror_index.encoding.bertgraph import bert_graph  # loads onnx

        self._graph = bert_graph(config, recipe.pooling, folder / WEIGHTS_FILE)
        super().__init__(
            folder,
            recipe=recipe,
            fingerprint=fingerprint,
            dim=int(config.hidden_size),
            session=open_session(folder / ONNX_FILE, self._graph),
            threads=threads,
        )

    def save(self, folder: Path) -> None:
        """Write a folder that `load_encoder`, transformers and sentence-transformers open."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            shutil.copyfile(self.folder / name, folder / name)
        write_recipe(folder, self.recipe, self.fingerprint, self.dim)
        (folder / ONNX_FILE).write_bytes(self._graph)
        note_copy(folder)


def open_known(source: str | Path | None, config: EncoderConfig) -> KnownEncoder | None:
    """Open an encoder without torch, or return None where only transformers can tell what it is.

    None, too, when `config` asks for what this way cannot do: another recipe, a GPU or another
    arithmetic than float32 on a CPU.

    Raises:
        EncoderError: a damaged folder of ours, or no sound package of the default encoder.
    """
    if not keeps_recipe(config) or config.device.startswith("cuda"):
        return None
    if config.precision not in {Precision.AUTO, Precision.FLOAT32}:
        return None
    folder, stated = _stated(source)
    fields = None if stated is None else bert_fields(folder)
    if stated is None or fields is None:
        return None
    recipe = read_recipe(folder, positions(fields))
    if not has_fingerprint(folder, recipe, stated):
        return None
    try:
        return KnownEncoder(folder, fields, recipe, stated, config.threads)
    except (AttributeError, KeyError):
        return None  # a config or weights that only transformers can complete, or refuse


def _stated(source: str | Path | None) -> tuple[Path, str | None]:
    """Return the folder of an encoder and the fingerprint it should have, if anything says so."""
    if is_default(source):
        return default_encoder_folder(), DEFAULT_FINGERPRINT
    folder = Path(str(source))
    return folder, read_json(folder / RECIPE_FILE).get("fingerprint")


def keeps_recipe(config: EncoderConfig) -> bool:
    """Return whether a config leaves pooling, length and prompt as the encoder has them."""
    return (config.pooling, config.max_length, config.prompt) == (None, None, None)


def bert_fields(folder: Path) -> SimpleNamespace | None:
    """Return the config of a complete folder of BERT's shape, None for any other.

    Raises:
        EncoderError: a config that is not a JSON object.
    """
    if not all((folder / name).is_file() for name in _FILES):
        return None
    fields = SimpleNamespace(**read_json(folder / "config.json"))
    try:
        return fields if is_bert_shaped(fields) else None
    except AttributeError:
        return None  # a config that leaves fields to their defaults


def has_fingerprint(folder: Path, recipe: Recipe, stated: str) -> bool:
    """Return whether the float32 weights, the tokenizer and a recipe have this fingerprint."""
    try:
        vocabulary = json.loads((folder / _TOKENISER).read_text(encoding="utf-8"))
        with (folder / WEIGHTS_FILE).open("rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                weights = _weights(folder / WEIGHTS_FILE, data)
                return fingerprint_of(weights, vocabulary, recipe) == stated
    except (ValueError, KeyError):  # files that cannot be read, or weights stored otherwise
        return False


def _weights(path: Path, data: mmap.mmap) -> Iterator[Weight]:
    for name, stored in sorted(stored_weights(path).items()):
        if stored.dtype[0] in "IUB" and stored.dtype != "BF16":
            continue  # positions of old checkpoints
        if stored.dtype != "F32":
            raise ValueError(f"{name} is stored as {stored.dtype}")
        yield Weight(name, stored.shape, data[stored.start : stored.stop])
