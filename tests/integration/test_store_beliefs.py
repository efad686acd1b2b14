"""Deviations of live boards, of methods that hold beliefs, on real servers."""

import math

import pytest
import redis

from ratings_core.errors import InputError
from ratings_core.records.beliefs import Belief, BeliefModel
from services.boards import reading as boards
from services.boards.result import AgentRow
from services.boards.store.live import MEMBERS_A_CALL
from services.boards.store.protocol import LiveBoard, PoolHead, StoreLost
from services.boards.store.redis import RedisStore
from tests.support.boards import head_of
from tests.support.redis import content, redis_url
from tests.support.stores import KEYS, live, other, raw, snapshot, store

__all__ = ["other", "raw", "redis_url", "store"]
WEEK = 604_800.0
GLICKO = BeliefModel(newcomer=350.0, period_seconds=WEEK)
ORDINAL = BeliefModel(newcomer=8.0, below=3.0)


def believing(time: float | None = 0.0, **more: object) -> PoolHead:
    """The head of a pool at that time, of three methods, of which two hold beliefs."""
    return head_of(online=["elo", "glicko2", "weng_lin"], beliefs={"glicko2": GLICKO, "weng_lin": ORDINAL}, pool_time=time, **more)


def glicko(**known: tuple[float, ...]) -> dict[str, LiveBoard]:
    """Agents, each with rating, deviation, wander, since."""
    return {"glicko2": LiveBoard(list(known), [rating for rating, *_ in known.values()], [Belief(*rest) for _, *rest in known.values()])}


def deviations(store: RedisStore) -> dict[str, tuple[float | None, float | None]]:
    """Agent -> rating, deviation."""
    page = store.live.page("blitz", "glicko2", 0, 10_000)
    assert page is not None
    return {row.agent: (row.rating, row.deviation) for row in page.rows}


