"""Contests of many, as Elo-MMR stores them."""

import io
import json
from typing import Any

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.formats.contests import Contest, contests_profile, iter_contests
from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.stream import unpacked

ROUND = {
    "id": 1,
    "name": "Round 1",
    "url": None,
    "time_seconds": 1266588000,
    "standings": [["ann", 0, 0], ["bob", 1, 2], ["cem", 1, 2], ["dee", 3, 3]],
}


def contests(*items: Any, text: str | None = None) -> list[Contest | Skipped]:
    data = text or "\n".join(json.dumps(item, indent=1) for item in items)
    found: list[Contest | Skipped] = []
    for one in iter_contests(unpacked(io.BytesIO(data.encode()))):
        if isinstance(one, FormatError):
            raise one
        found.append(one)
    return found


def test_places_tied_or_not_time_and_weight() -> None:
    first, second = contests(ROUND, {"weight": 0.5, "standings": [["dee", 1, 1], ["ann", 0, 0]]})
    assert isinstance(first, Contest)
    assert isinstance(second, Contest)
    assert (first.row, first.title, first.time, first.weight) == (1, "Round 1", 1266588000.0, 1.0)
    assert (first.handles, first.places) == (("ann", "bob", "cem", "dee"), (0, 1, 1, 3))
    assert (second.row, second.title, second.time, second.weight, second.places) == (2, "", None, 0.5, (1, 0))


def test_one_contest_many_or_an_array() -> None:
    assert (
        contests(text=json.dumps([ROUND, ROUND])) == contests(ROUND, ROUND) == contests(text=f"{json.dumps(ROUND)}\n{json.dumps(ROUND)}\n")
    )


def test_a_contest_of_one_is_left_out_and_said() -> None:
    assert contests(ROUND, {"standings": [["ann", 0, 0]]}, {"standings": []})[1:] == [
        Skipped(2, "fewer than two participants"),
        Skipped(3, "fewer than two participants"),
    ]


def test_contests_are_ballots_of_those_who_took_part() -> None:
    found = [one for one in contests(ROUND, {"weight": 0.5, "standings": [["eve", 1, 1], ["ann", 0, 0]]}) if isinstance(one, Contest)]
    profile = contests_profile(found)
    assert profile.names == ("ann", "bob", "cem", "dee", "eve")
    assert [(ballot.weight, ballot.levels) for ballot in profile.ballots] == [(1.0, ((0,), (1, 2), (3,))), (0.5, ((0,), (4,)))]
    wins, ties = profile.pair_counts("unknown").dense(5)
    np.testing.assert_array_equal(wins[0], [0, 1, 1, 1, 0.5])
    assert (ties.sum(), wins[:, 4].sum()) == (2, 0.5)
    with pytest.raises(InputError, match="contest with at least two participants"):
        contests_profile([])


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"standings": None}, "standings"),
        ({"standings": [["ann", 0, 0], ["bob", 1]]}, "standings[1]"),
        ({"standings": [["ann", 0, 0], [7, 1, 1]]}, "standings[1]"),
        ({"standings": [["ann", 0, 0], ["ann", 1, 1]]}, "standings[1]"),
        ({"standings": [["ann", 0, 1], ["bob", 0, 2]]}, "standings[1]"),
        ({"standings": [["ann", 1, 0], ["bob", 1, 1]]}, "standings[0]"),
        ({"standings": [["ann", 0.5, 1], ["bob", 1, 1]]}, "standings[0]"),
        ({"standings": [["ann", True, 1], ["bob", 1, 1]]}, "standings[0]"),
        ({"standings": [["ann", 0, 2**40], ["bob", 1, 1]]}, "standings[0]"),
        ({"standings": [["ann ", 0, 0], ["bob", 1, 1]]}, "standings[0]"),
        ({"time_seconds": "now"}, "time_seconds"),
        ({"time_seconds": float("nan")}, "time_seconds"),
        ({"time_seconds": 10**400}, "time_seconds"),
        ({"weight": 0}, "weight"),
        ({"weight": -1}, "weight"),
        ({"name": 3}, "name"),
    ],
)
def test_a_broken_contest_is_named(change: dict[str, Any], column: str) -> None:
    with pytest.raises(FormatError) as caught:
        contests(ROUND, {**ROUND, **change})
    assert (caught.value.row, caught.value.column) == (2, column)


def test_a_contest_that_is_no_object() -> None:
    with pytest.raises(FormatError, match="row 1 must be a contest"):
        contests(text="[3]")


def test_what_was_left_out_of_a_file_is_no_ballot() -> None:
    alone = {"standings": [["ann", 0, 0]]}
    with pytest.raises(InputError, match=r"contests\[1\] must be a Contest, got Skipped"):
        contests_profile(contests(ROUND, alone))  # type: ignore[arg-type]
