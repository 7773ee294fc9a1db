"""Making files of a collection again from a sound database: vectors, query copy, index."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from mirror_index import durable
from mirror_index.collection import housekeeping, probes
from mirror_index.collection.approximation import AnnState, make_ann
from mirror_index.collection.binding import hash_tree
from mirror_index.collection.segments import Span, spans
from mirror_index.collection.unencoded import load_unencoded
from mirror_index.config import IndexSpec
from mirror_index.durable import Chunk
from mirror_index.errors import EncoderError, EncoderMismatchError
from mirror_index.index.vectorfile import VectorWriter, map_rows
from mirror_index.progress import Reporter
from mirror_index.store.generations import Generation
from mirror_index.store.layout import vector_file
from mirror_index.store.writing import WriteStore
from mirror_index.vectors import EncoderLike

QUERY_COPY = "model.onnx"
_ENCODE_CHUNK = 2048


class FileRepair:
    """The repair of vectors, encoder and approximate index; the caller commits it.

    Attributes:
        state: the state to commit, with the new files in the place of damaged ones.
        chunks: segments of the new vector file; empty when the old one stays.
        encoder_files: file hashes of the new encoder folder; empty when the old one stays.
        done: what was made again.
    """

    def __init__(
        self, folder: Path, store: WriteStore, current: Generation, reporter: Reporter
    ) -> None:
        self._folder = folder
        self._store = store
        self._current = current
        self._reporter = reporter
        self._ready: EncoderLike | None = None
        self._unsound: list[str] = []
        self.state = current
        self.chunks: list[Chunk] = []
        self.encoder_files: dict[str, str] = {}
        self.done: list[str] = []

    def run(self, given: EncoderLike | None) -> None:
        """Mend one part after the other; the first that cannot be mended ends it."""
        self._ready = given
        stored: dict[str, str] = self._store.meta("encoder_files") or {}
        found = hash_tree(self._folder / self._current.encoder_folder)
        wrong = {n for n in stored.keys() | found.keys() if stored.get(n) != found.get(n)}
        if wrong == {QUERY_COPY} and QUERY_COPY in stored:
            self._export_query_copy()
        elif wrong:
            self._unsound = sorted(wrong)
        self._mend_vectors()
        self._mend_ann()

    def _encoder(self) -> EncoderLike:
        current = self._current
        if self._ready is None:
            if self._unsound:  # a flipped bit may change vectors by less than the probes notice
                raise EncoderError(
                    "files of the stored encoder are not as written, so nothing can be encoded",
                    value=", ".join(self._unsound),
                    where=str(self._folder / current.encoder_folder),
                    remedy="Restore them from a copy, or repair with the encoder at hand",
                )
            from mirror_index.encoding import load_stored_encoder  # only where it is needed

            place = self._folder / self.state.encoder_folder
            self._ready = load_unencoded(place) or load_stored_encoder(place)
        where = str(self._folder)
        probes.check_fingerprint(self._ready, current.encoder_fingerprint, current.dim, where)
        stored = probes.read(self._store.connection, current.dim)
        probes.check(self._ready, stored, where)
        return self._ready

    def _export_query_copy(self) -> None:
        """Export the query copy of the encoder again, into a new folder."""
        source = self._folder / self._current.encoder_folder
        from mirror_index.encoding import load_encoder  # torch, only for this

        name = housekeeping.encoder_folder(self._current, self._current.number + 1)
        target = self._folder / name
        durable.remove(target)
        with durable.stated("copy", target):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(QUERY_COPY))
        encoder = load_encoder(target)
        if encoder.fingerprint != self._current.encoder_fingerprint:
            raise EncoderMismatchError(
                "the weights are those of another encoder", where=str(source)
            )
        encoder.export_onnx(target)
        durable.sync_tree(target)
        durable.sync_folder(self._folder)
        self.encoder_files = hash_tree(target)
        self.state = replace(self.state, encoder_folder=name)
        self.done.append("the query copy of the encoder was made again from its weights")

    def _mend_vectors(self) -> None:
        found = spans(self._store.connection, self._folder, self._current)
        bad = sum(span.rows for span in found if not span.sound)
        if not bad:
            return
        encoder = self._encoder()
        number = int(Path(self._current.vector_file).stem) + 1
        name = vector_file(number, Path(self._current.vector_file).suffix)
        with (
            VectorWriter(self._folder, name, self._current.dim, 0) as writer,
            self._reporter.stage("mend vectors", self._current.vector_rows, "texts") as advance,
        ):
            for span in found:
                self._write_span(span, encoder, writer)
                advance(span.rows)
        self.state = replace(self.state, vector_file=name)
        self.done.append(f"{bad} vectors were made again from their texts")

    def _write_span(self, span: Span, encoder: EncoderLike, writer: VectorWriter) -> None:
        end = span.first + span.rows
        if span.sound:
            path = self._folder / self._current.vector_file
            stored = map_rows(path, end, self._current.dim)
            self.chunks.append(writer.append_from(stored, range(span.first, end)))
            return
        for start in range(span.first, end, _ENCODE_CHUNK):
            texts = self._store.texts_of(range(start, min(end, start + _ENCODE_CHUNK)))
            self.chunks.append(writer.append(encoder.encode(texts)))

    def _mend_ann(self) -> None:
        current = self._current
        if current.ann_file is None:
            return
        path = self._folder / current.ann_file
        if path.is_file() and durable.sha256_of(path) == current.ann_sha256:
            return
        ann: AnnState = make_ann(
            self._folder,
            current,
            map_rows(self._folder / self.state.vector_file, current.vector_rows, current.dim),
            spec=IndexSpec(**(self._store.meta("index_spec") or {})),
            number=current.number + 1,
            encoder=self._encoder,
            rebuild=True,
            texts=self._store.texts_of,
            reporter=self._reporter,
            lenient=True,
        )
        self.state = replace(
            self.state,
            ann_file=ann.file,
            ann_rows=ann.rows,
            ann_sha256=ann.sha256,
            ann_kind=ann.kind,
            ann_parameters=ann.parameters,
        )
        self.done.append("the approximate index was made again from the vectors")
