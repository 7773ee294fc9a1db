"""L5: an inner quote in an OBO synonym: escaped, the whole name; else an error with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.readers import read
from mirror_index.records import Concept, Rejected


def _write(path: Path, synonym: str) -> None:
    path.write_text(
        "format-version: 1.4\n\n"
        f'[Term]\nid: X:1\nname: one\nsynonym: "{synonym}" EXACT []\n\n'
        "[Term]\nid: X:2\nname: two\n"
    )


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        (r"the \"inner\" name", 'the "inner" name'),
        (r"\"all of it\"", '"all of it"'),
        (r"backslash \\", "backslash \\"),
        (r"5\" [pipe] EXACT []", '5" [pipe] EXACT []'),
    ],
)
def test_an_escaped_quote_gives_the_whole_name(tmp_path: Path, spelled: str, name: str) -> None:
    path = tmp_path / "a.obo"
    _write(path, spelled)
    first, second = read(path)
    assert isinstance(first, Concept)
    assert [synonym.text for synonym in first.names] == [name]
    assert isinstance(second, Concept)


@pytest.mark.parametrize("spelled", ['the "inner" name', '"all of it"', '5" pipe', 'ends in "'])
def test_a_bare_quote_is_an_error_that_names_the_line(tmp_path: Path, spelled: str) -> None:
    path = tmp_path / "a.obo"
    _write(path, spelled)
    first, second = read(path)
    assert isinstance(first, Rejected)
    assert first.line == 6
    assert spelled in first.content
    assert "backslash" in first.reason
    assert isinstance(second, Concept)
    assert second.id == "X:2"
