"""Games with their features: a window of rows that is the same whatever the batches, and arrays that are checked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.records.outcomes import Outcome, OutcomeBatch, Side
from ratings_core.records.roster import Roster
from ratings_core.tallies.featured_games import FeaturedGames

NAMES = ("length", "headers")
SIDES = [(("a",), ("b",)), (("b",), ("c",)), (("a", "c"), ("b",)), (("a",), ("b",), ("c",))]
VALUES = st.sampled_from([0.0, -1.5, 2.0, float("nan")])
GAMES = st.lists(st.tuples(st.sampled_from(SIDES), st.integers(0, 2), st.tuples(VALUES, VALUES)), max_size=12)


def batch_of(games: list[tuple[tuple[tuple[str, ...], ...], int, tuple[float, float]]]) -> OutcomeBatch:
    roster = Roster()
    roster.intern(["a", "b", "c"])
    outcomes = [Outcome(tuple(Side(agents, i * place) for i, agents in enumerate(sides)), weight=1.0 + place) for sides, place, _ in games]
    return OutcomeBatch.of(outcomes, roster, Roster())


def folded(games: list, cuts: list[int], window: int) -> FeaturedGames:  # type: ignore[type-arg]
    found = FeaturedGames(NAMES, window)
    for low, high in zip([0, *cuts], [*cuts, len(games)], strict=True):
        part = games[low:high]
        values = np.array([values for *_, values in part], np.float64).reshape(-1, 2)
        found.add(batch_of(part), np.arange(low, high) // 4, values)
    return found


@given(GAMES, st.lists(st.integers(0, 12), max_size=3), st.integers(1, 6), st.integers(0, 3))
def test_a_window_of_the_newest_rows_whatever_the_batches(games: list, cuts: list[int], window: int, bucket: int) -> None:  # type: ignore[type-arg]
    cut = folded(games, sorted(min(cut, len(games)) for cut in cuts), window)
    at_once = folded(games, [], window)
    assert digest(cut.arrays()) == digest(at_once.arrays())
    paired = [(i, *game) for i, game in enumerate(games) if [*map(len, game[0])] == [1, 1] and not np.isnan(game[2]).any()]
    assert (cut.counted, cut.lacking) == (len(paired), len(games) - len(paired))
    rows, newest = cut.rows(), paired[-window:]
    assert [*rows.first] == ["abc".index(sides[0][0]) for _, sides, *_ in newest]
    assert [*rows.second] == ["abc".index(sides[1][0]) for _, sides, *_ in newest]
    assert [*rows.result] == [1.0 if place else 0.5 for *_, place, _ in newest]
    assert [*rows.weight] == [1.0 + place for *_, place, _ in newest]
    assert [*map(tuple, rows.values)] == [values for *_, values in newest]
    cut.drop_before(bucket)
    assert [*cut.rows().bucket] == [i // 4 for i, *_ in newest if i // 4 >= bucket]


@given(GAMES, GAMES)
def test_frozen_rows_stay_and_restored_ones_go_on(before: list, after: list) -> None:  # type: ignore[type-arg]
    games = folded(before, [], 5)
    frozen, wanted = games.frozen(), games.arrays()
    again = FeaturedGames.from_arrays(wanted)
    for one in (games, again):
        one.add(batch_of(after), np.full(len(after), 9), np.array([values for *_, values in after]).reshape(-1, 2))
    assert digest(frozen.arrays()) == digest(wanted)
    assert digest(again.arrays()) == digest(games.arrays())


def test_what_cannot_be_is_refused() -> None:
    games = folded([(SIDES[0], 1, (0.0, 1.0))], [], 3)
    with pytest.raises(InputError, match="each feature once"):
        FeaturedGames(("length", "length"), 3)
    with pytest.raises(InputError, match="values"):
        games.add(batch_of([]), np.zeros(0, np.int64), np.zeros((1, 2)))
    arrays = games.arrays()
    for broken in ({"order": arrays["order"][:0]}, {"values": arrays["values"][:, :1]}, {"weight": arrays["weight"].astype(np.float64)}):
        with pytest.raises(InputError, match="arrays"):
            FeaturedGames.from_arrays({**arrays, **broken})
    with pytest.raises(InputError, match=r"arrays must be .*state"):
        FeaturedGames.from_arrays({name: array for name, array in arrays.items() if name != "state"})
