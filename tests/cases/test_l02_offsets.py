"""L2: "‘ oxygen" has its mention at characters 2 to 8; offsets count code points of the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.annotation import annotate
from mirror_index.collection import Collection
from mirror_index.records import Concept
from tests.fakes import HashEncoder


@pytest.mark.parametrize(
    ("before", "mention", "after"),
    [
        ("‘ ", "oxygen", ""),
        ("‘", "oxygen", "’"),
        ("\ufeff", "oxygen", ""),
        ("line\r\n\r\n", "oxygen", "\r\n"),
        ("😀👩‍👩‍👧 ", "oxygen", " 😀"),
        ("e\u0301e\u0301 ", "oxygen", ""),
        ("İİß ﬁ ½ ", "OXYGEN", ""),
        ("\u00a0\u2003", "oxy\u00adgen", "\u200b"),
        ("\u200b\u00ad", "oxygen", "\u2060\u200b"),
        ("e\u200b ", "oxygen", "\u200b."),
        ("𝒪 𐐷 ", "ｏｘｙｇｅｎ", ""),
        ("x\x00y ", "oxygen", "\x00"),
    ],
)
def test_offsets(tmp_path: Path, before: str, mention: str, after: str) -> None:
    items = [Concept(id="C:1", label="oxygen")]
    text = before + mention + after
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        (found,) = annotate(collection, text)
    assert (found.start, found.mention) == (len(before), mention)
    assert text[found.start : found.end] == found.mention
    if before == "‘ ":
        assert (found.start, found.end) == (2, 8)
