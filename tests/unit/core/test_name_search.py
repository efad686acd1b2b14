"""Search of names, compared with plain loops over strings."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.arrays.arena import Arena, pack
from ratings_core.errors import InputError
from ratings_core.records.name_search import EXACT, INNER, PREFIX, NameSearch, folded

LETTERS = "aAbB-ßäÄé漢İıſ😀"
"""Letters of one to four bytes, some of which fold to several letters or to a letter of another length."""
TEXTS = st.text(LETTERS, min_size=1, max_size=8).map(lambda text: unicodedata.normalize("NFC", text))
QUERIES = TEXTS | st.text(max_size=4)


@st.composite
def searches(draw: st.DrawFn) -> tuple[list[str], NameSearch]:
    """Names in their order, and their search."""
    names = draw(st.lists(TEXTS, unique=True, max_size=30))
    order = draw(st.permutations(range(len(names))))
    return [names[i] for i in order], NameSearch(pack(names), np.array(order, np.int32))


def tier_of(query: str, name: str) -> int | None:
    query, name = unicodedata.normalize("NFC", query).casefold(), name.casefold()
    if not query or query not in name:
        return None
    return EXACT if name == query else PREFIX if name.startswith(query) else INNER


def edits(a: str, b: str) -> int:
    """Distance of optimal string alignment: Levenshtein's, with swaps of neighbours."""
    table = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and (a[i - 1], a[i - 2]) == (b[j - 2], b[j - 1]):
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


@given(searches(), QUERIES, st.integers(0, 32), st.integers(0, 12))
def test_a_search_equals_a_loop_over_the_names(made: tuple[list[str], NameSearch], query: str, begin: int, count: int) -> None:
    names, search = made
    assert len(search) == len(names)
    for tier in (EXACT, PREFIX, INNER):
        expected = [place for place, name in enumerate(names) if place >= begin and tier_of(query, name) == tier]
        assert search.find(query, tier, begin, count) == expected[:count]


@given(searches(), QUERIES, st.integers(0, 6))
def test_the_nearest_names_are_those_of_a_loop_over_the_names(made: tuple[list[str], NameSearch], query: str, count: int) -> None:
    names, search = made
    sought = folded(query)
    distances = [edits(sought, name.casefold()) for name in names]
    most = 0 if not sought or "\n" in sought else 1 if len(sought) <= 4 else 2
    one, two = ([place for place, distance in enumerate(distances) if distance == wanted <= most] for wanted in (1, 2))
    begin = [place for place, name in enumerate(names) if most and len(sought) >= 4 and begins_near(sought, name.casefold())]
    assert search.nearest(query, count) == list(dict.fromkeys([*one, *begin, *two]))[:count]


def begins_near(sought: str, name: str) -> bool:
    """Whether a beginning of the name is one edit from the text, and the name does not begin with the text."""
    return not name.startswith(sought) and any(edits(sought, name[:end]) == 1 for end in range(len(name) + 1))


def test_a_beginning_with_one_wrong_letter_is_near() -> None:
    names = ["Zebra", "ZephyrHawk", "Zephyrine", "zephir", "Hawk", "ZEPHYR", "zéphyrs"]
    search = NameSearch(pack(names), np.arange(len(names)))
    assert [names[place] for place in search.nearest("zephir", 9)] == ["ZEPHYR", "ZephyrHawk", "Zephyrine"]
    assert [names[place] for place in search.nearest("zephyrr", 2)] == ["ZEPHYR", "ZephyrHawk"]
    assert [names[place] for place in search.nearest("zpehyrh", 9)] == ["ZephyrHawk", "ZEPHYR"]
    assert [names[place] for place in search.nearest("zehp", 9)] == ["ZephyrHawk", "Zephyrine", "zephir", "ZEPHYR"]
    assert search.nearest("zex", 9) == []


@given(st.lists(st.text("ab\u00e9", max_size=20), unique=True), st.integers(0, 3))
def test_names_are_sorted_by_all_their_bytes(names: list[str], common: int) -> None:
    names = ["a" * 7 * common + name for name in names if name or common]
    order = NameSearch(pack(names), np.arange(len(names)))._beginnings._sorted
    assert [names[place].encode() for place in order] == sorted(name.encode() for name in names)


def test_names_of_many_blocks_are_found_in_their_order() -> None:
    names = [f"agent-{i * 7919 % 10_007:05}" for i in range(10_007)]
    order = np.random.default_rng(1).permutation(len(names))
    search, placed = NameSearch(pack(names), order), [names[i] for i in order]
    for query in ("AGENT-00042", "agent-0004", "agent", "9999", "5", "-", "t-1", "nobody"):
        for tier in (EXACT, PREFIX, INNER):
            expected = [place for place, name in enumerate(placed) if tier_of(query, name) == tier]
            assert search.find(query, tier, 0, len(names)) == expected
            assert search.find(query, tier, 5000, 3) == [place for place in expected if place >= 5000][:3]
            assert search.find(query, tier, 1, 20) == [place for place in expected if place >= 1][:20]
    assert {placed[place] for place in search.nearest("agnet-00042", 5)} >= {"agent-00042"}


def test_no_names_and_no_text_find_nothing() -> None:
    nobody = NameSearch(pack([]), np.zeros(0, np.int32))
    some = NameSearch(pack(["ann"]), np.zeros(1, np.int32))
    for search, query in ((nobody, "ann"), (some, ""), (some, "\n"), (some, "ann\n"), (some, "\ud800")):
        assert [search.find(query, tier, 0, 5) for tier in (EXACT, PREFIX, INNER)] == [[], [], []]
        assert search.nearest(query, 5) == []


def test_what_is_no_name_and_no_tier_is_refused() -> None:
    with pytest.raises(InputError, match="line feeds"):
        NameSearch(Arena(np.frombuffer(b"a\nb", np.uint8), np.array([0, 3])), np.zeros(1, np.int32))
    with pytest.raises(InputError, match="number of names"):
        NameSearch(pack(["ann"]), np.zeros(2, np.int32))
    with pytest.raises(InputError, match="must be 0, 1 or 2"):
        NameSearch(pack(["ann"]), np.zeros(1, np.int32)).find("a", 3, 0, 1)
