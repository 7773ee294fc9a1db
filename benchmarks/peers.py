"""Engines of others, behind the interface of `engines`; see there for what they have in common."""

# ruff: noqa: D102 - the base class says what each method does

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from benchmarks.engines import (
    EF_CONSTRUCTION,
    EFS,
    REFINE,
    Engine,
    Ids,
    M,
    Matrix,
    OursExact,
    OursHnsw,
    OursPq,
    part_of,
)


class _WithSidecar(Engine):
    """A library that keeps no metadata: they lie beside its index in a JSON file."""

    def _write_metadata(self, first: int, last: int) -> None:
        parts = part_of(np.arange(first, last)).tolist()
        with (self.folder / "metadata.jsonl").open("a", encoding="utf-8") as file:
            for row, part in zip(range(first, last), parts, strict=True):
                line = {"id": str(row), "part": part, "source": f"s{row % 7}"}
                file.write(json.dumps(line) + "\n")
        self._parts = part_of(np.arange(last))


class Faiss(_WithSidecar):
    """FAISS used directly."""

    module = "faiss"
    kind: ClassVar[str] = f"HNSW{M}"

    def settings(self) -> Sequence[int]:
        return (0,) if self.kind == "Flat" else EFS

    def build(self, vectors: Matrix) -> None:
        import faiss

        self._index: Any = faiss.index_factory(self.dim, self.kind, faiss.METRIC_INNER_PRODUCT)
        if self.kind != "Flat":
            self._index.hnsw.efConstruction = EF_CONSTRUCTION
        self.add(vectors, 0)

    def add(self, vectors: Matrix, first: int) -> None:
        import faiss

        self._index.add(np.ascontiguousarray(vectors))
        self._write_metadata(first, first + len(vectors))
        faiss.write_index(self._index, str(self.folder / "index.faiss"))

    def search(self, queries: Matrix, k: int, setting: int, part_below: int | None) -> Ids:
        import faiss

        chosen = {}
        if part_below is not None:
            bits = np.packbits(self._parts < part_below, bitorder="little")
            chosen["sel"] = faiss.IDSelectorBitmap(bits)
        parameters = faiss.SearchParameters(**chosen)
        if setting:
            parameters = faiss.SearchParametersHNSW(efSearch=setting, **chosen)
        _, rows = self._index.search(np.ascontiguousarray(queries), k, params=parameters)
        return np.asarray(rows)


class FaissFlat(Faiss):
    """FAISS, exact."""

    name = "faiss Flat"
    kind = "Flat"


class FaissHnsw(Faiss):
    """FAISS with HNSW."""

    name = f"faiss HNSW{M}"


class Hnswlib(_WithSidecar):
    """hnswlib; its filter is a Python function called for every candidate."""

    name = "hnswlib"
    module = "hnswlib"

    def build(self, vectors: Matrix) -> None:
        import hnswlib

        self._index = hnswlib.Index(space="ip", dim=self.dim)
        self._index.init_index(len(vectors) + 10_000, EF_CONSTRUCTION, M)
        self.add(vectors, 0)

    def add(self, vectors: Matrix, first: int) -> None:
        self._index.add_items(vectors, np.arange(first, first + len(vectors)))
        self._write_metadata(first, first + len(vectors))
        self._index.save_index(str(self.folder / "index.hnsw"))

    def search(self, queries: Matrix, k: int, setting: int, part_below: int | None) -> Ids:
        self._index.set_ef(max(setting, k))
        if part_below is None:
            return self._index.knn_query(queries, k)[0].astype(np.int64)
        parts = self._parts.tolist()
        keep: Callable[[int], bool] = lambda row: parts[row] < part_below  # noqa: E731
        return self._index.knn_query(queries, k, num_threads=1, filter=keep)[0].astype(np.int64)


class Usearch(_WithSidecar):
    """usearch, float32; its Python interface has no filter."""

    name = "usearch"
    module = "usearch"
    filters = False

    def build(self, vectors: Matrix) -> None:
        from usearch.index import Index

        self._index = Index(
            ndim=self.dim, metric="ip", dtype="f32", connectivity=M, expansion_add=EF_CONSTRUCTION
        )
        self.add(vectors, 0)

    def add(self, vectors: Matrix, first: int) -> None:
        from benchmarks.harness import threads

        keys = np.arange(first, first + len(vectors))
        self._index.add(keys, np.ascontiguousarray(vectors), threads=threads())
        self._write_metadata(first, first + len(vectors))
        self._index.save(str(self.folder / "index.usearch"))

    def search(self, queries: Matrix, k: int, setting: int, part_below: int | None) -> Ids:
        from benchmarks.harness import threads

        self._index.expansion_search = max(setting, k)
        found = self._index.search(queries, k, threads=threads())
        return np.atleast_2d(np.asarray(found.keys)).astype(np.int64)


