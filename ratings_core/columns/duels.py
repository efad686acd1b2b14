"""Games between single agents as columns, from columns of names and results."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns.outcomes import Games, numbered
from ratings_core.errors import InputError
from ratings_core.records.outcomes import MAX_WEIGHT, MIN_WEIGHT, NO_TASK, WEIGHT_ONE
from ratings_core.records.roster import Roster
from ratings_core.solution import Floats

FIRST: Final = 1
SECOND: Final = -1
TIE: Final = 0


def duels(
    first: Coded,
    second: Coded,
    won: NDArray[np.int8],
    *,
    weight: Floats | None = None,
    time: Floats | None = None,
    tasks: tuple[Arena, NDArray[np.int64]] | None = None,
) -> Games:
    """N games of two agents.

    Args:
        first: n names.
        second: n names, each another name than that of `first`.
        won: int8 (n,), 1 if the first agent won, -1 if the second one won, 0 for a tie.
        weight: float64 (n,), 0.001 to 1000; None for weight 1.
        time: float64 (n,), seconds since 1970; None for no times, which are 0.
        tasks: Names of tasks, and for each game its index in these names, or -1; None for no tasks.

    Raises:
        InputError: Columns differ in length, an agent plays against itself, or a weight is out of range.
    """
    n = len(first)
    for argument, column in (("second", second), ("won", won), ("weight", weight), ("time", time)):
        if column is not None and len(column) != n:
            raise InputError(argument, len(column), f"must have one entry for each of the {n} games")
    both = _one_dictionary(first, second)
    codes = both.code.reshape(2, n)
    if (same := np.flatnonzero(codes[0] == codes[1])).size:
        raise InputError(f"second[{same[0]}]", second.take(same[:1]).names()[0], "must differ from first")
    place = np.ones((n, 2), np.int32)
    place[:, 0] += won < 0
    place[:, 1] += won > 0
    names = Coded(both.texts, np.ascontiguousarray(codes.T).ravel())
    return singles(names, np.full(n, 2), place.ravel(), weight=weight, time=time, tasks=tasks)


def singles(
    names: Coded,
    sizes: NDArray[np.int64],
    place: NDArray[np.int32],
    *,
    weight: Floats | None = None,
    time: Floats | None = None,
    tasks: tuple[Arena, NDArray[np.int64]] | None = None,
) -> Games:
    """N games whose sides are single agents.

    Args:
        names: The agent of each side.
        sizes: int64 (n,), number of sides of each game, 2 or more.
        place: int32 (sides,), place of each side; lower is better, equal places tie.
        weight: As in `duels`.
        time: As in `duels`.
        tasks: As in `duels`.

    Raises:
        InputError: A weight is out of range.
    """
    n = len(sizes)
    start = np.zeros(n + 1, np.int64)
    np.cumsum(sizes, out=start[1:])
    if tasks is None:
        named, task_of = pack([]), np.full(n, NO_TASK, np.int64)
    else:
        has = tasks[1] >= 0
        named, task_of = tasks[0].take(tasks[1][has]), numbered(has)
    return Games(
        names=names,
        side_start=start,
        place=place,
        agent_start=np.arange(len(place) + 1, dtype=np.int64),
        weight=units(weight, n),
        time=np.zeros(n) if time is None else np.asarray(time, np.float64),
        tasks=named,
        task_of=task_of,
        meta=Arena(np.zeros(0, np.uint8), np.zeros(n + 1, np.int64)),
        id_hash=np.zeros((n, 2), np.uint64),
        body_hash=np.zeros(n, np.uint64),
    )


def units(weight: Floats | None, n: int) -> NDArray[np.int64]:
    """Weights of n games in units of 2**-20, int64 (n,). Raises `InputError` for a weight outside 0.001 to 1000."""
    if weight is None:
        return np.full(n, WEIGHT_ONE, np.int64)
    given = np.asarray(weight, np.float64)
    wrong = np.flatnonzero(~((given >= MIN_WEIGHT) & (given <= MAX_WEIGHT)))
    if wrong.size:
        raise InputError(f"weight[{wrong[0]}]", given[wrong[0]], f"must be from {MIN_WEIGHT} to {MAX_WEIGHT:g}")
    return np.rint(given * WEIGHT_ONE).astype(np.int64)


def _one_dictionary(first: Coded, second: Coded) -> Coded:
    """The names of both, in order, with each distinct name once in the dictionary, so that equal codes are equal names."""
    return distinct(Coded.joined([first, second]))


def distinct(names: Coded) -> Coded:
    """The same names with each distinct text once in the dictionary, in order of their first use. Raises `InputError` for an empty name."""
    used, roster = names.used(), Roster()
    ids = roster.intern_packed(used.texts)
    if len(roster) == len(used.texts):
        return used
    held = roster.arrays()
    return Coded(Arena(held["bytes"], held["start"]), ids[used.code])
