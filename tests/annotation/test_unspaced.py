"""Chinese and Japanese, which put no spaces between words."""

from __future__ import annotations

import pytest

from mirror_index.annotation.occurrences import NameIndex, words_of
from mirror_index.names import name_key

NAMES = "高血圧 糖尿病 2型糖尿病 インスリン 癌 肺癌 CT検査 うつ病 COVID-19肺炎".split()
INDEX = NameIndex(name_key(name) for name in [*NAMES, "heart attack"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("患者は高血圧と2型糖尿病です。", ["高血圧", "2型糖尿病", "糖尿病"]),
        ("高血圧", ["高血圧"]),
        ("インスリンの注射、インスリンポンプ", ["インスリン"]),  # a run of katakana is one word
        ("癌。肺癌と胃癌", ["癌", "肺癌"]),  # one character alone is a word, within others not
        ("CT検査を受けたheart attackの人", ["CT検査", "heart attack"]),
        ("PETCT検査", []),
        ("Ｃｔ検査", ["Ｃｔ検査"]),
        ("うつ病の患者", ["うつ病"]),
        ("COVID-19肺炎", ["COVID-19肺炎"]),
        ("高血。圧、糖、尿病", []),
        ("圧高血 病うつ", []),  # characters in another order are another word
    ],
)
def test_names_are_found_between_others(text: str, found: list[str]) -> None:
    words = words_of(text)
    places = [*INDEX.places(text, words), *INDEX.reordered(text, words)]
    unique = dict.fromkeys(text[place.start : place.end] for place in places)
    assert list(unique) == found


def test_scripts_with_spaces_are_read_as_before() -> None:
    text = "Мужчина с heart attack, 한국어 텍스트, naïve e\u0301tude"
    assert [text[word.start : word.end] for word in words_of(text)] == [
        "Мужчина", "с", "heart", "attack", "한국어", "텍스트", "naïve", "e\u0301tude",
    ]  # fmt: skip
