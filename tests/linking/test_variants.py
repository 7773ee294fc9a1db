"""Other forms of names: listed pairs, and the two directions against each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.linking.variants import BRITISH, IRREGULAR, fold, spacings, variants

SAME = [
    ("tumour", "tumor"), ("tumours", "tumor"), ("haemorrhages", "hemorrhage"),
    ("oedema", "edema"), ("leukaemia", "leukemia"), ("diarrhoea", "diarrhea"),
    ("hypoglycaemia", "hypoglycemia"), ("oesophageal atresia", "esophageal atresia"),
    ("paediatric", "pediatric"), ("foetal", "fetal"), ("fibre", "fiber"), ("centre", "center"),
    ("leucocytes", "leukocyte"), ("sulphate", "sulfate"), ("grey hair", "gray hair"),
    ("optic disc", "optic disk"), ("generalised", "generalized"),
    ("seizures", "seizure"), ("deformities", "deformity"), ("diseases", "disease"),
    ("stenoses", "stenosis"), ("prostheses", "prosthesis"), ("sarcomata", "sarcoma"),
    ("vertebrae", "vertebra"), ("abscesses", "abscess"), ("reflexes", "reflex"),
    ("webbed toes", "webbed toe"), ("cleft hands and feet", "cleft hand and foot"),
    ("nevi of skin", "nevus of skin"), ("naevi of skin", "nevus of skin"),
    ("metastases", "metastasis"), ("short phalanges", "short phalanx"),
    ("tumours of the hands", "tumor of the hand"),
    ("sweet potatoes", "sweet potato"), ("hammertoes", "hammertoe"), ("kitchen knives",
    "kitchen knife"), ("bread loaves", "bread loaf"), ("head lice", "head louse"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SAME)
def test_forms_of_one_name(left: str, right: str) -> None:
    assert fold(left) == fold(right)
    assert right in list(variants(left))


APART = [
    ("aids", "aid"), ("als", "al"), ("ms", "m"), ("tb", "tbs"), ("fits", "fit"),
    ("virus", "viru"), ("discharge", "diskharge"), ("loss", "los"), ("sclerosis", "sclerosi"),
    ("type 1s", "type 1"), ("series", "sery"), ("species", "specy"), ("tumör", "tumor"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), APART)
def test_words_that_are_not_forms_of_one(left: str, right: str) -> None:
    assert fold(left) != fold(right)
    assert right not in list(variants(left))


WORDS = st.sampled_from(
    [word for pair in SAME for key in pair for word in key.split()]
    + [*IRREGULAR, *IRREGULAR.values(), "of", "type", "1", "cd4+", "aids", "β"]
)


@given(st.lists(WORDS, min_size=1, max_size=6).map(" ".join))
def test_variants_fold_to_the_same_and_are_others(key: str) -> None:
    found = list(variants(key))
    assert len(found) < 128
    assert key not in found
    assert len(found) == len(set(found))
    assert {fold(one) for one in found} <= {fold(key)}


@pytest.mark.parametrize(("british", "american"), BRITISH)
def test_every_listed_stem_is_undone(british: str, american: str) -> None:
    ending = british in ("isation", "ised", "ising", "disc", "neurone", "metre", "litre")
    stem = "local" if british.startswith("is") else ""
    word = f"{stem}{british}" if ending else f"{british}tical"
    assert fold(f"severe {word}") == f"severe {stem}{american}{'' if ending else 'tical'}"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("vitamin b 12", "vitamin b12"),
        ("il 6", "il6"),
        ("type 1 a", "type 1a"),
        ("non hodgkin lymphoma", "nonhodgkin lymphoma"),
        ("club foot", "clubfoot"),
    ],
)
def test_one_space_less_and_one_more(left: str, right: str) -> None:
    assert right in list(spacings(left))
    assert left in list(spacings(right))


def test_spaces_that_make_another_word() -> None:
    assert "hiv" in list(spacings("h i v"))
    for apart in ("in active disease", "a typical seizure", "on set", "no nodule", "an aemia"):
        first, _, rest = apart.partition(" ")
        assert first + rest not in list(spacings(apart))
    assert "in active" not in list(spacings("inactive"))
    assert list(spacings("")) == []


@given(st.text("abi1 ", max_size=20).map(lambda text: " ".join(text.split())))
def test_spacings_differ_in_spaces_alone(key: str) -> None:
    found = list(spacings(key))
    assert key not in found
    assert len(found) <= 2 * max(len(key), 1)
    assert {one.replace(" ", "") for one in found} <= {key.replace(" ", "")}
    assert all(one == " ".join(one.split()) for one in found)


def test_a_text_has_no_other_spacings() -> None:
    assert len(list(spacings("ab " * 100))) == 100
    assert list(spacings("ab " * 200)) == []
    assert list(spacings("c " * 300 + "7")) == []
