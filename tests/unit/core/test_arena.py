"""Arenas: pack and unpack are inverse for every text that UTF-8 can hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.arrays.arena import Arena, pack
from ratings_core.errors import InputError

TEXTS = st.lists(st.text(st.characters(exclude_categories=("Cs",)) | st.just("\n"), max_size=12), max_size=30)


@given(TEXTS)
def test_names_of_pack_are_the_names(names: list[str]) -> None:
    arena = pack(names)
    assert len(arena) == len(names)
    assert arena.names() == names
    assert arena.bytes.tobytes() == "".join(names).encode()


@given(st.lists(TEXTS, max_size=6))
def test_joined_arenas_have_the_names_of_all_in_order(parts: list[list[str]]) -> None:
    joined = Arena.joined([pack(names) for names in parts])
    assert joined.names() == [name for names in parts for name in names]


@given(TEXTS, st.randoms(use_true_random=False))
def test_take_equals_packing_the_taken(names: list[str], random: object) -> None:
    indices = [] if not names else [random.randrange(len(names)) for _ in range(10)]  # type: ignore[attr-defined]
    taken = pack(names).take(np.array(indices, np.int64))
    assert taken.names() == [names[i] for i in indices]


@pytest.mark.parametrize("names", [["a\nb", "c"], ["\n"], ["", "\n", ""], ["x\n", "\ny"], ["é\n", "漢字", ""]])
def test_a_name_may_hold_the_separator(names: list[str]) -> None:
    assert pack(names).names() == names


@pytest.mark.parametrize("names", [["a", "\ud800"], ["\udfff\n", "b"]])
def test_lone_surrogates_are_refused_by_index(names: list[str]) -> None:
    with pytest.raises(InputError, match=r"names\[\d\] must have a UTF-8 form"):
        pack(names)


def test_what_is_not_a_sequence_of_texts_is_refused() -> None:
    with pytest.raises(InputError, match="not one name"):
        pack("alice")
    with pytest.raises(InputError, match=r"names\[1\] must be text"):
        pack(["alice", 7])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"names\[0\] must be text"):
        pack([b"alice"])  # type: ignore[list-item]


@pytest.mark.parametrize("start", [[], [1, 3], [0, 2], [0, 3, 2, 3], [0, 4]])
def test_an_arena_must_be_cut_from_end_to_end(start: list[int]) -> None:
    with pytest.raises(InputError, match="start must rise from 0 to 3"):
        Arena(np.zeros(3, np.uint8), np.array(start, np.int64))


def test_an_arena_refuses_other_dtypes_and_shapes() -> None:
    with pytest.raises(InputError, match="bytes"):
        Arena(np.zeros(3, np.int8), np.array([0, 3]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="start"):
        Arena(np.zeros(3, np.uint8), np.array([0, 3], np.int32))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="bytes"):
        Arena(np.zeros((3, 1), np.uint8), np.array([0, 3]))


@pytest.mark.parametrize("index", [-1, 2])
def test_take_refuses_what_is_not_there(index: int) -> None:
    with pytest.raises(InputError, match="indices must be from 0 to 1"):
        pack(["a", "b"]).take(np.array([0, index]))


def test_bytes_that_are_not_utf8_are_refused_on_decoding() -> None:
    with pytest.raises(InputError, match="bytes of text 1 must be UTF-8"):
        Arena(np.array([65, 255], np.uint8), np.array([0, 1, 2])).names()
