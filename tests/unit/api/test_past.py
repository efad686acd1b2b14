"""Boards as of an earlier position: from kept checkpoints and kept solves, saying of when they are, or what is kept."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.online import Reading
from services.boards.history import KeptSolve, Past, PastRow, kept, shortened
from services.boards.past import NotKept, PastBoards, PastRows, SeveralGenerations, season_checked
from services.boards.past_contents import NoSlice, OtherSeason, When, check_season
from services.boards.reading import Board, past_solve
from services.boards.result import Intervals
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from services.control.records import ControlState, FoldSettings, Generation, Opening, PoolCreated, Serve
from services.demo import simulated
from services.log.protocol import LogError
from services.runtime.settings import PROVISIONAL
from services.state.pool import PoolState
from services.wire.pools import Kind
from tests.support.belief_reach import reach
from tests.support.boards import head_of, solved_of
from tests.support.folds import fold_events

POOL = simulated.POOL


class Store:
    """A store that knows one pool's head and kept solves."""

    def __init__(self, solves: list[Any]) -> None:
        self.live = self.solved = self
        self.online = ["elo", "sco"]
        self.solves = [kept(one) for one in reversed(solves)]

    def head(self, pool: str) -> Any:
        return head_of(POOL, position=30, online=self.online, partition=0) if pool == POOL else None

    def history(self, _: str, method: str) -> list[Past]:
        return [one.past for one in self.solves] if method == "maximal_lottery" else []

    def past(self, _pool: str, _method: str, index: int) -> KeptSolve:
        return self.solves[index]


class World:
    def __init__(self, folder: Path, **online: dict[str, float]) -> None:
        self.files = CheckpointStore(folder.as_uri())
        created = PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0)
        made = Generation(pool=POOL, number=1, start=0, time=0.0, fold=FoldSettings(online={"elo": {}, "sco": {}, **online}))
        self.control = ControlState()
        self.control.apply(0, created)
        self.control.apply(1, made)
        self.store = Store([solved_of(POOL, position=at, ratings=[("a", float(at))]) for at in (12, 22)])
        self.store.online = ["elo", "sco", *online]
        state, self.ratings = PoolState(created, made), {}
        self.readings: dict[tuple[str, int], tuple[list[str], Reading]] = {}
        for position in (10, 20, 30):
            assert fold_events(state, [simulated.game(i, 3e6 * i) for i in range(position - 10, position)]) == []
            self.checkpoint(state, position)
            for method in ("elo", *online):
                reading = state.content.ratings.read(method, np.arange(len(state.content.agents), dtype=np.int32))
                self.readings[method, position] = (state.content.agents.names(), reading)
            names = state.content.agents.names()
            self.ratings[position] = dict(zip(names, state.content.ratings.online["elo"].rating.tolist(), strict=True))

    def checkpoint(self, state: PoolState, position: int, generation: int = 1, *, is_build: bool = False) -> None:
        name = f"objects/p00000/at-{position}{f'-{generation}' if generation > 1 else ''}.eqr"
        sha256, size = self.files.write_object(name, state.arrays(), {})
        entry = PoolEntry(pool=POOL, kind="games", generation=generation, position=position, outcomes=position, object=name, sha256=sha256,
                          bytes=size, digest="d")  # fmt: skip
        log: dict[str, Any] = {"log_identity": "log", "last_offset": None, "last_sha256": None, "fold_version": 1}
        self.files.write_manifest(
            Manifest(
                format=FORMAT,
                partition=0,
                position=position,
                epoch=1,
                pools=[] if is_build else [entry],
                builds=[entry] if is_build else [],
                written_at=100.0 * position,
                sequence=generation - 1,
                **log,
            )
        )

    def board(self, method: str, when: When, count: int = 100, generation: int | None = None) -> Board | None:
        boards = PastBoards(self.store, self.files, lambda: self.control, 10)  # type: ignore[arg-type]
        return boards.board(PastRows(POOL, method, when, 0, count, generation=generation), 5000.0)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("kept"))


