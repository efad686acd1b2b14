"""From outcomes to rows: deviations on a board are those that `ratings_core` gives for the same games, also after inactivity."""

import numpy as np
import pytest
import redis

from ratings_core.online import RATERS, Rater
from services.boards import reading as boards
from services.boards.reading import Board
from services.boards.store.redis import RedisStore
from services.control.records import FoldSettings
from services.runtime.settings import PROVISIONAL
from services.shard.partition import Partition
from services.shard.publishing.publisher import Publisher
from services.state.pool import PoolState
from services.wire.events import GameEvent, Side
from tests.support.belief_reach import reach
from tests.support.boards import Content
from tests.support.folds import fold_events
from tests.support.game_streams import Game, at_times, batch_of, game, mixed_games
from tests.support.pools import first_generation, pool_of
from tests.support.redis import flush, redis_url
from tests.support.stores import KEYS, other, raw, store

__all__ = ["other", "raw", "redis_url", "store"]

POOL, AGENTS, EPOCH, WEEK = "club", 40, 7, 604_800.0
METHODS: dict[str, dict[str, float]] = {"weng_lin": {"tau": 0.2, "z": 2.0}, "glicko2": {"period_seconds": 86_400.0, "volatility": 0.09}}
GAMES = at_times(mixed_games(11, 300, AGENTS), np.random.default_rng(3).integers(-3_600, 90_000, 300).cumsum())
LAST = max(one.time for one in GAMES)


def event(number: int, one: Game) -> GameEvent:
    sides = [Side(agents=[f"agent-{member}" for member in members], place=place) for members, place in one.sides]
    return GameEvent(v=1, id=f"g{number}", pool=POOL, time=one.time, sides=sides, weight=one.weight / 2**20)


class Shard:
    """One pool, folded and published to a real store."""

    def __init__(self, store: RedisStore, epoch: int = EPOCH, held: PoolState | None = None) -> None:
        made = pool_of(POOL, fold=FoldSettings(online={"elo": {}, **METHODS}))
        generation = first_generation(made)
        self.partition, self.publisher, self.epoch, self.now = Partition(0, 1), Publisher(store.live, 0.2, Content()), epoch, 0.0
        restored = held and PoolState.restore(made, generation, held.arrays(), held.content.counts["outcomes"])
        self.state = restored or PoolState(made, generation)
        self.partition.pools[POOL] = self.state
        self.partition.position = self.state.content.counts["outcomes"]

    def play(self, games: list[Game]) -> None:
        """Fold `games` and publish them, in rounds until nothing is left to tell."""
        assert fold_events(self.state, [event(self.partition.position + i, one) for i, one in enumerate(games)]) == []
        self.partition.position += len(games)
        self.round()
        while self.state.changes.any:
            self.round()

    def round(self) -> None:
        self.publisher.step(self.now, {0: self.partition}, {0: self.epoch})
        if self.publisher._job is not None:
            self.publisher._job.exception(60.0)
        self.publisher.step(self.now, {}, {})
        self.now += 3.0


def board_of(store: RedisStore, method: str) -> Board:
    found = boards.board(store, POOL, method, start=0, count=1000, now=0.0)
    assert found is not None
    return found


def agrees(store: RedisStore, method: str, games: list[Game]) -> dict[str, float]:
    """Whether a board is what the method alone makes of `games`; the deviations by name."""
    rater: Rater = RATERS[method](**METHODS[method])
    state = rater.init(AGENTS)
    rater.fold(state, batch_of(games))
    expected, found = rater.read(state, np.arange(AGENTS, dtype=np.int32)), board_of(store, method)
    assert expected.deviation is not None
    assert found.total == AGENTS
    rows = {row.agent: row for row in found.rows}
    shown = [rows[f"agent-{i}"] for i in range(AGENTS)]
    np.testing.assert_allclose([row.rating for row in shown], expected.rating, rtol=1e-12)
    np.testing.assert_allclose([row.deviation for row in shown], expected.deviation, rtol=0, atol=1e-9)
    mean = state.rating if method == "weng_lin" else expected.rating
    assert expected.beliefs is not None
    half = reach(method, mean, expected.deviation, expected.beliefs.deviation)
    np.testing.assert_allclose([row.low for row in shown], mean - half, rtol=1e-12)
    np.testing.assert_allclose([row.high for row in shown], mean + half, rtol=1e-12)
    assert [row.provisional for row in shown] == (expected.outcomes < PROVISIONAL.outcomes).tolist()
    return {row.agent: row.deviation for row in shown if row.deviation is not None}


