"""Encoding queries with ONNX Runtime and the tokenizers library: no torch, ready at once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mirror_index import durable
from mirror_index.encoding.batching import Batch, token_budget_batches
from mirror_index.encoding.recipe import RECIPE_FILE, Recipe, read_json
from mirror_index.encoding.tokenising import FastTokeniser, Tokenised
from mirror_index.errors import EncoderError
from mirror_index.vectors import Encoded, FloatMatrix

if TYPE_CHECKING:
    from mirror_index.encoding.transformer import TransformerEncoder

ONNX_FILE = "model.onnx"
_NO_TELEMETRY = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
"""Read by ONNX Runtime once, when it is imported. Without the one its release knows, it keeps an
identifier of the machine and a queue of reports under the user's home, and sends them."""
_WEIGHTS_BESIDE = "session.model_external_initializers_file_folder_path"
BATCH_TOKENS = (256, 1024)
"""Tokens of a forward pass: fewer are not worth a core, more leave its caches."""


def load_query_encoder(
    folder: Path, threads: int | None = None
) -> OnnxEncoder | TransformerEncoder:
    """Load a saved encoder for queries: its ONNX copy, or the model itself where there is none.

    Raises:
        EncoderError: the folder is not one that was saved by this library, or is damaged.
    """
    if not folder.is_dir():  # a missing folder must never be looked up as the name of a hub model
        raise EncoderError("no such encoder folder", value=str(folder))
    if (folder / ONNX_FILE).is_file():
        return OnnxEncoder.open(folder, threads)
    from mirror_index.encoding.loading import load_encoder  # torch: only without an ONNX copy

    return load_encoder(folder)


class OnnxEncoder:
    """The float32 copy of an encoder; an `EncoderLike`.

    Args:
        folder: where the tokenizer and the weights lie.
        recipe: pooling, length and prompt.
        fingerprint: of the encoder this is a copy of.
        dim: number of columns of a vector.
        session: the open graph, see `open_session`.
        threads: CPU threads; None is one a core.

    Raises:
        EncoderError: the tokenizer is missing or cannot be read.
    """

    def __init__(
        self,
        folder: Path,
        *,
        recipe: Recipe,
        fingerprint: str,
        dim: int,
        session: Any,  # noqa: ANN401 - onnxruntime has no types
        threads: int | None = None,
    ) -> None:
        self.folder = folder
        self.recipe = recipe
        self._fingerprint = fingerprint
        self._dim = dim
        self._session = session
        self._threads = threads
        self.tokeniser = _read_tokeniser(folder, recipe)

    def __reduce__(self) -> NoReturn:
        raise TypeError("this encoder cannot be pickled: one that load_encoder made can")

    @classmethod
    def open(cls, folder: Path, threads: int | None = None) -> OnnxEncoder:
        """Open a folder with ``mirror.json``, ``tokenizer.json`` and ``model.onnx``.

        Raises:
            EncoderError: a file is missing or cannot be read.
        """
        document = read_json(folder / RECIPE_FILE)
        if "onnx_sha256" not in document:
            raise EncoderError(
                "this folder holds no ONNX copy made by this library", where=str(folder)
            )
        return OnnxEncoder(
            folder,
            recipe=Recipe.from_json(document["recipe"]),
            fingerprint=str(document["fingerprint"]),
            dim=int(document["dim"]),
            session=open_session(folder / ONNX_FILE),
            threads=threads,
        )

    @property
    def dim(self) -> int:
        """Number of columns of a vector."""
        return self._dim

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the encoder this is a copy of."""
        return self._fingerprint

    def tokenise(self, texts: Sequence[str]) -> Tokenised:
        """Return token ids within the limit, with the audit columns."""
        return self.tokeniser(texts)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return (len(texts), dim) float32 unit rows in the order of `texts`."""
        return self.encode_audited(texts).vectors

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like `encode`, with token counts, truncation and unknown-token flags."""
        tokenised = self.tokeniser(texts)
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        cores = _cores(self._threads)
        fewest, most = BATCH_TOKENS
        budget = min(most, max(fewest, -(-sum(map(len, tokenised.ids)) // cores)))
        batches = list(token_budget_batches(tokenised.ids, budget, self.tokeniser.pad_id))
        for batch, rows in zip(batches, self._passes(batches, cores), strict=True):
            vectors[batch.rows] = rows
        return Encoded(
            vectors=vectors,
            tokens=tokenised.tokens,
            truncated=tokenised.truncated,
            unknown=tokenised.unknown,
        )

    def _passes(self, batches: Sequence[Batch], cores: int) -> Iterator[FloatMatrix]:
        """Yield the rows of each batch; several batches run side by side, one a core.

        A pass on one core costs less than one shared by all, whose threads wait for one another.
        """
        if min(cores, len(batches)) < 2:
            yield from map(self._pass, batches)
            return
        with ThreadPoolExecutor(min(cores, len(batches))) as pool:
            yield from pool.map(self._pass, batches)

    def _pass(self, batch: Batch) -> FloatMatrix:
        rows: FloatMatrix = self._session.run(None, {"ids": batch.ids, "mask": batch.mask})[0]
        return rows

    def save(self, folder: Path) -> None:
        """Copy the folder this encoder was loaded from."""
        import shutil  # not needed on the query path

        shutil.copytree(self.folder, folder, dirs_exist_ok=True)


def _cores(threads: int | None) -> int:
    """Return on how many cores to run: those this process may use, at most `threads`."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, threads or cores)