class LanceDb(Engine):
    """LanceDB with an HNSW index over one partition; it searches one query at a time."""

    name = "LanceDB HNSW-SQ"
    module = "lancedb"

    def _batch(self, vectors: Matrix, first: int) -> Any:  # noqa: ANN401 - a table of pyarrow
        import pyarrow as pa

        rows = np.arange(first, first + len(vectors))
        values = pa.array(np.ascontiguousarray(vectors).reshape(-1))
        return pa.table(
            {
                "id": [str(row) for row in rows],
                "part": part_of(rows),
                "source": [f"s{row % 7}" for row in rows],
                "vector": pa.FixedSizeListArray.from_arrays(values, self.dim),
            }
        )

    def build(self, vectors: Matrix) -> None:
        import lancedb

        database = lancedb.connect(str(self.folder))
        self._table = database.create_table("rows", self._batch(vectors, 0))
        self._table.create_index(
            metric="cosine",
            vector_column_name="vector",
            index_type="IVF_HNSW_SQ",
            num_partitions=1,
            m=M,
            ef_construction=EF_CONSTRUCTION,
        )

    def add(self, vectors: Matrix, first: int) -> None:
        self._table.add(self._batch(vectors, first))

    def search(self, queries: Matrix, k: int, setting: int, part_below: int | None) -> Ids:
        answers = np.full((len(queries), k), -1, dtype=np.int64)
        for place, query in enumerate(queries):
            asked = self._table.search(query).distance_type("cosine").limit(k).nprobes(1)
            asked = asked.ef(max(setting, REFINE * k)).refine_factor(REFINE)
            if part_below is not None:
                asked = asked.where(f"part < {part_below}", prefilter=True)
            ids = asked.select(["id", "part", "source"]).to_arrow()["id"].to_pylist()
            answers[place, : len(ids)] = [int(one) for one in ids]
        return answers


class Chroma(Engine):
    """Chroma, a persistent client in the process, telemetry off."""

    name = "Chroma"
    module = "chromadb"

    def _client(self) -> Any:  # noqa: ANN401
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        return chromadb.PersistentClient(path=str(self.folder / "chroma"), settings=settings)

    def build(self, vectors: Matrix) -> None:
        client = self._client()
        hnsw: Any = {"space": "cosine", "ef_construction": EF_CONSTRUCTION, "max_neighbors": M}
        self._rows = client.create_collection(
            "rows", configuration={"hnsw": hnsw}, embedding_function=None
        )
        self._most = client.get_max_batch_size()
        self._breadth = 0
        self.add(vectors, 0)

    def add(self, vectors: Matrix, first: int) -> None:
        for start in range(0, len(vectors), self._most):
            block = vectors[start : start + self._most]
            rows = np.arange(first + start, first + start + len(block))
            parts = part_of(rows).tolist()
            self._rows.add(
                ids=[str(row) for row in rows],
                embeddings=block,
                metadatas=[
                    {"part": part, "source": f"s{row % 7}"}
                    for row, part in zip(rows.tolist(), parts, strict=True)
                ],
            )

    def search(self, queries: Matrix, k: int, setting: int, part_below: int | None) -> Ids:
        if setting != self._breadth:
            self._set(max(setting, k))
            self._breadth = setting
        where: Any = None if part_below is None else {"part": {"$lt": part_below}}
        found = self._rows.query(
            query_embeddings=queries, n_results=k, where=where, include=["metadatas", "distances"]
        )
        answers = np.full((len(queries), k), -1, dtype=np.int64)
        for place, ids in enumerate(found["ids"]):
            answers[place, : len(ids)] = [int(one) for one in ids]
        return answers

    def _set(self, breadth: int) -> None:
        """Set the breadth; it counts from the next time that the index is loaded."""
        from chromadb.api.shared_system_client import SharedSystemClient

        self._rows.modify(configuration={"hnsw": {"ef_search": breadth}})
        for system in SharedSystemClient._identifier_to_system.values():
            system.stop()  # else it keeps its index in memory
        SharedSystemClient.clear_system_cache()
        self._rows = self._client().get_collection("rows", embedding_function=None)


ENGINES: dict[str, type[Engine]] = {
    engine.name: engine
    for engine in (
        OursExact,
        OursHnsw,
        OursPq,
        FaissFlat,
        FaissHnsw,
        Hnswlib,
        Usearch,
        LanceDb,
        Chroma,
    )
}