@pytest.fixture(scope="module")
def believing(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("believed"), weng_lin={}, glicko2={})


@pytest.mark.parametrize(("when", "position"), [(When(10), 10), (When(29), 20), (When(10**9), 30), (When(time=2500.0), 20)])
def test_a_live_board_is_that_of_the_newest_checkpoint_that_is_no_later(world: World, when: When, position: int) -> None:
    board = world.board("elo", when)
    assert board is not None
    assert (board.source, board.position, board.outcomes, board.age_seconds) == ("past", position, position, 5000.0 - 100 * position)
    assert {row.agent: row.rating for row in board.rows} == world.ratings[position]
    order = [(row.provisional, -(row.rating or 0.0)) for row in board.rows]
    assert order == sorted(order)
    assert board.rows[0].rank == (1 if board.ranked else None)


def test_who_took_part_in_few_outcomes_by_then_is_provisional(world: World) -> None:
    for position in (10, 30):
        elo, (names, reading) = world.board("elo", When(position)), world.readings["elo", position]
        assert elo is not None
        few = {name for name, count in zip(names, reading.outcomes.tolist(), strict=True) if count < PROVISIONAL.outcomes}
        assert {row.agent for row in elo.rows if row.provisional} == {row.agent for row in elo.rows if row.rank is None} == few
        assert [row.rank is None for row in elo.rows] == [False] * elo.ranked + [True] * len(few)
        assert bool(few) >= (position == 10)
        assert (elo.reason is msgspec.UNSET) == (elo.ranked > 0)


@pytest.mark.parametrize("position", [10, 20, 30])
@pytest.mark.parametrize("method", ["weng_lin", "glicko2"])
def test_deviations_are_those_of_then(believing: World, method: str, position: int) -> None:
    board = believing.board(method, When(position))
    assert board is not None
    assert isinstance(board.intervals, Intervals)
    assert board.intervals.kind == "belief"
    names, reading = believing.readings[method, position]
    assert reading.deviation is not None
    deviations = dict(zip(names, reading.deviation.tolist(), strict=True))
    assert {row.agent: row.deviation for row in board.rows} == pytest.approx(deviations, rel=1e-13)
    assert reading.beliefs is not None
    left = dict(zip(names, reading.beliefs.deviation.tolist(), strict=True))
    for row in board.rows:
        half = reach(method, row.rating, deviations[row.agent], left[row.agent])
        assert (row.low, row.high) == pytest.approx((row.rating - half, row.rating + half))  # type: ignore[operator]


def test_a_solve_that_comes_while_the_history_is_read_is_not_taken_for_an_earlier_one(world: World) -> None:
    class Solving(Store):
        """Solved again once, after the history was read."""

        def past(self, pool: str, method: str, index: int) -> KeptSolve:
            if len(self.solves) == 2:
                self.solves.insert(0, kept(solved_of(POOL, position=32, ratings=[("a", 32.0)])))
            return super().past(pool, method, index)

    store = Solving([solved_of(POOL, position=at, ratings=[("a", float(at))]) for at in (12, 22)])
    boards = PastBoards(store, world.files, lambda: world.control, 10)  # type: ignore[arg-type]
    board = boards.board(PastRows(POOL, "maximal_lottery", When(15), 0, 10), 5000.0)
    assert board is not None
    assert (board.position, board.rows[0].rating) == (12, 12.0)


