"""The oracle agrees with the fold bit by bit on the traffic of chaos, and an error in any part of the fold makes them differ."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec
import numpy as np
import pytest

from services.boards.slice_boards import SliceName
from services.checkpoints.segments import segment_in_memory
from services.control.records import FoldSettings
from services.state.content import PoolContent
from services.state.pool import PoolState
from services.wire import events
from services.wire.pools import Kind
from services.wire.refusals import Reason
from tests.chaos.account import history_differences
from tests.chaos.fold import Tallies
from tests.chaos.held import marks, tallies
from tests.chaos.oracle import Pool
from tests.chaos.traffic import POOLS, Sent, fold_of, traffic
from tests.support.folds import fold_events
from tests.support.pools import state_of

RECORDS = list(islice(traffic(3, 8), 4000))


def outcomes_of(pool: str) -> list[Sent]:
    return [sent for sent in RECORDS if sent.pool == pool and not sent.refused]


def folded(pool: str) -> PoolState:
    known = {"online": {"elo": {}, "sco": {}}} if POOLS[pool] is Kind.GAMES else {}  # the methods of the oracle
    state = state_of(pool, POOLS[pool], msgspec.convert(fold_of(pool, **known), FoldSettings))
    refused = fold_events(state, events.decode([sent.value for sent in outcomes_of(pool)]).events)
    assert {one.reason for one in refused} <= {Reason.CONFLICTING_ID}
    assert len(refused) == state.content.counts["conflicts"]
    return state


def by_oracle(pool: str) -> Pool:
    expected = Pool()
    for sent in outcomes_of(pool):
        outcomes = msgspec.json.decode(sent.value)
        for outcome in outcomes if isinstance(outcomes, list) else [outcomes]:
            expected.take(outcome)
    return expected


def boards_of(state: PoolState) -> dict[str, dict[str, float]]:
    boards = content_boards(state.content)
    for key, made in () if state.slices is None else state.slices.slices.items():
        boards |= {SliceName(*key).board(method): rows for method, rows in content_boards(made.content).items()}
    return boards


def content_boards(content: PoolContent) -> dict[str, dict[str, float]]:
    names, ids, ratings = content.agents.names(), np.arange(len(content.agents), dtype=np.int32), content.ratings
    boards = {"outcomes": dict(zip(names, ratings.activity[ids].tolist(), strict=True))}
    return boards | {method: dict(zip(names, ratings.read(method, ids).rating.tolist(), strict=True)) for method in ratings.online}


@pytest.mark.parametrize("pool", ["ladder-0", "ladder-3", "marks"])
def test_oracle_and_fold_give_the_same_bits(pool: str) -> None:
    state, expected = folded(pool), by_oracle(pool)
    assert expected.outcomes > 100
    assert len(expected.slices) == (3 if POOLS[pool] is Kind.GAMES else 0)
    assert (state.content.counts["outcomes"], state.content.counts["duplicates"]) == (expected.outcomes, expected.duplicates)
    assert state.content.counts["conflicts"] == expected.conflicts
    assert boards_of(state) == expected.boards()
    assert tallies(state.arrays()) == expected.tallies
    assert history_of(state) == expected.ratings.marks


def history_of(state: PoolState) -> list[int]:
    history = state.content.history
    return [] if history is None else marks(state.content.agents.names(), [segment_in_memory(history.window)])


@pytest.mark.parametrize("column", ["before", "after"])
def test_a_wrong_bit_of_a_history_is_found(column: str) -> None:
    state, expected = folded("ladder-0"), by_oracle("ladder-0")
    assert history_differences("ladder-0", history_of(state), expected.ratings.marks) == []
    assert state.content.history is not None
    getattr(state.content.history.window.traces["sco"], column).view(np.uint64)[200] ^= np.uint64(1)
    (complaint,) = history_differences("ladder-0", history_of(state), expected.ratings.marks)
    assert "is the first that differs" in complaint


def test_hostile_records_are_refused_as_the_traffic_says() -> None:
    hostile = [sent for sent in islice(traffic(3, 8), 20_000) if -1 in sent.refused]
    assert {sent.value[:4] for sent in hostile} >= {b"\xff\xff\xff\xff"}
    assert any(sent.value.endswith(b'\\"' * 1000) for sent in hostile)
    for sent in hostile:
        [refusal] = events.decode([sent.value]).refusals
        assert (refusal.item, str(refusal.reason)) == (-1, sent.refused[-1])


def test_the_traffic_has_every_shape_of_outcome() -> None:
    games = [outcome for sent in RECORDS for outcome in decoded(sent) if "sides" in outcome]
    assert {len(game["sides"]) for game in games} == {2, 3, 4, 5, 6}
    sides = [len(side["agents"]) for game in games for side in game["sides"]]
    assert set(sides) == {1, 2, 3, 4}
    assert len({game.get("weight") for game in games}) > 10
    assert any(len({side["place"] for side in game["sides"]}) < len(game["sides"]) for game in games)
    assert any("weight" in outcome for sent in RECORDS for outcome in decoded(sent) if "scores" in outcome)


def decoded(sent: Sent) -> list[Any]:
    if sent.refused:
        return []
    outcomes = msgspec.json.decode(sent.value)
    return outcomes if isinstance(outcomes, list) else [outcomes]


def add_unit(name: str, column: str) -> Callable[[PoolState], None]:
    """A planted fault: one cell of a tally has one unit too many."""

    def change(state: PoolState) -> None:
        slab = next(iter(getattr(state.content.tallies, name).slabs.maps.values()))
        slab.rows[0, 1 + getattr(state.content.tallies, name).slabs.integers.index(column)] += 1

    return change


@pytest.mark.parametrize(("name", "column"), [("pairs", "wins"), ("pairs", "ties"), ("places", "weight"), ("teams", "weight")])
def test_one_unit_too_many_is_found(name: str, column: str) -> None:
    state = folded("ladder-0")
    add_unit(name, column)(state)
    assert tallies(state.arrays()) != by_oracle("ladder-0").tallies


def test_the_last_bit_of_a_score_row_is_found() -> None:
    state = folded("marks")
    slab = next(iter(state.content.tallies.scores.slabs.maps.values()))
    slab.rows[0, 2] += 1  # the bits of a float
    held, expected = tallies(state.arrays()), by_oracle("marks").tallies
    assert isinstance(held, Tallies)
    assert held != expected


@pytest.mark.parametrize("method", ["elo", "sco"])
def test_the_last_bit_of_a_rating_is_found(method: str) -> None:
    state = folded("ladder-0")
    rating = state.content.ratings.online[method].rating
    rating[0] = np.nextafter(rating[0], np.inf)
    assert boards_of(state) != by_oracle("ladder-0").boards()


def test_the_last_bit_of_a_slice_is_found() -> None:
    state = folded("ladder-0")
    assert state.slices is not None
    rating = next(iter(state.slices.slices.values())).content.ratings.online["elo"].rating
    rating[0] = np.nextafter(rating[0], np.inf)
    assert boards_of(state) != by_oracle("ladder-0").boards()
