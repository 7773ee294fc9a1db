"""The real data that benchmarks read: in place, beside the checkout, never copied into it."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from benchmarks.harness import ROOT, UnavailableError
from mirror_index.readers import read
from mirror_index.records import Record, SourceItem, normalise_text

DATA = ROOT.parent / "shared" / "data"
SEED = 33
HPO = "linking/dict_hpo2025.tsv"
MEDIC = "linking/dict_medic2012.tsv"
WORDNET = "corpora/wordnet3_names.tsv.gz"
SCIFACT = "retrieval/scifact"
SENTENCES = f"{SCIFACT}/sentences.txt"
Item = TypeVar("Item")


def find(name: str) -> Path:
    """Return the path of a file or folder of the data.

    Raises:
        UnavailableError: it is not there.
    """
    path = DATA / name
    if not path.exists():
        raise UnavailableError(f"the data {path} is not there")
    return path


def first_lines(name: str, rows: int, folder: Path) -> Path:
    """Write the header and the first `rows` rows of a table to `folder`, gzip undone."""
    source = find(name)
    target = folder / Path(name).name.removesuffix(".gz")
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8", newline="\n") as lines:
        target.write_text("".join(islice(lines, rows + 1)), encoding="utf-8", newline="\n")
    return target


def records(path: Path) -> list[Record]:
    """Return the records of a dictionary; a column ``concept_id`` makes them names of concepts."""
    return [item for item in read(path) if isinstance(item, Record)]


def texts(items: Iterable[SourceItem]) -> list[str]:
    """Return the distinct normalised texts, in order."""
    found = (normalise_text(item.text) for item in items if isinstance(item, Record))
    return list(dict.fromkeys(found))


def lines(name: str) -> Iterator[str]:
    """Yield the lines of a text file."""
    with find(name).open(encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file)


def sample(items: Sequence[Item], size: int, seed: int = SEED) -> list[Item]:
    """Return a seeded sample without repetition, all of it when it is small."""
    return random.Random(seed).sample(items, min(size, len(items)))
