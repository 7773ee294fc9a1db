"""Two releases of a dictionary: what changed, and which overrides and past links it touches."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mirror_index.config import ReadOptions
from mirror_index.curation import (
    PastLink,
    Release,
    compare_releases,
    import_overrides,
    read_release,
    release_of,
    touched_links,
    touched_overrides,
)
from mirror_index.curation.releases import ConceptChange, NameChange
from mirror_index.errors import SourceError
from mirror_index.records import Concept, Name, Scope
from tests.dictionaries import Build, concept

OLD = (
    concept("A:1", "Stays", "remains", "Moved Name", "drops out"),
    concept("A:2", "Merged by alt id", "merged name"),
    concept("A:3", "Merged by replacement"),
    concept("A:4", "Becomes obsolete"),
    concept("A:5", "Splits"),
    concept("A:6", "Is lost", "lost name"),
    Concept(id="A:7", label="was obsolete", obsolete=True),
    concept("A:8", "Old label"),
    Concept(id="A:9", label="Rescoped", names=(Name(text="wide", scope=Scope.BROAD),)),
)
NEW = (
    Concept(
        id="A:1",
        label="STAYS!",
        names=tuple(Name(text=text, scope=Scope.EXACT) for text in ("remains", "merged name")),
        alt_ids=("A:2",),
    ),
    Concept(id="A:3", label="Merged", obsolete=True, replaced_by=("A:33",)),
    Concept(id="A:33", label="Merged", obsolete=True, replaced_by=("A:1",)),
    Concept(id="A:4", label="Becomes obsolete", obsolete=True),
    Concept(id="A:5", label="Splits", obsolete=True, consider=("A:1", "A:8")),
    concept("A:7", "Is back"),
    concept("A:8", "New label", "moved name", "added name"),
    Concept(id="A:9", label="Rescoped", names=(Name(text="Wide", scope=Scope.EXACT),)),
    concept("A:10", "Brand new"),
)


def ids(changes: tuple[ConceptChange, ...]) -> dict[str, tuple[str, ...]]:
    return {one.id: one.became for one in changes}


def names(changes: tuple[NameChange, ...]) -> set[tuple[str, str | None, str | None]]:
    return {(one.text, one.old_concept, one.new_concept) for one in changes}


def test_concepts() -> None:
    report = compare_releases(Release(OLD), Release(NEW))
    assert (report.old_concepts, report.new_concepts) == (8, 5)
    assert ids(report.new) == {"A:10": ()}
    assert ids(report.merged) == {"A:2": ("A:1",), "A:3": ("A:1",)}
    assert ids(report.obsoleted) == {"A:4": (), "A:5": ("A:1", "A:8")}
    assert ids(report.lost) == {"A:6": ()}
    assert ids(report.revived) == {"A:7": ()}
    assert ids(report.relabelled) == {"A:1": ("STAYS!",), "A:8": ("New label",)}
    assert report.counts["merged"] == 2


def test_names() -> None:
    report = compare_releases(Release(OLD), Release(NEW))
    assert names(report.names_moved) == {("moved name", "A:1", "A:8")}
    assert names(report.names_removed) == {
        ("drops out", "A:1", None),
        ("Old label", "A:8", None),
        ("Merged by alt id", "A:2", None),
        ("Merged by replacement", "A:3", None),
        ("Becomes obsolete", "A:4", None),
        ("Splits", "A:5", None),
        ("Is lost", "A:6", None),
        ("lost name", "A:6", None),
    }
    assert names(report.names_added) == {
        ("added name", None, "A:8"),
        ("New label", None, "A:8"),
        ("Is back", None, "A:7"),
        ("Brand new", None, "A:10"),
    }
    (rescoped,) = report.rescoped
    assert (rescoped.old_scope, rescoped.new_scope) == (Scope.BROAD, Scope.EXACT)


def test_a_release_is_equal_to_itself_and_changes_turn_round() -> None:
    for release in (OLD, NEW):
        counts = dict(compare_releases(Release(release), Release(release)).counts)
        assert counts.pop("old_concepts") == counts.pop("new_concepts")
        assert not any(counts.values())
    there = compare_releases(Release(OLD), Release(NEW))
    back = compare_releases(Release(NEW), Release(OLD))
    assert names(back.names_moved) == {
        ("Moved Name", "A:8", "A:1"),
        ("merged name", "A:1", "A:2"),
    }
    assert len(back.rescoped) == len(there.rescoped)
    assert set(ids(back.lost)) == {"A:10"}
    assert set(ids(back.revived)) == {"A:3", "A:4", "A:5"}


def test_cycles_and_missing_targets_end() -> None:
    old = Release([concept("B:1", "one"), concept("B:2", "two")])
    new = Release(
        [
            Concept(id="B:1", label="one", obsolete=True, replaced_by=("B:2",)),
            Concept(id="B:2", label="two", obsolete=True, replaced_by=("B:1",)),
            Concept(id="B:3", label="three", obsolete=True, replaced_by=("B:9",)),
        ]
    )
    report = compare_releases(old, new)
    assert set(ids(report.obsoleted)) == {"B:1", "B:2"}
    assert not report.merged


def test_a_collection_is_a_release(build: Build) -> None:
    collection = build(OLD)
    counts = dict(compare_releases(release_of(collection), Release(OLD)).counts)
    assert counts.pop("old_concepts") == counts.pop("new_concepts") == 8
    assert not any(counts.values())


def test_tables_are_releases(tmp_path: Path, build: Build) -> None:
    path = tmp_path / "old.tsv"
    path.write_text("concept_id\tname\tkind\nC:1\talias\tsynonym\nC:1\tLabel\tpreferred\nbad\n")
    release = read_release(path)
    assert release.rejected == 1
    assert release.known["C:1"].label == "Label"
    from mirror_index.readers import read

    collection = build(read(path))
    counts = compare_releases(release_of(collection), release).counts
    assert {name for name, n in counts.items() if n} == {"old_concepts", "new_concepts", "rejected"}
    (tmp_path / "plain.txt").write_text("just text\n")
    with pytest.raises(SourceError, match="holds no concepts"):
        read_release(tmp_path / "plain.txt", ReadOptions())


def test_overrides_that_are_touched(build: Build) -> None:
    collection = build(OLD)
    rows = [
        "mention\taction",
        *(
            "m1\tconcept A:2",
            "m2\tnever A:4",
            "m3\tconcept A:5",
            "m4\tconcept A:6",
            "m5\tconcept A:1",
        ),
        *("added name\tnil", "Moved name\tconcept A:8", "brand new\tnever A:1", "unknown\tnil"),
    ]
    import_overrides(collection, io.BytesIO("\n".join(rows).encode()))
    report = compare_releases(release_of(collection), Release(NEW))
    assert {one.override.mention: one.effect for one in touched_overrides(collection, report)} == {
        "m1": "merged into A:1",
        "m2": "obsolete",
        "m3": "obsolete, consider A:1, A:8",
        "m4": "lost",
        "added name": "now a name of A:8",
    }


def test_links_that_are_touched() -> None:
    report = compare_releases(Release(OLD), Release(NEW))

    def past(line: int, mention: str, concept_id: str | None, name: str | None) -> PastLink:
        status = "linked" if concept_id else "nil"
        return PastLink(
            line=line,
            key=mention,
            mention=mention,
            status=status,
            concept_id=concept_id,
            probability=None,
            matched_name=name,
        )

    links = [
        past(2, "a", "A:1", "remains"),
        past(3, "b", "A:2", "merged name"),
        past(4, "c", "A:1", "Moved name"),
        past(5, "d", "A:1", "drops out"),
        past(6, "Added name", None, None),
        past(7, "nothing", None, None),
        past(8, "both", "A:1|A:6", None),
        past(9, "brand new", None, None),
    ]
    assert [(one.line, one.effect) for one in touched_links(links, report)] == [
        (3, "merged into A:1"),
        (4, "the name 'moved name' moved to A:8"),
        (5, "the name 'drops out' was removed"),
        (6, "now a name of A:8"),
        (8, "lost"),
        (9, "now a name of A:10"),
    ]
