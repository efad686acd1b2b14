"""Keyed rows against a dict, through every growth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.arrays.hash_table import MAX_ROWS, HashTable, row_of
from ratings_core.errors import InputError

KEYS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
ITEMS = st.lists(st.tuples(KEYS, st.integers(-5, 5), st.integers(-5, 5)), max_size=80)


def filled(items: list[tuple[int, int, int]]) -> HashTable:
    keyed = HashTable(1, 1)
    for key, whole, part in items:
        keyed.reserve(1)
        row = row_of(keyed.slots, keyed.rows, keyed.size, np.int64(key))
        keyed.size += row == keyed.size
        keyed.rows[row, 1] += whole
        keyed.floats[row, 2] += part / 2
    return keyed


def twin(items: list[tuple[int, int, int]]) -> dict[int, tuple[int, float]]:
    content: dict[int, tuple[int, float]] = {}
    for key, whole, part in items:
        before = content.get(key, (0, 0.0))
        content[key] = before[0] + whole, before[1] + part / 2
    return content


def content(keyed: HashTable) -> dict[int, tuple[int, float]]:
    rows = keyed.rows[: len(keyed)]
    return dict(zip(rows[:, 0].tolist(), zip(rows[:, 1].tolist(), rows[:, 2].view(np.float64).tolist(), strict=True), strict=True))


@given(ITEMS)
def test_rows_are_a_dict_in_order_of_first_appearance(items: list[tuple[int, int, int]]) -> None:
    keyed = filled(items)
    assert list(content(keyed).items()) == list(twin(items).items())
    assert keyed.sorted_columns()[0].tolist() == sorted(twin(items))


@given(ITEMS, ITEMS)
def test_merge_adds(first: list[tuple[int, int, int]], second: list[tuple[int, int, int]]) -> None:
    keyed, other = filled(first), filled(second)
    keyed.merge(other)
    assert list(content(keyed).items()) == list(twin(first + second).items())
    assert content(other) == twin(second)


@given(ITEMS, ITEMS)
def test_a_rebuilt_map_continues(before: list[tuple[int, int, int]], after: list[tuple[int, int, int]]) -> None:
    keyed = HashTable.from_rows(filled(before).sorted_columns().T, floats=1)
    assert (keyed.n_integers, keyed.n_floats) == (1, 1)
    keyed.merge(filled(after))
    assert content(keyed) == twin(before + after)


@pytest.mark.parametrize("bits", [1, 11, 12, 33, 63])
def test_keys_of_any_width_are_sorted(bits: int) -> None:
    keys = np.unique(np.random.default_rng(bits).integers(-(2**bits), 2**bits, 5000))
    mixed = np.random.default_rng(0).permutation(keys)
    columns = HashTable.from_rows(np.column_stack([mixed, -mixed])).sorted_columns()
    assert (columns == [keys, -keys]).all()


def test_many_keys_stay_within_the_memory_stated() -> None:
    keyed, other = HashTable(3), HashTable(3)
    keys = np.random.default_rng(1).permutation(70_000)
    other = HashTable.from_rows(np.column_stack([keys, keys, keys, keys]))
    peak = 0.0
    for _ in range(2):
        keyed.merge(other)
        peak = max(peak, keyed.nbytes / len(keyed))
    assert peak <= (1 + 3) * 10 + 16
    assert (keyed.sorted_columns()[1:] == 2 * np.arange(70_000)).all()


def test_rows_that_grow_stay_readable_for_whoever_holds_them() -> None:
    keyed, other = HashTable.from_rows(np.array([[1, 2], [3, 4]])), HashTable.from_rows(np.array([[i, 1] for i in range(1000)]))
    held = keyed.floats
    before = held.copy()
    keyed.merge(other)
    assert len(keyed.rows) >= 1000
    assert held.tobytes() == before.tobytes()
    assert keyed.sorted_columns()[1].tolist() == [1, 3, 1, 5, *[1] * 996]


def test_rows_read_only_can_be_taken() -> None:
    rows = np.array([[1, 2], [3, 4]])
    rows.flags.writeable = False
    keyed = HashTable.from_rows(rows)
    keyed.merge(keyed.from_rows(rows))
    assert keyed.sorted_columns().tolist() == [[1, 3], [4, 8]]


def test_equal_keys_and_too_many_are_refused() -> None:
    with pytest.raises(InputError, match="must be distinct"):
        HashTable.from_rows(np.array([[1, 0], [2, 0], [1, 0]]))
    with pytest.raises(InputError, match=f"must be at most {MAX_ROWS}"):
        HashTable(1).reserve(MAX_ROWS + 1)
