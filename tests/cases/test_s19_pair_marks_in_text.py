"""S19: `||`, tabs, a leading `#` and very long lines are text in a plain text file."""

from __future__ import annotations

from pathlib import Path

from mirror_index.readers import read
from mirror_index.records import Record


def test_lines_are_text_whatever_they_hold(tmp_path: Path) -> None:
    lines = [
        "aspirin||acetylsalicylic acid",
        "C0004057||aspirin||aspirin",
        "tab\tin\tthe line",
        "# not a comment",
        "// neither",
        '"quoted, with a comma"',
        "long " * 2_000,
        "[Term]",
    ]
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(lines) + "\n")
    assert list(read(path)) == [
        Record(id=f"lines.txt:{number}", text=line, line=number)
        for number, line in enumerate(lines, 1)
    ]


def test_the_same_in_a_column(tmp_path: Path) -> None:
    texts = ["a||b", "# c", "d" * 10_000]
    path = tmp_path / "rows.tsv"
    path.write_text("id\ttext\n" + "".join(f"{n}\t{text}\n" for n, text in enumerate(texts)))
    assert [item.text for item in read(path) if isinstance(item, Record)] == texts
