"""Options that several commands share, and the settings they stand for."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mirror_index.config import (
    EncoderConfig,
    OnDuplicate,
    OnTruncate,
    Pooling,
    Precision,
    ReadOptions,
)
from mirror_index.errors import CollectionError, UsageError

Command = TypeVar("Command", bound=Callable[..., Any])


# What a script passes for a variable that is not set would be taken for the working folder.
_NO_NAME = "an empty name: name a file or folder"


class _Home(click.Path):
    """A folder; shells leave ``~`` alone in ``--home=~/x``, and nobody replaces it in variables."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401 - as click has it
        if not value:
            self.fail(_NO_NAME, param, ctx)
        # Not Path.expanduser, which raises for a user that is not there.
        return super().convert(os.path.expanduser(value), param, ctx)  # noqa: PTH111


class _NewPath(click.Path):
    """A path to write to; ``-``, which is standard output elsewhere, would become a file."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401 - as click has it
        if not value:
            self.fail(_NO_NAME, param, ctx)
        if value == "-":
            self.fail("this is not written to standard output: name a file", param, ctx)
        return super().convert(value, param, ctx)


NEW_PATH = _NewPath(path_type=Path)

home = click.option(
    "--home",
    envvar="MIRROR_INDEX_HOME",
    default="indexes",
    show_default=True,
    type=_Home(path_type=Path),
    help="Folder that collections given by name lie in.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
allow_quarantine = click.option(
    "--allow-quarantine", is_flag=True, help="Exit 0 even though rows were quarantined."
)
encoder_name = click.option(
    "--encoder",
    metavar="ENCODER",
    help="Model folder or hub name.  [default: all-MiniLM-L6-v2 from its PyPI package]",
)
vectors = click.option(
    "--vectors",
    metavar="FILE",
    help="Take the vector of each record from a .npy or .parquet[:column] file.",
)


def names_of(choices: Any) -> click.Choice[str]:  # noqa: ANN401 - an Enum class
    """Return a click type for the values of a string Enum."""
    return click.Choice([choice.value for choice in choices])


def _bundle(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)

    return decorate


reading = _bundle(
    click.option(
        "--format",
        default="auto",
        help="Format of SOURCE, if its name does not tell: txt, csv, tsv, jsonl, parquet, sqlite, "
        "obo, owl, skos, rdf, obograph, rrf or ctd.",
    ),
    click.option("--text-column", help="Column or field with the text."),
    click.option("--id-column", help="Column or field with the id; else file:number (a.txt:12)."),
    click.option("--concept-column", help="Column with a concept id: the rows are its names."),
    click.option("--scope-column", help="Column with the kind of name: preferred, exact, ..."),
    click.option("--sql", help="Query that yields the rows of an SQLite source."),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of text files."),
    click.option("--no-quoting", is_flag=True, help="Take the quotes of a .csv as text."),
    click.option(
        "--lang",
        "languages",
        multiple=True,
        metavar="TAG",
        help="Take names in this language (en, or ENG of the UMLS); may be repeated.",
    ),
    click.option(
        "--sab",
        "vocabularies",
        multiple=True,
        metavar="SAB",
        help="Take this source vocabulary of the UMLS; may be repeated.",
    ),
    click.option(
        "--synonyms", metavar="SSSOM", help="Mappings (.sssom.tsv) that add names to concepts."
    ),
)
running = _bundle(
    click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N."),
    click.option(
        "--precision",
        type=names_of(Precision),
        default=Precision.AUTO.value,
        show_default=True,
        help="Arithmetic of bulk encoding; int8 is faster and less exact.",
    ),
    click.option(
        "--batch-tokens", type=int, help="Tokens a forward pass.  [default: 1024; GPU 32768]"
    ),
    click.option("--threads", type=int, help="CPU threads.  [default: all cores]"),
)
recipe = _bundle(
    click.option("--pooling", type=names_of(Pooling), help="How tokens become one vector."),
    click.option("--max-length", type=int, help="Tokens read of each text."),
    click.option("--prompt", help="Text put before every input."),
)
taking = _bundle(
    click.option(
        "--on-duplicate",
        type=names_of(OnDuplicate),
        default=OnDuplicate.ERROR.value,
        show_default=True,
        help="When an id comes twice with different content.",
    ),
    click.option(
        "--on-truncate",
        type=names_of(OnTruncate),
        default=OnTruncate.REPORT.value,
        show_default=True,
        help="When a text is longer than the encoder reads.",
    ),
)


def take(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """Remove `names` from `values` and return them."""
    return {name: values.pop(name) for name in names}


def read_options(values: dict[str, Any]) -> ReadOptions:
    """Take the options of `reading` out of `values`."""
    return ReadOptions(
        **take(
            values,
            "format",
            "text_column",
            "id_column",
            "concept_column",
            "scope_column",
            "sql",
            "encoding",
            "languages",
            "vocabularies",
            "synonyms",
        ),
        quoting=not values.pop("no_quoting"),
    )


def encoder_config(values: dict[str, Any]) -> EncoderConfig:
    """Take the options of `running`, and of `recipe` where they are, out of `values`."""
    pooling = values.pop("pooling", None)
    return EncoderConfig(
        **take(values, "device", "batch_tokens", "threads"),
        precision=Precision(values.pop("precision")),
        pooling=Pooling(pooling) if pooling else None,
        max_length=values.pop("max_length", None),
        prompt=values.pop("prompt", None),
    )


def take_options(values: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `taking` out of `values`, as arguments for a collection."""
    return {
        "on_duplicate": OnDuplicate(values.pop("on_duplicate")),
        "on_truncate": OnTruncate(values.pop("on_truncate")),
    }


def conditions(only: Sequence[str]) -> dict[str, str]:
    """Return column -> value of conditions given as ``COLUMN=VALUE``.

    Raises:
        UsageError: one has no =.
    """
    for condition in only:
        if "=" not in condition:
            raise UsageError("a condition has no =", value=condition, remedy="--only COLUMN=VALUE")
    return dict(condition.partition("=")[::2] for condition in only)


def collection_folder(name: str, home: Path) -> Path | None:
    """Return the folder of a collection given by path or by name, None when there is none."""
    is_path = name.startswith((f".{os.sep}", f"..{os.sep}"))
    for folder in (Path(name),) if is_path else (Path(name), home / name):
        if (folder / "collection.db").is_file():
            return folder
    return None


def find_collection(name: str, home: Path) -> Path:
    """Return the folder of a collection given by path or by name.

    Raises:
        UsageError: an empty name.
        CollectionError: neither a path nor a name under `home`.
    """
    _require_name(name)
    folder = collection_folder(name, home)
    if folder is not None:
        return folder
    if Path(name).is_file():
        raise CollectionError(
            "a collection is a folder, and this is a file",
            value=name,
            remedy="Name the folder that was built; a source is read with `mirror-index build`",
        )
    raise CollectionError(
        "no such collection",
        value=name,
        where=f"neither a path nor a name under {home}",
        remedy="`mirror-index list` shows what is there",
    )


def _require_name(name: str) -> None:
    if not name:
        raise UsageError("the collection has an empty name", remedy="Give a name or a path")


def place_collection(name: str, home: Path) -> Path:
    """Return the folder for a new collection: a bare word goes under `home`, `./word` does not.

    Raises:
        UsageError: an empty name.
    """
    _require_name(name)
    path = Path(name)
    bare = not any(separator in name for separator in (os.sep, os.altsep) if separator)
    return home / name if bare and not path.exists() else path