def test_a_kept_solve_answers_for_later_positions_only_if_none_was_removed_after_it(world: World) -> None:
    """The newest two are all that there were; of the earlier ones, some were removed."""
    store = Store([solved_of(POOL, position=at, ratings=[("a", float(at))]) for at in (12, 22, 25)])
    boards = PastBoards(store, world.files, lambda: world.control, 2)  # type: ignore[arg-type]
    rows = PastRows(POOL, "maximal_lottery", When(12), 0, 10)
    for position, expected in ((12, 12), (22, 22), (24, 22), (99, 25)):
        board = boards.board(rows._replace(when=When(position)), 5000.0)
        assert board is not None
        assert board.position == expected
    for position in (15, 21):
        with pytest.raises(NotKept) as raised:
            boards.board(rows._replace(when=When(position)), 5000.0)
        assert raised.value.nearest is not None
        assert raised.value.nearest.position == 12
    with pytest.raises(NotKept) as raised:
        boards.board(rows._replace(when=When(11)), 5000.0)
    assert raised.value.nearest is None


def test_boards_without_beliefs_show_none(believing: World) -> None:
    board = believing.board("elo", When(30))
    assert board is not None
    assert board.intervals is msgspec.UNSET
    assert all(row.deviation is None and row.low is None for row in board.rows)


def test_pages_are_cut(world: World) -> None:
    board, first = world.board("elo", When(20)), world.board("elo", When(20), count=1)
    assert board is not None
    assert first is not None
    assert (first.rows, first.total) == (board.rows[:1], board.total)


@pytest.mark.parametrize(("when", "position"), [(When(21), 12), (When(22), 22)])
def test_a_solved_board_is_that_of_a_kept_solve(world: World, when: When, position: int) -> None:
    board = world.board("maximal_lottery", when)
    assert board is not None
    assert (board.source, board.position, board.rows[0].rating) == ("past", position, float(position))


def test_a_past_solve_of_an_earlier_release_has_its_intervals_of_ranks_and_no_marks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    board = solved_of(POOL, position=12, ratings=[(f"a{i:02}", 11.0 - i) for i in range(11)])
    ends = {"a00": (1, 2), "a01": (1, 11), "a02": (3, 8), "a03": (2, 8)}
    rows = [
        msgspec.structs.replace(row, rank_low=ends[row.agent][0], rank_high=ends[row.agent][1]) if row.agent in ends else row
        for row in board.result.agents
    ]
    wide = msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=rows))
    monkeypatch.setattr(world, "store", Store([wide]))
    found = world.board("maximal_lottery", When(12))
    assert found is not None
    assert not any(row.provisional for row in found.rows)
    assert {row.agent: (row.rank_low, row.rank_high) for row in found.rows if row.rank_low is not None} == ends


def test_rows_kept_before_intervals_were_are_read(world: World) -> None:
    assert msgspec.json.decode(b'["a",1.5,3]', type=PastRow) == PastRow("a", 1.5, 3)


@pytest.mark.parametrize(("method", "kept_"), [("elo", "10, 20, 30"), ("maximal_lottery", "12, 22")])
def test_what_reaches_no_further_back_says_what_is_kept(world: World, method: str, kept_: str) -> None:
    with pytest.raises(NotKept, match=kept_):
        world.board(method, When(9))


def test_a_time_before_what_is_kept_is_told_when_it_begins(world: World) -> None:
    with pytest.raises(NotKept, match="since 1970-01-01T") as refused:
        world.board("elo", When(time=-1.5))
    assert "got '1969-12-31T23:59:59Z'" in str(refused.value)
    with pytest.raises(NotKept, match=r"-1e\+300"):
        world.board("elo", When(time=-1e300))


def test_unknown_boards_are_none_and_one_of_position_and_time_is_needed(world: World) -> None:
    assert world.board("copeland", When(20)) is None
    for when in (When(), When(1, 1.0)):
        with pytest.raises(InputError, match="one of the two"):
            world.board("elo", when)


def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path) -> None:
    damaged = World(tmp_path)
    damaged.files.blobs.remove("objects/p00000/at-30.eqr")
    board = damaged.board("elo", When(30))
    assert board is not None
    assert board.position == 20


