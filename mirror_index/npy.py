"""A NumPy file written a block at a time: it appears whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np

from mirror_index import durable
from mirror_index.errors import UsageError
from mirror_index.vectors import FloatMatrix

_HEADER_BYTES = 128


class NpyWriter:
    """Writes ``output`` (NPY 1.0, float32, C order) and ``<output>.ids.txt``; a context manager.

    The header is written last, when the number of rows is known; both files are renamed into place
    on a clean exit and removed otherwise.

    Args:
        output: the file to make.
        dim: columns.

    Raises:
        UsageError: one of the files is there already.
    """

    def __init__(self, output: Path, dim: int) -> None:
        self.output = output
        self.ids = output.with_name(output.name + ".ids.txt")
        for path in (self.output, self.ids):
            if path.exists():
                raise UsageError(
                    "the output is there already",
                    value=str(path),
                    remedy="Remove it or name another",
                )
        self.dim = dim
        self.rows = 0
        output.parent.mkdir(parents=True, exist_ok=True)
        self._vectors: BinaryIO = self._part(output).open("wb")
        self._names: BinaryIO = self._part(self.ids).open("wb")
        self._vectors.write(b" " * _HEADER_BYTES)

    @staticmethod
    def _part(path: Path) -> Path:
        return path.with_name(path.name + ".part")

    def append(self, ids: Sequence[str], vectors: FloatMatrix) -> None:
        """Append (n, dim) float32 rows and their n ids; line breaks within an id become spaces."""
        assert vectors.shape == (len(ids), self.dim)
        self._vectors.write(np.ascontiguousarray(vectors, dtype="<f4").data)
        for name in ids:
            self._names.write(" ".join(name.splitlines()).encode("utf-8") + b"\n")
        self.rows += len(ids)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with ExitStack() as undo:
            undo.callback(self._give_up)
            if kind is None:
                self._finish()
                undo.pop_all()

    def _finish(self) -> None:
        self._write_header()
        for file in (self._vectors, self._names):
            file.close()  # a full disk may be met only here
        for path in (self.ids, self.output):
            durable.sync_file(self._part(path))
        durable.rename(self._part(self.ids), self.ids)
        try:
            durable.rename(self._part(self.output), self.output)
        except BaseException:
            self.ids.unlink()
            raise

    def _give_up(self) -> None:
        for file, path in ((self._vectors, self.output), (self._names, self.ids)):
            with suppress(OSError):  # what is left in its buffer may not fit on the disk
                file.close()
            self._part(path).unlink(missing_ok=True)

    def _write_header(self) -> None:
        shape = f"({self.rows}, {self.dim})"
        text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
        header = b"\x93NUMPY\x01\x00" + (_HEADER_BYTES - 10).to_bytes(2, "little")
        body = text.encode("ascii").ljust(_HEADER_BYTES - 11) + b"\n"
        self._vectors.seek(0)
        self._vectors.write(header + body)
