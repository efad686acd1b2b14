"""Names that look alike by Unicode's table of confusable characters."""

import numpy as np
import pytest

from ratings_core.findings import words
from ratings_core.findings.records import Clones, Findings, LookAlike, LookAlikes
from services.solve.insight.look_alikes import look_alikes, skeleton


def groups(*names: str) -> list[list[str]]:
    found = look_alikes(names, np.arange(len(names), dtype=np.float64))
    assert found.groups_total == len(found.groups)
    return [[row.agent for row in group] for group in found.groups]


@pytest.mark.parametrize(
    ("original", "copy"),
    [
        ("paypal", "p\u0430ypal"),  # Cyrillic a
        ("scope", "\u0455\u0441\u043e\u0440\u0435"),  # all letters are Cyrillic
        ("IBM", "\u0406BM"),
        ("fish", "\ufb01sh"),
        ("AlphaZero", "\u0391lphaZero"),  # Greek Alpha
        ("bold", "\U0001d41bold"),
        ("bot", "b\u200bot"),
        ("modern", "m\u043ed\u0435rn"),
        ("modern", "moder\u0578"),  # Armenian vo, which looks like n
    ],
)
def test_a_copy_with_confusable_characters_is_reported(original: str, copy: str) -> None:
    assert groups(original, "other", copy) == [[copy, original]]


@pytest.mark.parametrize("names", [("model-1", "model-l"), ("gpt-40", "gpt-4o"), ("m", "rn"), ("José", "Jose"), ("王", "玉"), ("é1", "él")])
def test_names_that_differ_in_plain_characters_only_are_not(names: tuple[str, str]) -> None:
    assert groups(*names) == []


def test_a_character_looks_like_the_sequence_that_looks_like_it() -> None:
    assert skeleton("m") == skeleton("rn")
    assert groups("modern", "\U0001d426odern") == [["\U0001d426odern", "modern"]]
    assert groups("rnodern", "\U0001d426odern") == [["\U0001d426odern", "rnodern"]]


def test_most_active_agents_come_first_and_characters_are_named() -> None:
    found = look_alikes(["p\u0430ypal", "a", "paypal", "\u0430"], np.array([1.0, 50.0, 9.0, 2.0]))
    assert [[(row.agent, row.activity) for row in group] for group in found.groups] == [
        [("a", 50.0), ("\u0430", 2.0)],
        [("paypal", 9.0), ("p\u0430ypal", 1.0)],
    ]
    assert [row.characters for row in found.groups[1]] == [[], ["U+0430 CYRILLIC SMALL LETTER A"]]


def test_findings_of_earlier_versions_say_so() -> None:
    assert "earlier version" in str(Findings.__struct_defaults__[0].not_applicable)


def test_words_name_who_looks_alike() -> None:
    group = [LookAlike(agent="paypal", activity=9, characters=[]), LookAlike(agent="p\u0430ypal", activity=1, characters=["U+0430"])]
    [line] = words._look_alikes(LookAlikes(groups=[group], groups_total=1))
    assert line == "names look alike: paypal (activity 9, plain ASCII); p\u0430ypal (activity 1, U+0430)"
    assert list(words._look_alikes(LookAlikes())) == ["none: no two names look alike"]
    many = list(words._look_alikes(LookAlikes(groups=[group] * 20, groups_total=31)))
    assert (len(many), many[-1]) == (6, "and 26 more groups")


def test_words_say_how_near_clones_would_have_to_be() -> None:
    assert list(words._clones(Clones(radius=0.05))) == ["none: no near copies within 0.05; weakly connected agents are not compared"]