def test_a_position_of_several_generations_needs_the_generation(tmp_path: Path) -> None:
    world = World(tmp_path)
    created, made = world.control.pools[POOL], world.control.generations[POOL][1]
    second = msgspec.structs.replace(made, number=2, start=30)
    world.control.apply(2, second)
    world.control.apply(3, Serve(pool=POOL, number=2, time=0.0))
    world.checkpoint(PoolState(created, second), 30, 2)
    with pytest.raises(SeveralGenerations) as caught:
        world.board("elo", When(35))
    assert (caught.value.position, caught.value.generations) == (30, [1, 2])
    assert str(caught.value) == "boards of 2 generations are kept at position 30: send generation=1 or generation=2"
    first, later = (world.board("elo", When(35), generation=number) for number in (1, 2))
    assert first is not None
    assert later is not None
    assert [(board.generation, board.position, board.total > 0) for board in (first, later)] == [(1, 30, True), (2, 30, False)]
    assert world.board("elo", When(25)) == world.board("elo", When(25), generation=1), "only one generation was there"
    named = world.board("elo", When(time=3000.0))
    assert named is not None
    assert named.generation == 2, "a time names one state"
    with pytest.raises(NotKept):
        world.board("elo", When(25), generation=2)


@pytest.mark.parametrize(
    ("generation", "when", "reached", "told"),
    [
        (2, When(19), None, "against must not be before season autumn, which began at position 20 (1970-01-01T00:16:40Z)"),
        (2, When(20), None, None),
        (2, When(time=999.0), 20, "since must not be before season autumn, which began at position 20"),
        (2, When(time=999.0), 21, None),  # the season was begun later, for a position that the log had already passed
        (2, When(time=1000.0), 20, None),
        (2, None, None, None),
        (1, When(19), None, None),
    ],
)
def test_moments_before_a_season_are_told_its_start(
    tmp_path: Path, generation: int, when: When | None, reached: int | None, told: str | None
) -> None:
    control = World(tmp_path).control
    opening = Opening(generation=1, position=20, keep=0.0, first=2)
    made = control.generations[POOL][1]
    control.apply(2, msgspec.structs.replace(made, number=2, start=20, time=1000.0, season="autumn", opening=opening))
    with nullcontext() if told is None else pytest.raises(OtherSeason, match=re.escape(told)):
        check_season(control, POOL, generation, when, ("against", "since"), reached)


@pytest.mark.parametrize(("time", "expected"), [(999.0, OtherSeason), (1000.0, NotKept)])
def test_a_time_before_a_season_is_told_its_start_also_if_nothing_so_old_is_kept(
    tmp_path: Path, time: float, expected: type[InputError]
) -> None:
    """Without an archive, and where it begins later: what the log had reached then is not known."""
    world = World(tmp_path)
    made, opening = world.control.generations[POOL][1], Opening(generation=1, position=20, keep=0.0, first=2)
    world.control.apply(2, msgspec.structs.replace(made, number=2, start=20, time=1000.0, season="autumn", opening=opening))
    with pytest.raises(expected), season_checked(world.control, POOL, 2, When(time=time), ("against", "since")):
        world.board("elo", When(time=time), generation=2)


def test_a_slice_without_outcomes_before_a_season_is_told_its_start(tmp_path: Path) -> None:
    control = World(tmp_path).control
    made, opening = control.generations[POOL][1], Opening(generation=1, position=20, keep=0.0, first=2)
    control.apply(2, msgspec.structs.replace(made, number=2, start=20, time=1000.0, season="autumn", opening=opening))
    entry = PoolEntry(pool=POOL, kind="games", generation=1, position=15, outcomes=15, object="o", sha256="", bytes=0, digest="")
    for at, expected in ((15, OtherSeason), (25, NoSlice)):
        with pytest.raises(expected), season_checked(control, POOL, 2, When(time=999.0), ("against", "since")):
            raise NoSlice(msgspec.structs.replace(entry, position=at), "language:English")