@pytest.mark.parametrize("method", METHODS)
def test_a_board_shows_what_the_method_gives_for_the_same_games(store: RedisStore, method: str) -> None:
    shard, done = Shard(store), []
    for start in range(0, len(GAMES), 60):
        shard.play(GAMES[start : start + 60])
        done += GAMES[start : start + 60]
        if len({member for one in done for members, _ in one.sides for member in members}) == AGENTS:
            agrees(store, method, done)
    assert len(done) == len(GAMES)
    shard.publisher.drain(shard.now, {}, {})


def test_deviations_of_those_away_grow_while_others_play_and_are_not_written(store: RedisStore, redis_url: str) -> None:
    shard = Shard(store)
    shard.play(GAMES)
    before = agrees(store, "glicko2", GAMES)
    with redis.Redis.from_url(redis_url, decode_responses=True) as raw:
        written = raw.hgetall(KEYS.beliefs(POOL, 1, "glicko2"))
        games = list(GAMES)
        for weeks in (0.3, 4, 60, 5000):
            late = [game(0, 1, time=LAST + weeks * WEEK)]
            shard.play(late)
            games += late
            after = agrees(store, "glicko2", games)
            agrees(store, "weng_lin", games)
        changed = {name for name, text in raw.hgetall(KEYS.beliefs(POOL, 1, "glicko2")).items() if text != written[name]}
    assert changed == {"agent-0", "agent-1"}
    assert all(after[name] > before[name] for name in before.keys() - changed)
    assert max(after.values()) == 350.0
    assert not any(row.provisional for row in board_of(store, "glicko2").rows), "time takes no evidence away"
    shard.publisher.drain(shard.now, {}, {})


def test_a_restarted_shard_goes_on_and_a_lost_store_is_filled_again(store: RedisStore, other: RedisStore, redis_url: str) -> None:
    first = Shard(store)
    first.play(GAMES[:200])
    first.publisher.drain(first.now, {}, {})
    again = Shard(other, EPOCH + 1, first.state)
    again.play(GAMES[200:])
    for method in METHODS:
        agrees(store, method, GAMES)
    flush(redis_url)
    late = [game(0, 1, time=LAST + WEEK)]
    again.play(late)
    for method in METHODS:
        agrees(store, method, GAMES + late)
    again.publisher.drain(again.now, {}, {})


def test_a_board_of_an_earlier_release_gets_its_beliefs_at_the_next_start(store: RedisStore, other: RedisStore, redis_url: str) -> None:
    first = Shard(store)
    first.play(GAMES)
    first.publisher.drain(first.now, {}, {})
    with redis.Redis.from_url(redis_url) as raw:
        raw.delete(*(KEYS.beliefs(POOL, 1, method) for method in METHODS))
        told = raw.get(KEYS.head(POOL))
        raw.set(KEYS.head(POOL), told[: told.index(b',"beliefs"')] + b"}")
    assert all(row.deviation is None for row in board_of(store, "glicko2").rows)
    again = Shard(other, EPOCH + 1, first.state)
    late = [game(0, 1, time=LAST)]
    again.play(late)
    for method in METHODS:
        agrees(store, method, GAMES + late)
    again.publisher.drain(again.now, {}, {})
