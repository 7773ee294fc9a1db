"""L3: an obsolete name leads to the live concept, and the redirect is shown."""

from __future__ import annotations

from pathlib import Path

from mirror_index.collection import Collection
from mirror_index.linking import link
from mirror_index.records import Concept, LinkStatus
from tests.fakes import HashEncoder


def test_the_live_id_and_the_redirect_are_shown(tmp_path: Path) -> None:
    items = [
        Concept(id="E:1", label="type II diabetes", obsolete=True, replaced_by=("M:5148",)),
        Concept(id="M:5148", label="type 2 diabetes mellitus"),
        Concept(id="M:5147", label="type 1 diabetes mellitus"),
    ]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        for mention in ("type II diabetes", "Type 2 Diabetes"):
            (answer,) = link(collection, [mention])
            assert answer.status is LinkStatus.LINKED
            assert (answer.concept_id, answer.label) == ("M:5148", "type 2 diabetes mellitus")
            assert answer.matched_name == "type II diabetes"
            assert "redirect: E:1 (obsolete) -> M:5148" in answer.trace


def test_an_obsolete_label_prefix_is_no_part_of_the_name(tmp_path: Path) -> None:
    items = [
        Concept(id="E:1", label="obsolete sugar sickness", obsolete=True, replaced_by=("M:1",)),
        Concept(id="M:1", label="diabetes mellitus"),
    ]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        (answer,) = link(collection, ["sugar sickness"])
    assert (answer.status, answer.concept_id) == (LinkStatus.LINKED, "M:1")
