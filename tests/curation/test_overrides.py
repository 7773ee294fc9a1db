"""Overrides: obeyed before everything, checked at import, and alive after every change."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import pytest

from mirror_index import durable
from mirror_index.collection import Collection
from mirror_index.config import LinkOptions
from mirror_index.curation import export_overrides, import_overrides, override_states
from mirror_index.errors import (
    CollectionBusyError,
    CollectionError,
    SourceError,
    UsageError,
)
from mirror_index.linking import Override, OverrideAction, link
from mirror_index.linking.overrides import Overrides, load_overrides
from mirror_index.records import Concept, Link, LinkStatus
from mirror_index.store.locking import writer_lock
from mirror_index.tables import link_table
from mirror_index.tables.sources import MentionList
from tests.dictionaries import DISEASES, Build, concept
from tests.fakes import HashEncoder

HEADER = "mention\taction\treason\twho\twhen\n"


def take(collection: Collection, *rows: str, **options: bool) -> dict[str, object]:
    text = HEADER + "".join(row + "\t" * (4 - row.count("\t")) + "\n" for row in rows)
    return import_overrides(collection, io.BytesIO(text.encode()), **options).to_json()


def answer(collection: Collection, mention: str, **options: float) -> Link:
    (found,) = link(collection, [mention], LinkOptions(**options))  # type: ignore[arg-type]
    return found


def test_a_concept_is_forced_whatever_the_pipeline_thinks(build: Build) -> None:
    collection = build()
    assert answer(collection, "spell").concept_id != "D:7"
    take(collection, "Spell\tconcept D:7\tour word for it\tthe team\t2024-05-01")
    for mention in ("spell", "SPELL", " spell "):
        found = answer(collection, mention, min_probability=1.0)
        assert (found.status, found.concept_id, found.label) == ("linked", "D:7", "Headache")
        assert (found.method, found.probability, found.matched_name) == ("override", 1.0, "Spell")
        assert found.candidates[0].concept_id == "D:7"
        assert found.trace == (
            "override: 'Spell': concept D:7 (our word for it, the team, 2024-05-01)",
        )
    assert answer(collection, "spells").method != "override"


def test_an_action_may_be_in_capitals(build: Build) -> None:
    collection = build()
    take(collection, "spell\tConcept d:7", "seizure\tNIL")
    assert answer(collection, "spell").concept_id == "D:7"
    assert answer(collection, "seizure").status is LinkStatus.NIL


def test_nil_is_final_even_for_an_exact_name_and_its_parts(build: Build) -> None:
    collection = build()
    take(collection, "seizure\tnil", "seizure and headache\tnil")
    for mention in ("Seizure", "seizure and headache"):
        found = answer(collection, mention, min_probability=0.0)
        assert (found.status, found.concept_id, found.candidates) == ("nil", None, ())
        assert found.trace[0].startswith("override: ")


def test_never_takes_one_concept_out_of_the_ranking(build: Build) -> None:
    collection = build()
    ambiguous = answer(collection, "acute kidney failure")
    assert ambiguous.status is LinkStatus.AMBIGUOUS
    take(collection, "acute kidney failure\tnever D:3", "fits\tnever D:6", "seizures\tnever D:6")
    found = answer(collection, "Acute kidney failure")
    assert (found.status, found.concept_id) == ("linked", "D:4")
    assert "D:3" not in [one.concept_id for one in found.candidates]
    assert len(found.candidates) == 5
    assert any("never D:3" in step for step in found.trace)
    # neither by name nor as a neighbour, another form, or with a slip of spelling
    for mention in ("fits", "seizures"):
        barred = answer(collection, mention, min_probability=0.0, k=7)
        assert barred.concept_id != "D:6"
        assert "D:6" not in [one.concept_id for one in barred.candidates]
    assert answer(collection, "seizure").concept_id == "D:6"


def test_a_context_does_not_overrule_a_person(build: Build) -> None:
    collection = build()
    context = "Pain in the head (PIH) was common; PIH lasts long."
    (before,) = link(collection, ["PIH"], contexts=[context])
    assert before.concept_id == "D:7"
    take(collection, "PIH\tnever D:7")
    (after,) = link(collection, ["PIH"], contexts=[context])
    assert after.concept_id != "D:7"
    take(collection, "PIH\tconcept D:5")
    (forced,) = link(collection, ["PIH"], contexts=[context])
    assert (forced.concept_id, forced.method) == ("D:5", "override")


def test_ids_are_made_canonical(build: Build) -> None:
    collection = build(
        [
            *DISEASES,
            Concept(id="O:1", label="old", obsolete=True, replaced_by=("O:2",)),
            Concept(id="O:2", label="older", obsolete=True, replaced_by=("D:1",)),
        ]
    )
    report = take(collection, "a\tconcept D:60", "b\tconcept O:1", "c\tnever O:2", "d\tconcept d:2")
    assert report["redirected"] == ("D:60 -> D:6", "O:1 -> D:1", "O:2 -> D:1", "d:2 -> D:2")
    assert [row.concept_id for row in load_overrides(collection)] == ["D:6", "D:1", "D:1", "D:2"]


def test_every_bad_row_is_named_and_nothing_is_taken(build: Build) -> None:
    collection = build(
        [
            *DISEASES,
            Concept(id="O:1", label="gone", obsolete=True),
            Concept(id="O:2", label="split", obsolete=True, replaced_by=("D:1", "D:2")),
        ]
    )
    take(collection, "kept\tnil")
    text = HEADER + "\n".join(
        [
            "good\tconcept D:1\t\t\t",
            "m\tconcept D:99\t\t\t",
            "m\tconcept O:1\t\t\t",
            "m\tconcept O:2\t\t\t",
            "m\tperhaps D:1\t\t\t",
            "m\tconcept\t\t\t",
            "m\tnil D:1\t\t\t",
            "!!!\tnil\t\t\t",
            "short",
            "x\tconcept D:1\t\t\t",
            "X\tconcept D:2\t\t\t",
            "y\tnil\t\t\t",
            "y\tconcept D:2\t\t\t",
            "z\tconcept D:2\t\t\t",
            "z\tnever D:2\t\t\t",
        ]
    )
    with pytest.raises(SourceError) as caught:
        import_overrides(collection, io.BytesIO(text.encode() + b"\nb\xe9\tnil\t\t\t\n"))
    message = str(caught.value)
    for line, words in {
        3: "no concept 'D:99'",
        4: "'O:1' is obsolete: nothing replaces it",
        5: "'O:2' is obsolete: could be D:1, D:2",
        6: "'perhaps D:1' is none of",
        7: "concept needs a concept id",
        8: "nil takes no id",
        9: "no letter and no digit",
        10: "the row has 1 cells",
        17: "the byte 0xE9",
    }.items():
        assert any(f"line {line}:" in one and words in one for one in message.splitlines()), (
            line,
            message,
        )
    for lines in ("lines 11, 12", "lines 13, 14", "lines 15, 16"):
        assert f"{lines}: they contradict each other" in message
    assert "12 of 16 overrides cannot be taken" in message
    assert [row.mention for row in load_overrides(collection)] == ["kept"]


def test_what_may_stand_together(build: Build) -> None:
    collection = build()
    report = take(
        collection,
        "a\tconcept D:1",
        "A\tconcept D:1",
        "a\tnever D:2",
        "a\tnever D:3",
        "b\tnil",
        "b\tnever D:1",
    )
    assert (report["overrides"], report["duplicates"]) == (5, 1)
    assert answer(collection, "a").concept_id == "D:1"


def test_imports_replace_by_mention_and_are_commits(build: Build) -> None:
    collection = build()
    first = take(collection, "a\tconcept D:1", "b\tnil\twhy")
    assert (first["generation"], first["added"], first["overrides"]) == (2, 2, 2)
    again = take(collection, "a\tconcept D:1", "b\tnil\twhy")
    assert (again["generation"], again["unchanged"], again["added"]) == (2, 2, 0)
    second = take(collection, "A!\tnever D:1", "b\tnil\tbecause")
    assert (second["generation"], second["added"], second["removed"], second["changed"]) == (
        3,
        1,
        1,
        1,
    )
    third = take(collection, "c\tnil", replace_all=True)
    assert (third["overrides"], third["removed"], third["added"]) == (1, 2, 1)
    emptied = take(collection, replace_all=True)
    assert (emptied["overrides"], emptied["removed"]) == (0, 1)
    states = collection.history()
    assert [one.verb for one in states] == ["overrides"] * 4 + ["build"]
    assert states[0].source == "standard input"
    assert collection.verify(encoder=HashEncoder(dim=256)).ok
    collection.rollback(2)
    assert [row.mention for row in load_overrides(collection)] == ["a", "b"]
    assert answer(collection, "b").trace[0].startswith("override")
    assert collection.verify(encoder=HashEncoder(dim=256)).ok


def test_they_outlive_every_change(tmp_path: Path) -> None:
    encoder = HashEncoder(dim=64)
    collection = Collection.build(tmp_path / "c", DISEASES, encoder=encoder)
    take(collection, "spell\tconcept D:7", "zap\tconcept D:2", "fits\tnever D:6")
    wanted = load_overrides(collection).rows
    collection.add([concept("N:1", "New thing")])
    replaced = Concept(id="D:7", label="Headache", obsolete=True, replaced_by=("N:1",))
    collection.update([replaced])
    collection.delete(where="concept_id = 'D:2'")
    collection.compact()
    assert load_overrides(collection).rows == wanted
    redirected = answer(collection, "spell")
    assert redirected.concept_id == "N:1"
    assert "redirect: D:7 (obsolete) -> N:1" in redirected.trace
    gone = answer(collection, "zap")
    assert gone.method != "override"
    assert any("passed over" in step for step in gone.trace)
    assert [one.state for one in override_states(collection)] == ["redirected to N:1", "gone", "ok"]
    collection.sync([*DISEASES])
    assert [one.state for one in override_states(collection)] == ["ok", "ok", "ok"]
    collection.close()
    again = Collection.build(tmp_path / "c", DISEASES[:3], encoder=HashEncoder(32), overwrite=True)
    with again:
        assert load_overrides(again).rows == wanted
        assert [one.state for one in override_states(again)] == ["gone", "ok", "gone"]
        assert again.verify(encoder=HashEncoder(32)).ok


def test_a_never_follows_its_concept_to_what_replaces_it(build: Build) -> None:
    collection = build()
    take(collection, "fits\tnever D:6")
    collection.update(
        [
            Concept(id="D:6", label="Seizure", obsolete=True, replaced_by=("D:8",)),
            concept("D:8", "Epileptic event", "fits"),
        ]
    )
    found = answer(collection, "fits", min_probability=0.0)
    assert "D:8" not in [found.concept_id, *(one.concept_id for one in found.candidates)]


def test_a_commit_that_fails_changes_nothing(build: Build) -> None:
    collection = build()
    take(collection, "a\tnil")

    def full(operation: str, path: Path) -> None:
        if operation == "commit":
            raise OSError(28, "No space left on device")

    with durable.watched(full), pytest.raises(CollectionError, match="No space left"):
        take(collection, "b\tnil")
    assert [row.mention for row in load_overrides(collection)] == ["a"]
    assert len(collection.history()) == 2
    with writer_lock(collection.folder, 0.0), pytest.raises(CollectionBusyError):
        import_overrides(collection, io.BytesIO(b"mention\taction\nb\tnil\n"), timeout=0.0)
    take(collection, "b\tnil")
    assert [row.mention for row in load_overrides(collection)] == ["a", "b"]
    assert collection.verify(encoder=HashEncoder(dim=256)).ok


def test_export_is_what_import_takes(build: Build, tmp_path: Path) -> None:
    collection = build()
    take(collection, 'say "x"\tconcept D:1\ta, b', "b\tnil", "c\tnever D:2\t\twho\twhen")
    kept = load_overrides(collection).rows
    for name in ("out.tsv", "out.csv"):
        assert export_overrides(collection, tmp_path / name) == 3
        other = build()
        import_overrides(other, tmp_path / name)
        assert load_overrides(other).rows == kept
    out = io.StringIO()
    export_overrides(collection, out)
    assert out.getvalue() == (tmp_path / "out.tsv").read_text()
    with pytest.raises(UsageError, match="exists already"):
        export_overrides(collection, tmp_path / "out.tsv")
    with pytest.raises(UsageError, match=r"\.tsv or \.csv"):
        export_overrides(collection, tmp_path / "out.txt")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("mention\tconcept", "unknown column 'concept'"),
        ("mention\treason", "no column 'action'"),
        ("action", "no column 'mention'"),
        ("mention\tname\taction", "'mention' is there twice"),
    ],
)
def test_headers_that_are_not_understood(build: Build, header: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        import_overrides(build(), io.BytesIO(f"{header}\n".encode()))


def test_only_tables_are_read(build: Build, tmp_path: Path) -> None:
    (tmp_path / "o.jsonl").write_text("{}\n")
    with pytest.raises(SourceError, match="TSV or CSV"):
        import_overrides(build(), tmp_path / "o.jsonl")
    (tmp_path / "o.tsv").write_text("name\taction\n\nspell\tconcept D:7\n")
    assert import_overrides(build(), tmp_path / "o.tsv").added == 1


def test_keys_of_other_rules_are_made_anew() -> None:
    kept = Overrides([Override(mention="Déjà vu", action=OverrideAction.NIL)])
    document = {**Overrides(kept.rows).to_document(), "key_version": -1}
    document["rows"][0]["key"] = "another rule"
    assert Overrides.from_document(document).keys == ("deja vu",)


def test_they_are_mappings_of_a_curator(build: Build) -> None:
    collection = build()
    take(collection, "spell\tconcept D:7", "seizure\tnil", "headache\tnever D:1")
    out = io.StringIO()
    link_table(
        collection, MentionList(["spell", "seizure", "headache"]), out, output_format="sssom"
    )
    rows = [line.split("\t") for line in out.getvalue().splitlines() if not line.startswith("#")]
    by_mention = {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[1:]}
    assert by_mention["spell"]["mapping_justification"] == "semapv:ManualMappingCuration"
    assert by_mention["spell"]["predicate_id"] == "skos:exactMatch"
    assert by_mention["seizure"]["object_id"] == "sssom:NoTermFound"
    assert by_mention["seizure"]["mapping_justification"] == "semapv:ManualMappingCuration"
    assert by_mention["headache"]["mapping_justification"] == "semapv:LexicalMatching"


def test_at_most_one_final_decision_holds_in_any_order(build: Build) -> None:
    rows = ["a\tconcept D:1", "a\tnever D:2", "a\tnever D:3"]
    for order in itertools.permutations(rows):
        collection = build(DISEASES[:3], 16)
        take(collection, *order)
        assert answer(collection, "a").concept_id == "D:1"
