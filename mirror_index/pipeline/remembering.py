"""How a source was read is kept with the collection: the next time it is read the same way.

A `sync` that took other columns than the build would replace every text. A source is known by the
name of its file, as are the rows without an id of their own.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from mirror_index.collection import Collection
from mirror_index.collection.describing import READING
from mirror_index.config import ReadOptions
from mirror_index.errors import CollectionBusyError
from mirror_index.progress import Reporter
from mirror_index.readers.source import STDIN

_DEFAULTS = asdict(ReadOptions())


def as_before(
    folder: Path, source: str | Path, options: ReadOptions, reporter: Reporter
) -> ReadOptions:
    """Return how a source is read: as asked, or where nothing was asked, as it was the last time.

    The reporter is told of the latter. Standard input is another one each time.
    """
    if options != ReadOptions() or str(source) == STDIN:
        return options
    with Collection.open(folder) as collection:
        kept = _all_kept(collection).get(_name(source), {})
    known = {field.name for field in fields(ReadOptions)}
    chosen = {name: _tupled(value) for name, value in kept.items() if name in known}
    if chosen:
        shown = ", ".join(f"{name} {_shown(value)}" for name, value in sorted(chosen.items()))
        reporter.note(f"{source} is read as before: {shown}")
    return ReadOptions(**chosen)


def remember(
    collection: Collection,
    source: str | Path,
    options: ReadOptions,
    reporter: Reporter,
    *,
    anew: bool = False,
) -> None:
    """Keep how a source was read; `anew` forgets all others."""
    before = _all_kept(collection)
    kept = {} if anew else dict(before)
    chosen = {name: value for name, value in asdict(options).items() if value != _DEFAULTS[name]}
    kept.pop(_name(source), None)
    if chosen and str(source) != STDIN:
        kept[_name(source)] = {name: _listed(value) for name, value in chosen.items()}
    if kept == before:
        return
    try:
        collection.save_state(READING, kept)
    except CollectionBusyError:
        reporter.note(f"another process is writing: how {source} is read was not kept")


def _all_kept(collection: Collection) -> dict[str, dict[str, Any]]:
    kept: Any = collection.load_state(READING)
    return kept or {}


def _name(source: str | Path) -> str:
    """Return the file's name without its folder, as UTF-8, which a document has to be."""
    return Path(source).name.encode("utf-8", "backslashreplace").decode()


def _tupled(value: Any) -> Any:  # noqa: ANN401 - a value of an option
    return tuple(value) if isinstance(value, list) else value


def _listed(value: Any) -> Any:  # noqa: ANN401
    return list(value) if isinstance(value, tuple) else value


def _shown(value: Any) -> str:  # noqa: ANN401
    return " ".join(value) if isinstance(value, tuple) else str(value)
