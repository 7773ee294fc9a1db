from __future__ import annotations

import pytest

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError, UsageError
from mirror_index.readers.languages import Languages, Worded, language_tag


@pytest.mark.parametrize(
    ("wanted", "tag", "rank"),
    [
        ((), None, 0),
        ((), "en-US", 1),
        ((), "de", 2),
        (("de", "en"), "de", 0),
        (("de", "en"), "DE-ch", 0),
        (("de", "en"), "en", 1),
        (("de", "en"), None, 2),
        (("de", "en"), "fr", None),
        (("en",), "eng", None),
        (("en-GB",), "en", None),
        (("ENG",), "en", 0),
        (("ger",), "de", 0),
    ],
)
def test_how_well_a_language_fits(
    wanted: tuple[str, ...], tag: str | None, rank: int | None
) -> None:
    assert Languages(wanted).rank(tag) == rank


def test_the_best_label_is_of_the_first_language_that_is_there() -> None:
    texts = [Worded("Apfel", "de"), Worded("pomme", "fr"), Worded("apple", "en"), Worded("x", "en")]
    assert Languages(("fr", "en")).best(texts) == Worded("pomme", "fr")
    assert Languages(("es", "en")).best(texts) == Worded("apple", "en")
    assert Languages(()).best(texts) == Worded("apple", "en")
    assert Languages(("it",)).best(texts) is None


def test_what_is_left_out_is_counted() -> None:
    languages = Languages(("en",))
    taken = [languages.take(tag) for tag in ("en", "de", "fr", "de", None)]
    assert taken == [True, False, False, False, True]
    row = languages.summary("a.ttl")
    assert row is not None
    assert row.skipped
    assert row.reason == "3 names are not in a chosen language and were left out (de 2, fr 1)"
    assert Languages(("en",)).summary("a.ttl") is None


def test_a_language_that_no_name_has_is_an_error_that_names_those_there() -> None:
    languages = Languages(("xx",))
    languages.take("de")
    with pytest.raises(SourceError, match=r"no name is in a chosen language.*de 1"):
        languages.summary("a.ttl")


def test_codes_of_the_umls() -> None:
    assert [language_tag(code) for code in ("ENG", "SCR", "en", "")] == ["en", "hr", "en", ""]


@pytest.mark.parametrize("tag", ["e", "", "en_GB", "english language", "-en"])
def test_what_is_no_language_is_refused(tag: str) -> None:
    with pytest.raises(UsageError, match="no language"):
        ReadOptions(languages=(tag,))