def test_a_slice_by_a_tag_that_the_generation_did_not_divide_by_is_told_the_tags(world: World) -> None:
    """As in a season that ended before `slices` was set: that the slice had no outcome would be false."""
    boards = PastBoards(world.store, world.files, lambda: world.control, 10)  # type: ignore[arg-type]
    with pytest.raises(NoSlice, match=r"must be of a tag by which generation 1 of pool [\w-]+ makes slices \(none\): its setting `slices`"):
        boards.board(PastRows(POOL, "elo", When(20), 0, 5, part="mode:team"), 5000.0)


def test_a_generation_is_read_from_the_checkpoint_before_its_switch_once_it_serves(tmp_path: Path) -> None:
    """It is one of the builds there, as explanations and ends of seasons read it."""
    world = World(tmp_path)
    second = msgspec.structs.replace(world.control.generations[POOL][1], number=2, start=30)
    world.control.apply(2, second)
    world.checkpoint(PoolState(world.control.pools[POOL], second), 30, 2, is_build=True)
    with pytest.raises(NotKept):
        world.board("elo", When(35), generation=2)
    assert [entry.generation for entry, _ in world.files.kept_entries(0, POOL)] == [1, 1, 1]
    world.control.apply(3, Serve(pool=POOL, number=2, time=0.0))
    board = world.board("elo", When(35), generation=2)
    assert board is not None
    assert (board.generation, board.position) == (2, 30)
    other = world.board("elo", When(35))
    assert other is not None
    assert other.generation == 1, "without a generation, it is the one that served"


def test_of_kept_solves_those_of_the_serving_generation_answer_and_others_on_request(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.store.solves.insert(0, kept(solved_of(POOL, position=22, generation=2, ratings=[("a", 1.0)])))
    served = world.board("maximal_lottery", When(30))
    assert served is not None
    assert served.generation == 1
    boards = [world.board("maximal_lottery", When(30), generation=number) for number in (1, 2)]
    assert [board is not None and board.generation for board in boards] == [1, 2]
    earlier = world.board("maximal_lottery", When(13))
    assert earlier is not None
    assert earlier.position == 12
    world.control.apply(2, Generation(pool=POOL, number=2, start=0, time=0.0, fold=FoldSettings(online={"elo": {}})))
    world.control.apply(3, Serve(pool=POOL, number=2, time=0.0))
    served = world.board("maximal_lottery", When(30))
    assert served is not None
    assert served.generation == 2
    with pytest.raises(NotKept) as caught:
        world.board("maximal_lottery", When(13))
    assert caught.value.nearest == earlier, "it answers where the pool cannot be solved again"


def test_kept_solves_of_several_generations_need_the_generation_where_the_control_log_cannot_be_read(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.store.solves.insert(0, kept(solved_of(POOL, position=22, generation=2, ratings=[("a", 1.0)])))

    def unread() -> ControlState:
        raise LogError("the log does not answer", retriable=True)

    boards = PastBoards(world.store, world.files, unread, 10)  # type: ignore[arg-type]
    with pytest.raises(SeveralGenerations):
        boards.board(PastRows(POOL, "maximal_lottery", When(30), 0, 10), 5000.0)


def test_a_kept_solve_has_the_intervals_of_its_board_until_it_is_shortened() -> None:
    solved = solved_of(POOL, method="copeland", ratings=[("ann", 1.0)])
    row = msgspec.structs.replace(solved.result.agents[0], low=0.5, high=1.5, rank_low=1, rank_high=2)
    solve = kept(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=[row])))
    for one, ends in ((solve, (0.5, 1.5, 1, 2)), (shortened(solve), (None, None, None, None))):
        [shown] = past_solve(POOL, "copeland", one, 0, 10, 5000.0).rows
        assert (shown.low, shown.high, shown.rank_low, shown.rank_high) == ends
