"""The formats: which names and extensions they have, and who reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError, UsageError
from mirror_index.readers.ctd import is_ctd, read_ctd
from mirror_index.readers.delimited import read_csv, read_tsv
from mirror_index.readers.jsonl import read_jsonl
from mirror_index.readers.obo import read_obo
from mirror_index.readers.obograph import read_obograph
from mirror_index.readers.plain import read_txt
from mirror_index.readers.rrf import read_rrf
from mirror_index.readers.source import STDIN, check_source, open_bytes, source_file, source_name
from mirror_index.readers.sqlite import read_sqlite
from mirror_index.readers.sssom import with_synonyms
from mirror_index.records import SourceItem

_COLUMNS = frozenset(("text_column", "id_column", "concept_column", "scope_column"))
_CHECKED = _COLUMNS | {"sql", "encoding", "quoting", "languages", "vocabularies"}
_DEFAULTS = ReadOptions()
_FLAGS = {"languages": "--lang", "vocabularies": "--sab", "quoting": "--no-quoting"}


Reader = Callable[[str | Path, ReadOptions], Iterator[SourceItem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format.

    Attributes:
        name: as in `ReadOptions.format`.
        extensions: lower-case endings of file names, with the dot.
        read: the reader.
        options: the fields of `ReadOptions` that mean something for it.
        compressible: whether ``.gz`` may follow the extension.
    """

    name: str
    extensions: tuple[str, ...]
    read: Reader
    options: frozenset[str]
    compressible: bool = True


def _read_parquet(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    # pyarrow takes a while to load and only parquet needs it.
    from mirror_index.readers.parquet import read_parquet

    return read_parquet(source, options)


def _rdf_reader(vocabulary: str) -> Reader:
    # pyoxigraph is needed for RDF only.
    def read_with(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
        from mirror_index.readers.graph import Vocabulary
        from mirror_index.readers.ontology import read_rdf

        return read_rdf(source, options, Vocabulary(vocabulary))

    return read_with


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format(name="txt", extensions=(".txt",), read=read_txt, options=frozenset(("encoding",))),
        Format(
            name="csv",
            extensions=(".csv",),
            read=read_csv,
            options=_COLUMNS | {"encoding", "quoting"},
        ),
        Format(
            name="tsv",
            extensions=(".tsv", ".tab"),
            read=read_tsv,
            options=_COLUMNS | {"encoding"},
        ),
        Format(
            name="jsonl",
            extensions=(".jsonl", ".ndjson"),
            read=read_jsonl,
            options=_COLUMNS | {"encoding"},
        ),
        Format(
            name="parquet",
            extensions=(".parquet",),
            read=_read_parquet,
            options=_COLUMNS,
            compressible=False,
        ),
        Format(
            name="sqlite",
            extensions=(".sqlite", ".sqlite3", ".db"),
            read=read_sqlite,
            options=_COLUMNS | {"sql"},
            compressible=False,
        ),
        Format(name="obo", extensions=(".obo",), read=read_obo, options=frozenset(("encoding",))),
        Format(
            name="owl",
            extensions=(".owl",),
            read=_rdf_reader("owl"),
            options=frozenset(("languages",)),
        ),
        Format(
            name="skos",
            extensions=(".skos",),
            read=_rdf_reader("skos"),
            options=frozenset(("languages",)),
        ),
        Format(
            name="rdf",
            extensions=(".rdf", ".ttl", ".nt"),
            read=_rdf_reader("rdf"),
            options=frozenset(("languages",)),
        ),
        Format(
            name="obograph",
            extensions=(".json",),
            read=read_obograph,
            options=frozenset(("encoding",)),
        ),
        Format(
            name="rrf",
            extensions=(".rrf",),
            read=read_rrf,
            options=frozenset(("encoding", "languages", "vocabularies")),
        ),
        # By what the file begins with: its name ends like that of any table.
        Format(name="ctd", extensions=(), read=read_ctd, options=frozenset(("encoding",))),
    )
}


def detect_format(source: str | Path, options: ReadOptions = _DEFAULTS) -> str:
    """Return the name of the format: the one asked for, else by extension; standard input is txt.

    Raises:
        UsageError: `options.format` is no format.
        SourceError: the extension tells no format.
    """
    if options.format != "auto":
        if options.format not in FORMATS:
            raise UsageError("unknown format", value=options.format, remedy=_known())
        return options.format
    if str(source) == STDIN:
        return "txt"
    name = Path(source_file(source)).name.lower()
    plain = name.removesuffix(".gz")
    for entry in FORMATS.values():
        if plain.endswith(entry.extensions):
            if plain != name and not entry.compressible:
                raise SourceError(
                    f"{entry.name} is not read compressed",
                    value=str(source),
                    remedy="Decompress the file first",
                )
            return _by_content(entry.name, source)
    if Path(source).is_file():
        with open_bytes(source):
            pass  # it says so when this is no text at all
    raise SourceError("the format of the source is unknown", value=str(source), remedy=_known())


def _by_content(name: str, source: str | Path) -> str:
    """Tell the tables apart that are more than rows with a header."""
    if name not in ("csv", "tsv") or not Path(source).is_file():
        return name
    if ".sssom." in Path(source).name.lower():
        raise SourceError(
            "SSSOM mappings are no dictionary of their own",
            value=str(source),
            remedy="Add them to one as synonyms (--synonyms), or name the format tsv",
        )
    return "ctd" if is_ctd(source) else name


def read(source: str | Path, options: ReadOptions = _DEFAULTS) -> Iterator[SourceItem]:
    """Read a source as records, concepts and rejected rows, lazily and in bounded memory.

    Text formats may be compressed with gzip. Every value of a table is taken as text or as the JSON
    scalar it is; nothing is guessed from what a string looks like. A row without an id of its own
    gets the file's name without its folder and its number, such as ``names.txt:12``; so
    files of one name in two folders have ids in common. Of a dictionary without ids a digest of
    each name is kept in memory.

    Args:
        source: a file, ``-`` for standard input, or a folder of the UMLS (with MRCONSO.RRF).
        options: format, columns and encoding.

    Returns:
        An iterator that opens the source at the first item and closes it after the last one.

    Raises:
        SourceError: missing, a folder, of unknown format; on iteration also unreadable, empty where
            the format has a header, or without a usable text column.
        UsageError: an option that is unknown or has no meaning for the format.
    """
    source = source_file(source)
    check_source(source)
    entry = FORMATS[detect_format(source, options)]
    _check_options(entry, source, options)
    return with_synonyms(entry.read(source, options), options)


def _check_options(entry: Format, source: str | Path, options: ReadOptions) -> None:
    for name in sorted(_CHECKED):
        value = getattr(options, name)
        if value != getattr(_DEFAULTS, name) and name not in entry.options:
            raise UsageError(
                f"the option {name} ({_flag(name)}) means nothing for {entry.name}",
                value=value,
                where=source_name(source),
                remedy="Leave it out, or name another format",
            )


def _flag(name: str) -> str:
    """Return the option of the command line that sets a field of `ReadOptions`."""
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def _known() -> str:
    endings = ", ".join(
        f"{entry.name} ({' '.join(entry.extensions)})" if entry.extensions else entry.name
        for entry in FORMATS.values()
    )
    return f"Name the format (--format); the formats are: {endings}"
