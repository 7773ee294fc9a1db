"""What a mention and a name cannot both mean, and which of two says more."""

from __future__ import annotations

import pytest

from mirror_index.linking import link
from mirror_index.linking.contradictions import contained, contradict
from mirror_index.names import name_key
from mirror_index.records import LinkStatus
from tests.dictionaries import Build, concept

AT_ODDS = [
    # denials, and words that say of the name that it is not there
    ("no nausea", "nausea"),
    ("no Hodgkin lymphoma", "non-Hodgkin lymphoma"),
    ("not pregnant", "pregnant"),
    ("absence of seizures", "seizures"),
    ("seizure-free", "seizures"),
    ("asthma ruled out", "asthma"),
    ("history of asthma", "asthma"),
    ("cancer", "family history of cancer"),
    # words that turn whatever they stand beside
    ("suspected pancreatitis", "acute pancreatitis"),
    ("fear of flying", "flying"),
    ("risk of asthma", "asthma"),
    ("father with asthma", "asthma"),
    ("hepatitis B vaccine", "hepatitis B"),
    # opposites by their form
    ("salted butter", "unsalted butter"),
    ("normal liver", "abnormal liver"),
    ("nonallergic rhinitis", "allergic rhinitis"),
    ("asymptomatic epilepsy", "symptomatic epilepsy"),
    ("wired mouse", "wireless mouse"),
    ("cord phone", "cordless phone"),
    ("hyperthyroidism", "hypothyroidism"),
    ("prenatal care", "postnatal care"),
    # other values
    ("left kidney", "right kidney"),
    ("severe pain", "pain, mild"),
    ("second degree burn", "first degree burn"),
    ("2nd degree burn", "first degree burn"),
    ("fracture of the tibia", "fracture of femur"),
    ("hepatic failure", "kidney failure"),
    ("raised glucose", "low glucose"),
    ("women's shoes", "men's shoes"),
    ("black cartridge", "cyan cartridge"),
    ("hepatitis A", "hepatitis B"),
]
AGREEING = [
    ("no patella", "absent patella"),
    ("absence of hair", "alopecia"),
    ("fear of heights", "acrophobia"),
    ("not progressive", "non-progressive"),
    ("kidney failure", "renal failure"),
    ("cancer of the lungs", "pulmonary cancer"),
    ("raised glucose", "high glucose"),
    ("hepatitis B", "viral hepatitis B"),
    ("possible asthma", "suspected asthma"),
    ("impaired glucose tolerance", "glucose intolerance"),
    ("left and right arm", "left arm"),
    ("first degree burn", "1st degree burn"),
    ("ideal", "deal"),
    ("inflammation", "flammation of joints"),
    ("", "asthma"),
    ("asthma", "asthma"),
]


@pytest.mark.parametrize(("one", "other"), AT_ODDS)
def test_what_contradicts_does_so_both_ways(one: str, other: str) -> None:
    assert contradict(name_key(one), name_key(other))
    assert contradict(name_key(other), name_key(one))


@pytest.mark.parametrize(("one", "other"), AGREEING)
def test_what_may_mean_the_same_does_not_contradict(one: str, other: str) -> None:
    assert not contradict(name_key(one), name_key(other))
    assert not contradict(name_key(other), name_key(one))


@pytest.mark.parametrize(
    ("one", "other", "says_more"),
    [
        ("severe asthma", "asthma", True),
        ("nausea and headache", "nausea", True),
        ("asthmas", "asthma", False),
        ("obesity syndrome", "obesity", False),
        ("obesity syndrome", "obesity disorder", False),
        ("syndrome", "obesity syndrome", False),
        ("renal failure", "kidney failure", False),
        ("failure of the kidney", "kidney failure", False),
    ],
)
def test_which_of_two_says_more(one: str, other: str, says_more: bool) -> None:
    assert contained(name_key(one), name_key(other)) is says_more
    assert contained(name_key(other), name_key(one)) is says_more


def test_a_small_dictionary_does_not_link_what_says_more_or_something_else(build: Build) -> None:
    collection = build(
        [
            concept("D:1", "relapsing-remitting polychondritis"),
            concept("D:2", "left ventricular hypertrophy"),
            concept("D:3", "garden hose"),
        ]
    )
    same, more, side = link(
        collection,
        [
            "polychondritis, relapsing-remitting",
            "painful relapsing-remitting polychondritis",
            "right ventricular hypertrophy",
        ],
    )
    assert (same.status, same.concept_id) == (LinkStatus.LINKED, "D:1")
    assert (more.status, more.concept_id) == (LinkStatus.AMBIGUOUS, "D:1")
    assert more.trace[-1].startswith("decision: ambiguous, the mention or 'relapsing-remitting")
    assert (side.status, side.candidates[0].concept_id) == (LinkStatus.NIL, "D:2")
