"""Names one at a time and many at once: the fast way says what the slow one says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.records.names import are_names, check_name, is_name

EDGES = ["a", "a\nb", " a", "a ", "", "\n", "x" * 256, "x" * 257, "é" * 128, "é" * 129, "e\u0301", "\ud800"]
ANY = st.text(max_size=6) | st.sampled_from(EDGES)


@given(st.lists(ANY, max_size=5))
def test_many_at_once_as_one_at_a_time(names: list[str]) -> None:
    assert are_names(names) == all(map(is_name, names))


def test_a_name_comes_back_unchanged_and_the_rule_is_named() -> None:
    assert check_name("Curaçao") == "Curaçao"
    with pytest.raises(InputError, match=r"agents\[2\] must be in Unicode's normal form NFC"):
        check_name("e\u0301", "agents[2]")


@pytest.mark.parametrize("character", ["\u202a", "\u202e", "\u2066", "\u2069", "\x00", "\x1f", "\x7f", "\x80", "\x9f"])
def test_hidden_characters_are_refused(character: str) -> None:
    assert not is_name(f"a{character}b")
    assert not are_names(["a", f"a{character}b"])
