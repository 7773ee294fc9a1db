"""Reading a file of the shape of the UMLS's MRCONSO.RRF: rows a second and peak memory.

`python -m benchmarks.rrf [ROWS]` for another number of rows than `python -m benchmarks rrf`.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import run_process, say, workspace
from benchmarks.report import Cell, Column, Result, Table

ROWS = 10_000_000
_COLUMNS = (
    Column(name="rows", spec=",d"),
    Column(name="MB", spec=",.0f"),
    Column(name="concepts", spec=",d"),
    Column(name="names taken", spec=",d"),
    Column(name="seconds", spec=".1f"),
    Column(name="CPU s", spec=".1f"),
    Column(name="rows a CPU s", spec=",.0f"),
    Column(name="peak MB", spec=".0f"),
)
_STEMS = "neoplasm syndrome infection deficiency fever artery lesion palsy atrophy fracture".split()
_ADJECTIVES = "acute chronic left right benign malignant congenital familial upper lower".split()
_LANGUAGES = ("ENG",) * 7 + ("SPA", "FRE", "GER")
_READ = """
import json, sys
from mirror_index.config import ReadOptions
from mirror_index.readers import read
from mirror_index.records import Concept
concepts = names = 0
for item in read(sys.argv[1], ReadOptions(languages=tuple(sys.argv[2:]))):
    if isinstance(item, Concept):
        concepts += 1
        names += 1 + len(item.names)
print(json.dumps([concepts, names]))
"""


def run(quick: bool) -> Result:
    """Measure with 10 million rows, 100,000 when quick."""
    return measure(100_000 if quick else ROWS)


def measure(rows: int) -> Result:
    """Write a file of that many rows, read it in fresh processes, and remove it."""
    with workspace() as folder:
        say(f"  writing {rows:,} rows")
        path = folder / "MRCONSO.RRF"
        _write(path, rows)
        _write_types(folder / "MRSTY.RRF", rows)
        table = [_read(path, rows, languages) for languages in ((), ("ENG",))]
    return Result(
        title="reading UMLS RRF",
        tables=(Table(title="All languages, then --lang ENG", columns=_COLUMNS, rows=table),),
        note=(
            "Made-up rows: three a concept, 18 fields, a tenth suppressed, 70% English, a semantic "
            "type a concept from MRSTY.RRF beside it. Concepts are read and dropped one by one."
        ),
        settings={"rows": rows},
    )


def _read(path: Path, rows: int, languages: tuple[str, ...]) -> list[Cell]:
    done = run_process([sys.executable, "-c", _READ, path, *languages])
    concepts, names = json.loads(done.stdout)
    size = path.stat().st_size / 1e6
    cpu = done.cpu_seconds
    peak = done.peak_bytes / 1e6
    return [rows, size, concepts, names, done.seconds, cpu, rows / cpu, peak]


def _write(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(_rows(rows))


def _rows(rows: int) -> Iterator[str]:
    chance = random.Random(0)
    for number in range(rows):
        concept, atom = divmod(number, 3)
        text = (
            f'{chance.choice(_ADJECTIVES)} {chance.choice(_STEMS)} of "part" {concept} {"x" * atom}'
        ).strip()
        language = "ENG" if atom == 0 else chance.choice(_LANGUAGES)
        first = atom == 0
        yield (
            f"C{concept:07d}|{language}|{'P' if first else 'S'}|L{number:08d}|"
            f"{'PF' if first else 'VO'}|S{number:08d}|{'Y' if first else 'N'}|A{number:08d}||"
            f"M{concept:07d}|D{concept:06d}|{'MSH' if first else 'SNOMEDCT_US'}|"
            f"{'MH' if first else 'SY'}|D{concept:06d}|{text}|0|"
            f"{'O' if number % 10 == 9 else 'N'}|256|\n"
        )


def _write_types(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(
            f"C{concept:07d}|T047|B2.2.1.2.1|Disease or Syndrome|AT{concept:08d}|256|\n"
            for concept in range((rows + 2) // 3)
        )


if __name__ == "__main__":
    from benchmarks.harness import environment, limit_cores
    from benchmarks.report import Measurement, text_of

    limit_cores()
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    result = measure(wanted)
    print(text_of(Measurement(name="rrf", quick=True, facts=environment(), result=result)))
