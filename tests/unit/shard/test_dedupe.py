"""The dedupe window against a dict and a deque, with windows small enough to wrap many times."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from services.state.dedupe import CONFLICT, DUPLICATE, MAX_CAPACITY, NEW, DedupeWindow

WORDS = st.integers(0, 4) | st.sampled_from([2**64 - 1, 2**63, 2**32])
EVENTS = st.lists(st.tuples(WORDS, st.integers(0, 5), st.sampled_from([0, 1, 2**40, 2**64 - 1])), max_size=120)


class Twin:
    def __init__(self, capacity: int) -> None:
        self.capacity, self.body, self.order = capacity, {}, deque()

    def admit(self, first: int, second: int, body: int) -> int:
        if (first, second) in self.body:
            return DUPLICATE if self.body[first, second] == body else CONFLICT
        if len(self.order) == self.capacity:
            del self.body[self.order.popleft()]
        self.order.append((first, second))
        self.body[first, second] = body
        return NEW


def admit(window: DedupeWindow, events: list[tuple[int, int, int]]) -> list[int]:
    ids = np.array([event[:2] for event in events], np.uint64).reshape(-1, 2)
    codes = window.admit(ids, np.array([event[2] for event in events], np.uint64))
    assert codes.dtype == np.uint8
    return codes.tolist()


@given(EVENTS, st.integers(1, 20))
def test_codes_and_content_are_those_of_a_dict(events: list[tuple[int, int, int]], capacity: int) -> None:
    window, twin = DedupeWindow(capacity), Twin(capacity)
    assert admit(window, events) == [twin.admit(*event) for event in events]
    assert len(window) == len(twin.order)
    assert [tuple(row) for row in window.arrays()["ids"].tolist()] == list(twin.order)


@given(EVENTS, st.integers(1, 20), st.integers(0, 120))
def test_cuts_and_restarts_change_nothing(events: list[tuple[int, int, int]], capacity: int, cut: int) -> None:
    whole, parts, single = (DedupeWindow(capacity) for _ in range(3))
    codes = admit(whole, events)
    before = admit(parts, events[:cut])
    arrays = parts.arrays()
    for array in arrays.values():
        array.flags.writeable = False
    restored = DedupeWindow.from_arrays(arrays, capacity)
    assert digest(restored.arrays()) == digest(arrays)
    assert before + admit(restored, events[cut:]) == codes
    assert [code for event in events for code in admit(single, [event])] == codes
    assert digest(restored.arrays()) == digest(single.arrays()) == digest(whole.arrays())


@pytest.mark.parametrize("capacity", [100, 1000, 1024])
def test_a_long_stream_through_growth_and_many_wraps(capacity: int) -> None:
    rng = np.random.default_rng(capacity)
    numbers = np.where(rng.random(20_000) < 0.5, np.arange(20_000), np.arange(20_000) - rng.integers(0, 2 * capacity, 20_000)).clip(0)
    events = [(int(n) * 0x9E3779B97F4A7C15 % 2**64, int(n), int(n) % 7) for n in numbers]
    window, twin = DedupeWindow(capacity), Twin(capacity)
    for start in range(0, len(events), 777):
        part = events[start : start + 777]
        assert admit(window, part) == [twin.admit(*event) for event in part]
    assert 28 * capacity - 64 <= window.nbytes <= 28 * capacity + 64


@pytest.mark.parametrize(("alike", "capacity"), [(1, 90), (7, 90), (100, 90), (1, 600)])
def test_ids_that_hash_alike(alike: int, capacity: int) -> None:
    """The table hashes first + second * constant. Where that is equal, all searches start at one slot, and distances exceed an entry."""
    constant, rng = 0x9E3779B97F4A7C15, np.random.default_rng(alike)
    numbers = np.concatenate([np.arange(capacity), rng.integers(0, 2 * capacity, 3000)]).tolist()
    events = [((n % alike - n * constant) % 2**64, n, 0) for n in numbers]
    window, twin = DedupeWindow(capacity), Twin(capacity)
    assert admit(window, events) == [twin.admit(*event) for event in events]
    assert [tuple(row) for row in window.arrays()["ids"].tolist()] == list(twin.order)
    again = DedupeWindow.from_arrays(window.arrays(), capacity)
    assert admit(again, events) == [twin.admit(*event) for event in events]
    with pytest.raises(InputError, match="must be distinct"):
        DedupeWindow.from_arrays({name: array[np.r_[: capacity - 1, 0]] for name, array in window.arrays().items()}, capacity)


@pytest.mark.parametrize("word", [0, 1])
def test_ids_that_share_a_word_are_told_apart_by_the_other(word: int) -> None:
    """The table keeps a few bits of an id's hash: only the ids themselves tell them apart."""
    ids = np.full((40_000, 2), 7, np.uint64)
    ids[:, word] = np.arange(100, 40_100)
    assert not DedupeWindow().admit(ids, np.zeros(len(ids), np.uint64)).any()


