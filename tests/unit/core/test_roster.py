"""The roster against a dict: ids in order of first appearance, whatever the cuts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.arrays.arena import pack
from ratings_core.arrays.coded import Coded
from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.records.roster import Roster

NAMES = st.lists(st.text("abé漢\n\0", min_size=1, max_size=3), max_size=60)
BATCHES = st.lists(NAMES, max_size=5)


def twin_ids(names: list[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


@given(BATCHES)
def test_ids_are_those_of_a_dict(batches: list[list[str]]) -> None:
    roster, seen = Roster(), []
    for batch in batches:
        new = len(set(batch) - set(seen))
        assert roster.count_new(Coded.of(pack(batch))) == new
        assert len(roster) == len(set(seen))
        seen += batch
        expected = twin_ids(seen)
        assert roster.lookup(batch).tolist() == [i if (i := expected[name]) < len(roster) else -1 for name in batch]
        ids = roster.intern(batch)
        assert ids.dtype == np.int32
        assert ids.tolist() == [expected[name] for name in batch]
    assert roster.names() == list(twin_ids(seen))
    assert [roster.name(i) for i in range(len(roster))] == roster.names()


@given(BATCHES)
def test_cuts_change_nothing(batches: list[list[str]]) -> None:
    cut, whole, single = Roster(), Roster(), Roster()
    for batch in batches:
        cut.intern(batch)
        for name in batch:
            single.intern([name])
    whole.intern([name for batch in batches for name in batch])
    assert digest(cut.arrays()) == digest(whole.arrays()) == digest(single.arrays())


@given(NAMES, NAMES)
def test_a_restored_roster_continues(before: list[str], after: list[str]) -> None:
    roster = Roster()
    roster.intern(before)
    restored = Roster.from_arrays(roster.arrays())
    assert restored.intern(after).tolist() == roster.intern(after).tolist()
    assert digest(restored.arrays()) == digest(roster.arrays())


def test_many_names_grow_it_within_its_memory() -> None:
    names = [f"player-{i:09d}" for i in range(100_000)]
    roster = Roster()
    before = roster.arrays()
    roster.intern(names)
    assert roster.lookup(names[::-1]).tolist() == list(range(100_000))[::-1]
    assert roster.nbytes <= 80 * len(names)
    assert Roster.from_arrays(before).names() == []


def test_arrays_are_copies() -> None:
    roster = Roster()
    roster.intern(["a", "b"])
    roster.arrays()["bytes"][:] = 0
    assert roster.names() == ["a", "b"]


def test_one_name_longer_than_all_room() -> None:
    roster = Roster()
    assert roster.intern(["x" * 10_000, "y", "x" * 10_000]).tolist() == [0, 1, 0]


def test_empty_names_are_refused_and_nothing_is_added() -> None:
    roster = Roster()
    with pytest.raises(InputError, match=r"names\[1\] must not be empty"):
        roster.intern(["a", "", "b"])
    with pytest.raises(InputError, match="must not be empty"):
        roster.count_new(Coded.of(pack(["a", ""])))
    assert len(roster) == 0
    assert roster.lookup(["", "a"]).tolist() == [-1, -1]


@pytest.mark.parametrize("agent", [-1, 2])
def test_ids_that_no_name_has_are_refused(agent: int) -> None:
    roster = Roster()
    roster.intern(["a", "b"])
    with pytest.raises(InputError, match="agent must be an id from 0 to 1"):
        roster.name(agent)
    with pytest.raises(InputError, match="indices must be from 0 to 1"):
        roster.names([0, agent])
    assert roster.names([1, 0, 1]) == ["b", "a", "b"]


def test_arrays_of_no_roster_are_refused() -> None:
    good = pack(["a", "b"])
    twice, empty = pack(["a", "a"]), pack(["a", ""])
    not_text = np.array([255, 66], np.uint8)
    cases = {
        "must hold each name once": {"bytes": twice.bytes, "start": twice.start},
        "must not be empty": {"bytes": empty.bytes, "start": empty.start},
        "must be UTF-8": {"bytes": not_text, "start": good.start},
        "arrays must be": {"bytes": good.bytes, "start": good.start, "more": good.start},
        "start must rise": {"bytes": good.bytes, "start": good.start[:-1]},
    }
    for rule, arrays in cases.items():
        with pytest.raises(InputError, match=rule):
            Roster.from_arrays(arrays)
