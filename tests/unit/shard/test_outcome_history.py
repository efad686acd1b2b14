"""The history that a fold records: equal for equal outcomes, however they are cut into calls, and restored from checkpoints."""

import random
from itertools import pairwise

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from services.checkpoints.segments import DRAWN, LOST, WON, segment_in_memory
from services.control.records import FoldSettings
from services.state.history import OutcomeHistory, TracedOutcomes, window_names
from services.state.pool import PoolState
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.histories import bits_of, twin_rows
from tests.support.pools import state_of

ROWS = 60
METHODS = {"elo": {}, "sco": {}, "weng_lin": {"z": 3.0}, "glicko2": {"period_seconds": 50.0}, "melo": {}, "fenchel_young": {}}
FOLD = FoldSettings(online=METHODS, dedupe_window=1000)
RESULTS = {LOST: "lost", DRAWN: "drawn", WON: "won"}


@pytest.fixture(autouse=True)
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.state.history.SEGMENT_ROWS", ROWS)


def events(count: int = 300, seed: int = 4) -> list[GameEvent]:
    """Games of two to five sides, some of them teams, with ties, weights, late outcomes and duplicates."""
    draw, made = random.Random(seed), []
    for i in range(count):
        agents = draw.sample([f"agent-{k}" for k in range(12 + i // 20)], draw.choice((2, 2, 2, 3, 5)))
        sides = [Side([agent], draw.randrange(3)) for agent in agents]
        if len(agents) == 5:
            sides = [Side(agents[:2], draw.randrange(2)), Side(agents[2:], draw.randrange(2))]
        weight, number = draw.choice((1.0, 1.0, 0.25)), i - 1 if i % 25 == 24 else i
        event = GameEvent(v=1, id=f"g{number}", pool="p", time=1e9 + 10.0 * i - draw.choice((0.0, 0.0, 400.0)), sides=sides, weight=weight)
        made.append(event if number == i else made[-1])
    return made


def recorded(events_: list[GameEvent], cuts: list[int], state: PoolState | None = None) -> tuple[PoolState, list[TracedOutcomes]]:
    """The state after a fold in parts, and the segments that became complete."""
    state, segments = state or state_of(fold=FOLD), list[TracedOutcomes]()
    history = state.content.history
    assert history is not None
    history.sink = segments.append
    for start, end in pairwise([0, *cuts, len(events_)]):
        assert fold_events(state, events_[start:end]) == []
    return state, segments


def window(state: PoolState) -> TracedOutcomes:
    assert state.content.history is not None
    return state.content.history.window


@pytest.mark.parametrize("cuts", [[1], list(range(1, 300)), list(range(7, 300, 7)), [150, 299]])
def test_equal_outcomes_make_equal_segments_and_windows(cuts: list[int]) -> None:
    (once, whole), (often, cut) = recorded(events(), []), recorded(events(), cuts)
    assert list(map(bits_of, whole)) == list(map(bits_of, cut))
    assert bits_of(window(once)) == bits_of(window(often))
    assert len(whole) > 5


def test_segments_follow_each_other_and_end_with_the_outcome_that_fills_them() -> None:
    state, segments = recorded(events(), [100])
    for segment, after in pairwise([*segments, window(state)]):
        assert segment.end == after.first
        assert len(segment.agent) - segment.members[-int(segment.sides[-1]) :].sum() < ROWS <= len(segment.agent)
    assert segments[0].first == 0
    assert window(state).end == state.content.counts["outcomes"] < len(events())


def test_rows_are_those_of_a_fold_of_one_outcome_at_a_time() -> None:
    state, segments = recorded(events(), [13, 90])
    names, parts = state.content.agents, [*segments, window(state)]
    opened = [segment_in_memory(part) for part in parts]
    expected = list(twin_rows(state_of(fold=FOLD), events()))
    found = {}
    for segment in opened:
        for agent in range(len(names)):
            begin, end = segment.places_of(agent)
            for row in segment.rows(begin, end):
                outcome = segment.first + int(row["outcome"]) + 1
                sides: dict[int, tuple[list[str], int]] = {}
                for member in segment.members(row, agent):
                    sides.setdefault(member.side, ([], member.place))[0].append(names.name(member.agent))
                found[outcome, names.name(agent)] = (
                    float(row["time"]), int(row["weight"]) / 2**20, RESULTS[int(row["result"])], int(row["side"]),
                    tuple((tuple(members), place) for members, place in sides.values()),
                    {method: float(row[f"before.{method}"]) for method in METHODS},
                    {method: float(row[f"after.{method}"]) for method in METHODS},
                )  # fmt: skip
    assert found == {(row.outcome, row.agent): row[2:] for row in expected}


@pytest.mark.parametrize("at", [0, 1, 140, 299])
def test_a_restored_state_records_as_the_one_that_was_not_stopped(at: int) -> None:
    state, before = recorded(events()[:at], [])
    history = state.content.history
    assert history is not None
    arrays = {**state.arrays(), **{name: array.copy() for name, array in history.arrays().items()}}
    restored = PoolState.restore(state.created, state.generation, arrays, at)
    rest, after = recorded(events()[at:], [7], restored)
    whole, segments = recorded(events(), [])
    assert list(map(bits_of, [*before, *after])) == list(map(bits_of, segments))
    assert bits_of(window(rest)) == bits_of(window(whole))
    assert digest(rest.arrays()) == digest(whole.arrays())


def test_a_window_without_outcomes_is_a_segment_without_rows() -> None:
    duels = [GameEvent(v=1, id=f"d{i}", pool="p", time=1.0, sides=[Side(["a"], 1), Side(["b"], 2)]) for i in range(ROWS // 2)]
    state, (full,) = recorded(duels, [])
    empty = segment_in_memory(window(state))
    assert (full.end, empty.first, empty.end, empty.places_of(0)) == (ROWS // 2, ROWS // 2, ROWS // 2, (0, 0))
    assert len(empty.rows(0, 0)) == 0


def test_arrays_of_a_window_stay_as_they_are_while_the_fold_goes_on() -> None:
    state, _ = recorded(events()[:20], [])
    history = state.content.history
    assert history is not None
    frozen = history.arrays()
    copied = {name: array.tobytes() for name, array in frozen.items()}
    recorded(events()[20:], [30], state)
    assert {name: array.tobytes() for name, array in frozen.items()} == copied
    assert set(frozen) == window_names(list(METHODS))


def test_a_history_changes_no_bit_of_the_content() -> None:
    without = state_of(fold=FoldSettings(online=METHODS, dedupe_window=1000, history=0))
    fold_events(without, events())
    assert without.content.history is None
    assert digest(without.arrays()) == digest(recorded(events(), [])[0].arrays())


def test_pools_without_online_methods_keep_no_history() -> None:
    assert state_of(kind=Kind.SCORES).content.history is None
    assert state_of(fold=FoldSettings(online={})).content.history is None


def test_a_checkpoint_of_an_earlier_release_begins_a_history() -> None:
    state, _ = recorded(events()[:100], [])
    restored = PoolState.restore(state.created, state.generation, state.arrays(), 100)
    assert (window(restored).first, len(window(restored))) == (state.content.counts["outcomes"], 0)


@pytest.mark.parametrize("wrong", ["first", "place", "elo.after"])
def test_arrays_that_do_not_fit_are_refused(wrong: str) -> None:
    state, _ = recorded(events()[:20], [])
    history = state.content.history
    assert history is not None
    arrays = {name: array.copy() for name, array in history.arrays().items()}
    arrays[f"history.{wrong}"] = np.append(arrays[f"history.{wrong}"], arrays[f"history.{wrong}"][-1:])
    if wrong == "first":
        arrays["history.first"] = np.array([5], np.int64)
    with pytest.raises(InputError):
        OutcomeHistory.from_arrays(tuple(METHODS), arrays, state.content.counts["outcomes"])
    del arrays["history.time"]
    with pytest.raises(InputError, match="must be the history of outcomes"):
        OutcomeHistory.from_arrays(tuple(METHODS), arrays, state.content.counts["outcomes"])