def import_runtime() -> Any:  # noqa: ANN401 - untyped
    """Return the module `onnxruntime`, which reports nothing to anybody."""
    for name in _NO_TELEMETRY:
        os.environ.setdefault(name, "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # Windows looks at no variable
    return onnxruntime


def open_session(path: Path, graph: bytes | None = None) -> Any:  # noqa: ANN401 - untyped
    """Open a graph: the file at `path`, or the given one as if it lay there.

    Raises:
        EncoderError: it cannot be opened.
    """
    onnxruntime = import_runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    try:
        with durable.utf8_folder(path.parent) as folder:
            if graph is not None:
                options.add_session_config_entry(_WEIGHTS_BESIDE, folder)
            return onnxruntime.InferenceSession(
                graph or os.path.join(folder, path.name),  # noqa: PTH118 - the library takes str
                options,
                providers=["CPUExecutionProvider"],
            )
    except Exception as error:  # onnxruntime raises classes of its own, without a common base
        raise EncoderError(
            f"the ONNX copy cannot be opened: {error}",
            where=str(path),
            remedy="Run `mirror-index verify` on the collection, or save the encoder again",
        ) from error


def note_copy(folder: Path) -> None:
    """Write the hash of ``model.onnx`` into the recipe, which makes the folder one with a copy."""
    document = read_json(folder / RECIPE_FILE)
    document["onnx_sha256"] = hashlib.sha256((folder / ONNX_FILE).read_bytes()).hexdigest()
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    (folder / RECIPE_FILE).write_text(text, encoding="utf-8")


def _read_tokeniser(folder: Path, recipe: Recipe) -> FastTokeniser:
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    try:
        # The library takes only paths that are UTF-8.
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the Rust library raises bare Exception
        raise EncoderError(f"the tokenizer cannot be read: {error}", where=str(path)) from error
    settings = read_json(folder / "tokenizer_config.json")
    pad = _token_id(tokenizer, settings.get("pad_token"))
    return FastTokeniser(
        tokenizer,
        max_length=recipe.max_length,
        prompt=recipe.prompt,
        pad_id=0 if pad is None else pad,
        unknown_id=_token_id(tokenizer, settings.get("unk_token")),
    )


def _token_id(tokenizer: Any, token: Any) -> int | None:  # noqa: ANN401 - untyped
    text = token.get("content") if isinstance(token, dict) else token
    found = tokenizer.token_to_id(text) if isinstance(text, str) else None
    return None if found is None else int(found)