class TestBeliefs:
    def test_deviations_come_back_bit_for_bit(self, store: RedisStore) -> None:
        values = [0.1 + 0.2, 1e-300, 5e-324, 1.7976931348623157e300, 173.71779999999998, 3.0]
        known = {f"a{i}": (float(-i), value, value, -(2**62) + i) for i, value in enumerate(values)}
        store.live.publish(believing(None), 1, glicko(**known))
        assert deviations(store) == {agent: (rating, deviation) for agent, (rating, deviation, *_) in known.items()}
        still = {"weng_lin": LiveBoard(list(known), [0.0] * 6, [Belief(value) for value in values])}
        store.live.publish(believing(None), 1, still)
        page = store.live.page("blitz", "weng_lin", 0, 10)
        assert page is not None
        assert [row.deviation for row in page.rows] == values

    def test_they_grow_with_the_pools_time_and_nothing_is_written_for_it(self, store: RedisStore, raw: redis.Redis) -> None:
        store.live.publish(believing(4.5 * WEEK, position=1), 1, glicko(away=(1600.0, 50.0, 10.0, 5), there=(1500.0, 40.0, 10.0, 5)))
        assert deviations(store) == {"away": (1600.0, 50.0), "there": (1500.0, 40.0)}
        before = {key: value for key, value in snapshot(raw).items() if key.endswith(("head", "fence")) is False}
        store.live.publish(believing(105.2 * WEEK, position=2), 1, {})
        assert deviations(store)["away"] == (1600.0, math.sqrt(12_500))
        assert {key: snapshot(raw)[key] for key in before} == before
        store.live.publish(believing(105.3 * WEEK, position=3), 1, glicko(there=(1510.0, 60.0, 9.0, 106)))
        assert deviations(store) == {"away": (1600.0, math.sqrt(12_500)), "there": (1510.0, 60.0)}

    def test_every_way_to_a_row_shows_the_same(self, store: RedisStore) -> None:
        store.live.publish(believing(7.0 * WEEK), 1, glicko(a=(1600.0, 50.0, 10.0, 5), b=(1500.0, 40.0, 10.0, 6), c=(1400.0, 350.0)))
        page, near = store.live.page("blitz", "glicko2", 0, 3), store.live.around("blitz", "glicko2", "b", 3)
        alone = boards.agent(store, "blitz", "b", now=0.0)
        assert page is not None
        assert near is not None
        assert alone is not None
        assert page.head == near.head
        assert page.rows == near.rows
        assert page.rows[1] == alone["glicko2"].rows[0]
        assert page.rows[1].deviation == math.sqrt(1700)
        assert (page.rows[1].low, page.rows[1].high) == GLICKO.interval(1500.0, Belief(40.0, 10.0, 6), 7.0 * WEEK)
        assert [row.agent for row in page.rows] == ["a", "b", "c"], "what ranks is the rating"

    def test_an_ordinals_interval_is_of_its_mean(self, store: RedisStore) -> None:
        store.live.publish(believing(), 1, {"weng_lin": LiveBoard(["a"], [19.0], [Belief(2.0)])})
        page = store.live.page("blitz", "weng_lin", 0, 1)
        assert page is not None
        assert (page.rows[0].low, page.rows[0].high) == pytest.approx((25 - 3.92, 25 + 3.92))

    def test_methods_without_beliefs_write_and_show_none(self, store: RedisStore, raw: redis.Redis) -> None:
        store.live.publish(believing(), 1, live(a=1.0))
        assert not raw.keys("*:beliefs:*")
        page = store.live.page("blitz", "elo", 0, 1)
        assert page is not None
        assert page.rows == [AgentRow(agent="a", rating=1.0, rank=1, outcomes=0)]

    def test_who_has_no_belief_yet_has_no_deviation(self, store: RedisStore) -> None:
        """As on a board that an earlier release wrote, until it is written whole."""
        store.live.publish(believing(), 1, {"glicko2": LiveBoard(["a", "b"], [2.0, 1.0])})
        store.live.publish(believing(), 1, glicko(b=(1.0, 40.0)))
        assert deviations(store) == {"a": (2.0, None), "b": (1.0, 40.0)}

    def test_pages_longer_than_a_call_takes(self, store: RedisStore) -> None:
        count = 5 * MEMBERS_A_CALL * 2 + 1
        store.live.publish(believing(), 1, glicko(**{f"a{i:05}": (float(-i), float(i + 1)) for i in range(count)}))
        assert deviations(store) == {f"a{i:05}": (float(-i), float(i + 1)) for i in range(count)}

    @pytest.mark.parametrize(("epoch", "position", "taken"), [(3, 9, False), (2, 99, False), (3, 10, True), (4, 10, True), (4, 9, False)])
    def test_they_are_fenced_as_ratings_are(
        self, store: RedisStore, other: RedisStore, raw: redis.Redis, epoch: int, position: int, taken: bool
    ) -> None:
        assert store.live.publish(believing(position=10), 3, glicko(a=(1.0, 50.0)))
        before = snapshot(raw)
        assert other.live.publish(believing(position=position), epoch, glicko(a=(2.0, 60.0), b=(1.0, 70.0))) is taken
        assert (snapshot(raw) == before) is not taken
        assert deviations(store) == ({"a": (2.0, 60.0), "b": (1.0, 70.0)} if taken else {"a": (1.0, 50.0)})

    def test_rating_and_deviation_are_of_one_publication(
        self, store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A writer is overtaken between two of its calls: each agent has both numbers of the one or of the other."""
        many = {f"a{i:05}": (1.0, 11.0) for i in range(20 * MEMBERS_A_CALL)}
        calls, trips = store.connection.calls, []

        def overtaken(batch):
            trips.append(len(batch))
            if len(trips) == 2:
                assert other.live.publish(believing(position=3), 9, glicko(**dict.fromkeys(sorted(many)[::3], (2.0, 22.0))))
            return calls(batch)

        monkeypatch.setattr(store.connection, "calls", overtaken)
        assert not store.live.publish(believing(position=4), 8, glicko(**many))
        shown = deviations(other)
        assert set(shown.values()) == {(1.0, 11.0), (2.0, 22.0)}
        assert len(shown) < len(many)

    def test_a_new_generation_has_beliefs_of_its_own_and_the_old_ones_go(
        self, store: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.live.publish(believing(generation=1, position=10), 1, glicko(old=(1.0, 50.0), both=(2.0, 50.0)))
        seen, commit = [], store.live._commit

        def looking(*arguments):
            seen.append(deviations(store))
            return commit(*arguments)

        monkeypatch.setattr(store.live, "_commit", looking)
        store.live.publish(believing(generation=2, position=10), 1, glicko(both=(3.0, 60.0)))
        assert seen == [{"old": (1.0, 50.0), "both": (2.0, 50.0)}]
        assert deviations(store) == {"both": (3.0, 60.0)}
        assert 0 < raw.ttl(KEYS.beliefs("blitz", 1, "glicko2")) <= 60
        assert raw.ttl(KEYS.beliefs("blitz", 2, "glicko2")) == -1

    def test_a_board_that_is_taken_up_again_stays(self, store: RedisStore, raw: redis.Redis) -> None:
        store.live.publish(believing(position=1), 1, glicko(a=(1.0, 50.0)))
        raw.expire(KEYS.beliefs("blitz", 1, "glicko2"), 60)
        store.live.publish(believing(position=2), 1, glicko(a=(1.0, 50.0)))
        assert raw.ttl(KEYS.beliefs("blitz", 1, "glicko2")) == -1

    def test_they_go_with_their_pool(self, store: RedisStore, raw: redis.Redis) -> None:
        assert store.live.publish(believing(), 50, glicko(a=(1.0, 50.0)))
        store.live.remove(["blitz"])
        assert content(raw) == {}

    def test_a_flushed_store_gets_them_again_with_the_ratings(self, store: RedisStore, raw: redis.Redis) -> None:
        store.live.publish(believing(position=5), 1, glicko(a=(1.0, 50.0)))
        raw.flushall()
        with pytest.raises(StoreLost):
            store.live.publish(believing(position=6), 1, glicko(a=(1.0, 50.0)))
        assert store.live.publish(believing(position=6), 1, glicko(a=(1.0, 50.0)))
        assert deviations(store) == {"a": (1.0, 50.0)}

    @pytest.mark.parametrize("belief", [Belief(math.nan), Belief(math.inf), Belief(1.0, math.nan, 3)])
    def test_a_belief_that_is_no_number_is_refused(self, store: RedisStore, raw: redis.Redis, belief: Belief) -> None:
        with pytest.raises(InputError, match=r"boards\[glicko2\].beliefs.*finite"):
            store.live.publish(believing(), 1, {"glicko2": LiveBoard(["a", "b"], [1.0, 2.0], [Belief(1.0), belief])})
        assert raw.keys() == []

    def test_one_belief_for_each_name_or_none_at_all(self, store: RedisStore, raw: redis.Redis) -> None:
        with pytest.raises(InputError, match="beliefs and marks for each one, or none"):
            store.live.publish(believing(), 1, {"glicko2": LiveBoard(["a", "b"], [1.0, 2.0], [Belief(1.0)])})
        assert raw.keys() == []
