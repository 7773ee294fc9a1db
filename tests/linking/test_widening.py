"""Other readings of mentions: abbreviations of the context, variants, composites."""

from __future__ import annotations

import pytest

from mirror_index.config import LinkOptions
from mirror_index.errors import UsageError
from mirror_index.linking import link
from mirror_index.linking.widening import Row, Widener
from mirror_index.names import name_key
from mirror_index.records import Candidate, Concept, Link, LinkStatus, Scope
from tests.dictionaries import DISEASES, Build, concept

ITEMS = (
    *DISEASES,
    concept("B:1", "Breast cancer"),
    concept("B:2", "Ovarian cancer", "ovarian tumor"),
    concept("B:3", "Nausea"),
    concept("B:4", "Vomiting"),
    concept("B:5", "Hereditary thing", "HT"),
    concept("B:6", "Arms"),
    concept("B:7", "Pain in arms"),
    concept("B:8", "Lipoma"),
    concept("B:9", "Lipomas"),
    Concept(id="O:1", label="old oedema", obsolete=True, replaced_by=("B:3",)),
)


def test_a_short_form_means_what_its_context_says(build: Build) -> None:
    context = "Acute kidney injury (AKI) is no headache tomography (HT); AKI is."
    aki, ht, alone = link(
        build(ITEMS), ["AKI", "HT", "HT"], contexts=[context, "hypertension (HT)", None]
    )
    assert (aki.concept_id, aki.mention) == ("D:3", "AKI")
    assert "abbreviation: 'AKI' is read as 'Acute kidney injury'" in aki.trace
    assert alone.concept_id == "B:5"
    # Hypertension is not in the dictionary: the answer of the short form stays.
    assert ht.concept_id == "B:5"
    assert ht.trace[-1] == "decision: that of the short form, the long one has none"


def test_the_long_form_wins_and_the_short_one_stays_a_candidate(build: Build) -> None:
    items = [*ITEMS, concept("B:10", "hand tremor")]
    collection = build(items)
    (answer,) = link(collection, ["HT"], contexts=["a hand tremor (HT)"])
    assert (answer.status, answer.concept_id) == (LinkStatus.LINKED, "B:10")
    assert answer.trace[-1] == "decision: that of the long form"
    assert "B:5" in {candidate.concept_id for candidate in answer.candidates}
    assert link(collection, ["HT"])[0].concept_id == "B:5"


def test_a_short_form_within_a_mention(build: Build) -> None:
    items = [*ITEMS, concept("G:1", "glucose-6-phosphate dehydrogenase deficiency")]
    context = "Lack of glucose-6-phosphate dehydrogenase (G6PD) is known."
    inner, own = link(
        build(items),
        ["G6PD deficiency", "glucose-6-phosphate dehydrogenase (G6PD) deficiency"],
        contexts=[context, None],
    )
    assert inner.concept_id == own.concept_id == "G:1"
    assert inner.mention == "G6PD deficiency"


def test_contexts_are_one_a_mention(build: Build) -> None:
    with pytest.raises(UsageError, match="1 contexts for 2 mentions"):
        link(build(ITEMS), ["a", "b"], contexts=["x"])


def test_contexts_that_define_nothing_change_nothing(build: Build) -> None:
    collection = build(ITEMS)
    mentions = ["Seizure", "head pain", "", "nothing of the kind", "lipoma"]
    contexts = ["(Spenner et al., 1995)", "((", None, "", "x" * 1000]
    assert link(collection, mentions, contexts=contexts) == link(collection, mentions)


@pytest.mark.parametrize(
    ("mention", "concept_id"),
    [
        ("seizures", "D:6"),
        ("ovarian tumours", "B:2"),
        ("Breast cancers", "B:1"),
        ("old edema", "B:3"),
    ],
)
def test_other_forms_of_a_name(build: Build, mention: str, concept_id: str) -> None:
    (answer,) = link(build(ITEMS), [mention])
    assert (answer.status, answer.concept_id) == (LinkStatus.LINKED, concept_id)
    assert answer.method == "variant"
    assert answer.probability == pytest.approx(0.95 * 0.95, abs=0.06)
    assert any(step.startswith("variant: ") for step in answer.trace)


def test_an_exact_name_is_no_variant_of_another(build: Build) -> None:
    one, several = link(build(ITEMS), ["lipoma", "lipomas"])
    assert (one.concept_id, one.method) == ("B:8", "exact")
    assert (several.concept_id, several.method) == ("B:9", "exact")


def test_variants_of_several_concepts_are_ambiguous(build: Build) -> None:
    items = [concept("V:1", "oedema of hand"), concept("V:2", "edema of hands")]
    (answer,) = link(build(items), ["edema of hand"])
    assert answer.status is LinkStatus.AMBIGUOUS
    assert {c.concept_id for c in answer.candidates if c.method == "variant"} == {"V:1", "V:2"}


