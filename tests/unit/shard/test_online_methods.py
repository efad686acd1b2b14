"""Pools with every online method switched on: folded, restored, published, verified."""

import dataclasses
import json
import random

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.online import RATERS
from ratings_core.records.beliefs import Belief
from services.admin.verify import _board_difference, _Value
from services.checkpoints.objects import pack, unpack
from services.control.generations import make_raters
from services.control.records import FoldSettings, Generation, PoolCreated
from services.shard.partition import Partition
from services.shard.publishing.updates import update_of  # the boards as they go to the store
from services.state.pool import PoolState
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.folds import fold_events

POOL = "all"
SETTINGS: dict[str, dict[str, float]] = {
    "elo": {"provisional_k": 64, "provisional_outcomes": 5},
    "sco": {},
    "fenchel_young": {"seed": 7},
    "melo": {"dimensions": 4.0},
    "weng_lin": {"tau": 0.1},
    "glicko2": {"period_seconds": 86_400.0},
}


def generation(**online: dict[str, float]) -> tuple[PoolCreated, Generation]:
    made = PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FoldSettings(online=online))
    return made, Generation(pool=POOL, number=1, start=0, time=0.0, fold=made.fold)


def events(count: int) -> list[GameEvent]:
    draw, found = random.Random(5), []
    for number in range(count):
        agents = draw.sample([f"agent-{i}" for i in range(40)], draw.choice([2, 2, 4, 7]))
        if draw.random() < 0.3:
            sides = [Side(agents=agents[:1], place=1), Side(agents=agents[1:], place=draw.choice([1, 2]))]
        else:
            sides = [Side(agents=[agent], place=draw.choice([1, 2, 3])) for agent in agents]
        found.append(GameEvent(v=1, id=f"g{number}", pool=POOL, time=number * 5_000.0, sides=sides, weight=draw.choice([1.0, 0.5, 8.0])))
    return found


GAMES = events(300)


def test_every_method_is_tried() -> None:
    assert SETTINGS.keys() == RATERS.keys()


@pytest.mark.parametrize("method", [*RATERS, "all"])
def test_a_pool_goes_on_from_its_checkpoint_bit_for_bit(method: str) -> None:
    made = generation(**(SETTINGS if method == "all" else {method: SETTINGS[method]}))
    whole, half = PoolState(*made), PoolState(*made)
    assert fold_events(whole, GAMES) == []
    fold_events(half, GAMES[:170])
    arrays, _ = unpack(b"".join(bytes(part) for part in pack(half.arrays(), {})))
    restored = PoolState.restore(*made, arrays, 170)
    assert digest(restored.arrays()) == digest(half.arrays())
    for event in GAMES[170:]:
        fold_events(restored, [event])
    assert digest(restored.arrays()) == digest(whole.arrays())
    assert all(sums.pairs > 0 for sums in restored.content.ratings.prequential.values())


@pytest.mark.parametrize("method", RATERS)
def test_boards_show_what_ranks_and_verification_agrees(method: str) -> None:
    partition = Partition(0, 1)
    state = partition.pools[POOL] = PoolState(*generation(**{method: SETTINGS[method]}))
    board: dict[str, _Value] = {}
    beliefs: dict[str, Belief] = {}
    for start in range(0, len(GAMES), 60):  # only agents that played since are told
        fold_events(state, GAMES[start : start + 60])
        update = update_of(state, None, 1, partition, 0.0)  # type: ignore[arg-type]
        told = update.boards[method]
        board |= dict(zip(told.names, map(_Value, told.values), strict=True))
        beliefs |= dict(zip(told.names, told.beliefs, strict=bool(told.beliefs)))
    assert len(board) == 40
    assert _board_difference(state, {method: board}) is None
    read = state.content.ratings.raters[method].read(state.content.ratings.online[method], np.arange(40, dtype=np.int32))
    assert [board[name].rating for name in state.content.agents.names()] == read.rating.tolist()
    wrong = board | {"agent-3": _Value(board["agent-3"].rating + 1e-9)}
    assert "agent-3" in (_board_difference(state, {method: wrong}) or "")
    model = update.head.beliefs.get(method)
    assert (model is None) == (read.deviation is None) == (not beliefs)
    if model is not None:
        deviations = {name: model.deviation(beliefs[name], state.content.clock.time) for name in board}
        assert [deviations[name] for name in state.content.agents.names()] == pytest.approx(read.deviation, rel=1e-13)
        shown = {name: _Value(board[name].rating, deviations[name]) for name in board}
        assert _board_difference(state, {method: shown}, [method]) is None
        assert "40 agents differ" in (_board_difference(state, {method: board}, [method]) or "")
        shown["agent-3"] = _Value(board["agent-3"].rating, deviations["agent-3"] * (1 + 1e-15))
        assert "1 agents differ" in (_board_difference(state, {method: shown}, [method]) or "")


@pytest.mark.parametrize("method", RATERS)
def test_initial_ratings_of_a_generation_reach_every_method(method: str) -> None:
    made, plain = generation(**{method: SETTINGS[method]})
    start = PoolState(made, plain).content.ratings.raters[method].init(1).rating[0]
    given = Generation(pool=POOL, number=2, start=0, time=0.0, fold=plain.fold, initial={method: {"a": start + 5, "b": start}})
    shown = PoolState(made, given).content.ratings.read(method, np.arange(2, dtype=np.int32)).rating
    assert shown[0] - shown[1] == pytest.approx(5)


@pytest.mark.parametrize("method", RATERS)
def test_settings_that_a_file_may_hold_make_the_method(method: str) -> None:
    defaults = {field.name: field.default for field in dataclasses.fields(RATERS[method])}  # type: ignore[arg-type]
    written = json.loads(json.dumps({name: float(value) for name, value in defaults.items() if value is not None}))
    assert make_raters(Kind.GAMES, FoldSettings(online={method: written})) == {method: RATERS[method]()}
    with pytest.raises(InputError, match="must be among"):
        make_raters(Kind.GAMES, FoldSettings(online={method: {"speed": 1.0}}))
