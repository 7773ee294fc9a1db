"""Linking over a dictionary of a million names: mentions a second and peak memory."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import data
from benchmarks.harness import kept, run_process, say, seconds_of, threads, workspace
from benchmarks.quality_text import default_encoder
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.records import Record, normalise_text
from mirror_index.vectors import Encoded, EncoderLike, FloatMatrix

if TYPE_CHECKING:
    from mirror_index.collection import Collection

NAMES = 1_000_000
QUICK_NAMES = 20_000
NOISE = 0.3
"""Length of what is added to the vector of a name for a numbered copy of it: cosines of .96."""

_MENTIONS = (
    "ncbi_disease.train",
    "ncbi_disease.dev",
    "ncbi_disease.test",
    "hpo_gscplus.dev",
    "hpo_gscplus.test",
)
_COLUMNS = (
    Column(name="names", spec=",d"),
    Column(name="concepts", spec=",d"),
    Column(name="index"),
    Column(name="build s", spec=",.0f"),
    Column(name="calibrate s", spec=",.0f"),
    Column(name="mentions", spec=",d"),
    Column(name="first s", spec=".1f"),
    Column(name="mentions/s", spec=",.0f"),
    Column(name="peak MB", spec=",.0f"),
)
_LINK = """
import json, sys, time
from pathlib import Path
from mirror_index.collection import Collection
from mirror_index.linking import link
mentions = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
with Collection.open(Path(sys.argv[1])) as collection:
    times = [time.perf_counter()]
    for some in (mentions[:1], mentions[1:]):
        link(collection, some)
        times.append(time.perf_counter())
print(json.dumps([b - a for a, b in zip(times, times[1:])]))
"""


def run(quick: bool) -> Result:
    """Link the mentions of two corpora over WordNet, MEDIC and the HPO, and copies of them."""
    rows = kept("linking-million", quick, lambda: _measured(quick))
    return Result(
        title="linking over a million names",
        tables=(Table(title="Distinct mentions of two corpora", columns=_COLUMNS, rows=rows),),
        note=(
            "The names of WordNet, MEDIC and the HPO, and as many numbered copies of them, each of "
            "a concept of its own, as make a million. Real names are encoded; a copy has the "
            f"vector of its name and noise of length {NOISE}. Linking runs in a process of its "
            "own. First: one mention, with opening, reading the names and loading the encoder. "
            "Mentions/s: all others in one call, encoding included. Peak memory counts the pages "
            "of mapped files that were touched."
        ),
        settings={"threads": threads(), "seed": data.SEED},
    )


class Copies:
    """Vectors of names and of numbered copies of them; an `EncoderLike`.

    Args:
        names: distinct normalised names.
        rows: their vectors, one a name.
        encoder: what made them, for all other texts.
    """

    def __init__(self, names: Sequence[str], rows: FloatMatrix, encoder: EncoderLike) -> None:
        self._places = dict(zip(names, range(len(names)), strict=True))
        self._rows = rows
        self._encoder = encoder

    @property
    def dim(self) -> int:
        """Number of columns of a vector."""
        return self._encoder.dim

    @property
    def fingerprint(self) -> str:
        """That of the encoder."""
        return self._encoder.fingerprint

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return (len(texts), dim) float32 unit rows in the order of `texts`."""
        return self.encode_audited(texts).vectors

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like `encode`; the token counts of names and copies are made up."""
        known = [self._places.get(text, -1) for text in texts]
        copied = [
            self._places.get(text.rpartition(" ")[0], -1) if place < 0 else -1
            for text, place in zip(texts, known, strict=True)
        ]
        if any(max(pair) < 0 for pair in zip(known, copied, strict=True)):
            return self._encoder.encode_audited(texts)
        rows = self._rows[np.maximum(known, copied)].copy()
        copies = np.array(copied) >= 0
        noise = np.random.default_rng(data.SEED + copied[0]).normal(size=(copies.sum(), self.dim))
        rows[copies] += (NOISE / np.sqrt(self.dim) * noise).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Encoded(
            vectors=rows,
            tokens=np.full(len(texts), 6, dtype=np.int64),
            truncated=np.zeros(len(texts), dtype=np.bool_),
            unknown=np.zeros(len(texts), dtype=np.bool_),
        )

    def save(self, folder: Path) -> None:
        """Write the folder of the encoder."""
        self._encoder.save(folder)


def numbered(names: Sequence[Record], wanted: int) -> Iterator[Record]:
    """Yield names, then copies of them with a number, of other concepts, until there are enough."""
    for number in range(1, 2 + wanted // len(names)):
        for place, name in enumerate(names[: max(0, wanted - (number - 1) * len(names))]):
            if number == 1:
                yield replace(name, id=str(place))
            else:
                yield replace(
                    name,
                    id=f"{place}/{number}",
                    text=f"{name.text} {number}",
                    concept_id=f"{name.concept_id}/{number}",
                )


def vectors_of(texts: Sequence[str], encoder: EncoderLike) -> FloatMatrix:
    """Return (texts, dim) rows from the encoder."""
    say(f"  encoding {len(texts):,} names")
    return encoder.encode(texts)


def _measured(quick: bool) -> list[list[Cell]]:
    from mirror_index.collection import Collection
    from mirror_index.linking import calibrate

    names = [
        replace(name, concept_id=name.concept_id or name.metadata["synset"])
        for dictionary in (data.WORDNET, data.MEDIC, data.HPO)
        for name in data.records(data.find(dictionary))[: 2000 if quick else None]
    ]
    texts = list(dict.fromkeys(normalise_text(name.text) for name in names))
    encoder = default_encoder()
    copies = Copies(texts, vectors_of(texts, encoder), encoder)
    wanted = QUICK_NAMES if quick else NAMES
    with workspace() as folder:
        built: list[Collection] = []
        records = numbered(names, wanted)
        building = seconds_of(
            lambda: built.append(Collection.build(folder / "d", records, encoder=copies))
        )
        with built[0] as collection:
            say(f"  built in {building:.0f} s")
            calibrating = seconds_of(lambda: calibrate(collection))
            held = collection.info()
        mentions = _mentions(quick)
        path = folder / "mentions.json"
        path.write_text(json.dumps(mentions), encoding="utf-8")
        done = run_process([sys.executable, "-c", _LINK, folder / "d", path])
    first, others = json.loads(done.stdout)
    return [
        [
            held["records"],
            held["concepts"],
            held["index"]["kind"],
            building,
            calibrating,
            len(mentions),
            first,
            (len(mentions) - 1) / others,
            done.peak_bytes / 1e6,
        ]
    ]


def _mentions(quick: bool) -> list[str]:
    """Return the distinct mentions of the corpora."""
    found: dict[str, None] = {}
    for name in _MENTIONS:
        with data.find(f"linking/{name}.tsv").open(encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            found.update(dict.fromkeys(row["mention"] for row in rows))
    return list(found)[: 50 if quick else None]