def test_a_high_threshold_turns_a_variant_into_nil(build: Build) -> None:
    (answer,) = link(build(ITEMS), ["ovarian tumours"], LinkOptions(min_probability=0.99))
    assert (answer.status, answer.concept_id) == (LinkStatus.NIL, None)
    assert answer.candidates[0].concept_id == "B:2"


@pytest.mark.parametrize(
    ("mention", "parts", "ids"),
    [
        ("nausea and vomiting", ["nausea", "vomiting"], ["B:3", "B:4"]),
        ("breast and ovarian cancers", ["breast cancers", "ovarian cancers"], ["B:1", "B:2"]),
    ],
)
def test_a_mention_of_several_concepts(
    build: Build, mention: str, parts: list[str], ids: list[str]
) -> None:
    (answer,) = link(build(ITEMS), [mention], LinkOptions(k=1))
    assert answer.status is LinkStatus.COMPOSITE
    assert answer.concept_id is None
    assert [part.mention for part in answer.parts] == parts
    assert [part.concept_id for part in answer.parts] == ids
    assert all(len(part.candidates) == 1 for part in answer.parts)
    assert answer.trace[-1] == "decision: composite, every part is a name"


@pytest.mark.parametrize(
    "mention",
    ["pain in arms and legs", "nausea and quantum chromodynamics", "nausea and nauseas",
     "hand, foot and mouth disease"],
)  # fmt: skip
def test_a_mention_that_stays_whole(build: Build, mention: str) -> None:
    (answer,) = link(build(ITEMS), [mention])
    assert answer.parts == ()
    assert answer.status is not LinkStatus.COMPOSITE


def test_a_whole_name_is_never_cut(build: Build) -> None:
    items = [*ITEMS, concept("N:1", "Nausea and vomiting")]
    (answer,) = link(build(items), ["nausea & vomiting"])
    assert (answer.status, answer.concept_id, answer.parts) == (LinkStatus.LINKED, "N:1", ())


def test_an_abbreviation_of_a_composite(build: Build) -> None:
    (answer,) = link(build(ITEMS), ["NAV"], contexts=["nausea and vomiting (NAV)"])
    assert answer.mention == "NAV"
    assert [part.concept_id for part in answer.parts] == ["B:3", "B:4"]


def test_probabilities_agree_with_the_order_and_sum_to_one_at_most(build: Build) -> None:
    mentions = ["ovarian tumours", "HT", "seizures", "old edemas"]
    answers = link(build(ITEMS), mentions, contexts=["headache test (HT)"] * 4)
    for answer in answers:
        chances = [candidate.probability for candidate in answer.candidates]
        assert chances == sorted(chances, reverse=True)
        assert sum(chances) <= 1.0 + 1e-9
        assert answer.margin == pytest.approx(chances[0] - chances[1])


def _candidate(concept_id: str, probability: float, method: str = "dense") -> Candidate:
    return Candidate(
        concept_id=concept_id,
        label=concept_id,
        score=0.5,
        probability=probability,
        matched_name=concept_id,
        scope=Scope.LABEL,
        method=method,
    )


def _link(mention: str, status: LinkStatus, *candidates: Candidate) -> Link:
    best = candidates[0] if status is LinkStatus.LINKED else None
    return Link(
        mention=mention,
        status=status,
        concept_id=best.concept_id if best else None,
        method=best.method if best else None,
        probability=best.probability if best else None,
        candidates=candidates,
    )


def test_the_rule_by_hand() -> None:
    """Long form .6 on X, short form .75 on Y: X wins, Y keeps .75 of what is left."""
    known = {
        "SF": _link("SF", LinkStatus.LINKED, _candidate("Y", 0.75, "exact"), _candidate("X", 0.1)),
        "some form": _link("some form", LinkStatus.LINKED, _candidate("X", 0.6)),
    }
    widener = Widener(
        lambda texts: {text: known[text] for text in texts}, lambda keys: {}, LinkOptions()
    )
    row = Row("SF", "some form (SF)")
    answer = widener.answers([row])[row]
    assert answer.concept_id == "X"
    assert [(c.concept_id, c.probability) for c in answer.candidates] == [
        ("X", 0.6),
        ("Y", pytest.approx(0.4 * 0.75)),
    ]
    assert answer.margin == pytest.approx(0.3)


def test_nothing_is_found_at_all() -> None:
    widener = Widener(
        lambda texts: {text: Link(mention=text, status=LinkStatus.NIL) for text in texts},
        lambda keys: {key: ["x"] for key in keys if key == name_key("never")},
        LinkOptions(),
    )
    row = Row("SF", "some form (SF)")
    answer = widener.answers([row])[row]
    assert (answer.status, answer.candidates, answer.margin) == (LinkStatus.NIL, (), None)
