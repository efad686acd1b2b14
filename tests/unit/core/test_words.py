"""Words of results: numbers with units."""

import math

import pytest

from ratings_core.words import amount, counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (1.0, "1"), (1_234_567, "1234567"), (2.718281828, "2.718"), (math.inf, "inf"), (math.nan, "nan")]
)
def test_whole_numbers_have_all_digits_and_others_four(number: float, text: str) -> None:
    assert amount(number) == text


def test_only_one_is_singular() -> None:
    assert [counted(number, "game") for number in (0, 1, 1.5, 2)] == ["0 games", "1 game", "1.5 games", "2 games"]