@pytest.mark.parametrize("capacity", [1 << 22, (1 << 22) + 1])
def test_a_full_window_of_millions_takes_28_bytes_an_id(capacity: int) -> None:
    rng = np.random.default_rng(3)
    ids, bodies = rng.integers(0, 2**64, (capacity, 2), np.uint64), np.zeros(capacity, np.uint32)
    window, last = DedupeWindow.from_arrays({"ids": ids, "bodies": bodies}, capacity), ids[-1000:].copy()
    assert 28 * capacity - 64 <= window.nbytes <= 28 * capacity + 64
    assert not window.admit(last + np.uint64(1), np.zeros(1000, np.uint64)).any()
    assert (window.admit(last, np.zeros(1000, np.uint64)) == DUPLICATE).all()
    assert not window.admit(ids[:1000], np.zeros(1000, np.uint64)).any(), "they were pushed out"
    assert (window.admit(ids[2000:3000], np.zeros(1000, np.uint64)) == DUPLICATE).all()


def test_searches_stay_short_however_often_all_ids_were_pushed_out() -> None:
    rng, window = np.random.default_rng(4), DedupeWindow(1 << 14)
    for _ in range(20):
        window.admit(rng.integers(0, 2**64, (window.capacity, 2), np.uint64), np.zeros(window.capacity, np.uint64))
    used = window._table != 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], used, [False]]).astype(np.int8)))
    runs = edges[1::2] - edges[::2]
    assert used.sum() == window.capacity
    assert runs.mean() < 4.0, "half of the slots are used: runs of linear probing are 2 long on average, in a fresh table too"
    assert runs.max() < 100


def test_only_the_last_ids_are_remembered() -> None:
    window = DedupeWindow(3)
    assert admit(window, [(i, i, 0) for i in range(4)]) == [NEW] * 4
    assert admit(window, [(1, 1, 0), (1, 1, 9), (0, 0, 0)]) == [DUPLICATE, CONFLICT, NEW]
    assert admit(window, [(1, 1, 0)]) == [NEW], "a duplicate does not make its id younger"


def test_a_window_of_few_ids_is_small_and_doubles_as_it_fills() -> None:
    window, sizes = DedupeWindow(), set[int]()
    assert window.nbytes < 4096
    for i in range(2000):
        admit(window, [(i, i, 0)])
        sizes.add(len(window._bodies))
    least = min(sizes)
    assert sorted(sizes) == [least << i for i in range(len(sizes))], "doubling keeps the cost of an id constant"
    assert max(sizes) < 4000


@pytest.mark.parametrize("capacity", [0, -1, MAX_CAPACITY + 1])
def test_capacities_out_of_range_are_refused(capacity: int) -> None:
    with pytest.raises(InputError, match="capacity"):
        DedupeWindow(capacity)


def test_columns_of_other_shapes_are_refused() -> None:
    window, ids, bodies = DedupeWindow(4), np.zeros((2, 2), np.uint64), np.zeros(2, np.uint64)
    for bad_ids, bad_bodies in [(ids[:, :1], bodies), (ids.astype(np.int64), bodies), (ids, bodies[:1]), (ids, bodies.astype(np.uint32))]:
        with pytest.raises(InputError):
            window.admit(bad_ids, bad_bodies)
    assert len(window) == 0


def test_arrays_of_no_window_are_refused() -> None:
    ids, bodies = np.arange(6, dtype=np.uint64).reshape(3, 2), np.zeros(3, np.uint32)
    cases = {
        "must be at most 2": ({"ids": ids, "bodies": bodies}, 2),
        "must be distinct": ({"ids": ids[[0, 1, 0]], "bodies": bodies}, 4),
        "must be uint64": ({"ids": ids, "bodies": bodies.astype(np.uint64)}, 4),
        r"uint32 \(n,\)": ({"ids": ids, "bodies": np.zeros(4, np.uint32)}, 4),
        r"and uint32": ({"ids": ids, "bodies": np.zeros(2, np.uint32)}, 4),
        "arrays must be": ({"ids": ids}, 4),
    }
    for rule, (arrays, capacity) in cases.items():
        with pytest.raises(InputError, match=rule):
            DedupeWindow.from_arrays(arrays, capacity)


def test_a_window_is_frozen_once_at_a_time() -> None:
    window = DedupeWindow(4)
    frozen = window.frozen()
    with pytest.raises(RuntimeError, match="frozen already"):
        window.frozen()
    frozen.close()
    window.frozen().close()
