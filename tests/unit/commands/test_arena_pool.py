"""The demo's arena: what its battles show beyond chance, and a feed that is started again."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev

import pytest

from ratings_core import rate
from services.control.log import ControlLog
from services.control.records import Generation
from services.control.seasons import SeasonStatus, seasons
from services.demo import arena, feed, simulated
from services.imports.journal import Journal, Progress
from services.log.partition import partition_of
from services.log.protocol import Log
from services.log.reading import read_range
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import GameEvent

BEGAN = 1_000_000_000.0
DAY = 86_400.0
HISTORY = tuple(arena.battle(index, BEGAN, BEGAN) for index in range(arena.HISTORY))
PRESENT = HISTORY[arena.SEASON_BATTLES :]


def points(played: Sequence[GameEvent], agent: str, rival: str | None = None) -> tuple[float, float]:
    """Mean points of an agent in a battle, and the standard error of this mean. rival: Only battles against this agent."""
    found = []
    for one in played:
        names = [side.agents[0] for side in one.sides]
        if agent in names and rival in (None, *names):
            own, other = one.sides if names[0] == agent else one.sides[::-1]
            found.append((1 + (own.place < other.place) - (own.place > other.place)) / 2)
    return mean(found), stdev(found) / len(found) ** 0.5


def is_better(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether the difference of two means is more than two standard errors."""
    return one[0] - other[0] > 2 * (one[1] ** 2 + other[1] ** 2) ** 0.5


def best(played: Sequence[GameEvent]) -> list[str]:
    """Models of at least twenty battles, those with the highest mean first."""
    names = [side.agents[0] for one in played for side in one.sides]
    return sorted((name for name in arena.MODELS if names.count(name) >= 20), key=lambda name: -points(played, name)[0])


def tagged(tag: str, value: str) -> list[GameEvent]:
    return [one for one in PRESENT if isinstance(one.tags, dict) and one.tags[tag] == value]


def test_a_battle_is_a_function_of_its_index_and_of_the_begin() -> None:
    for index in (0, arena.DAY_BEGINS, arena.HISTORY - 1):
        assert arena.battle(index, BEGAN, BEGAN + 5.0) == HISTORY[index]
    late = arena.battle(arena.HISTORY, BEGAN, BEGAN + 5.0)
    assert late.time == BEGAN + 5.0
    assert late.sides == arena.battle(arena.HISTORY, BEGAN + 1.0, BEGAN).sides


def test_the_history_ends_when_the_demo_begins_and_its_last_day_is_a_day() -> None:
    times = [one.time for one in HISTORY]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert BEGAN - 20 * DAY == times[0] < times[-1] < BEGAN
    assert times[arena.DAY_BEGINS] == BEGAN - DAY


@pytest.mark.parametrize(("tag", "value", "expert"), [("language", "English", "corvane-xl"), ("category", "coding", "bracken-coder")])
def test_the_best_of_a_slice_is_not_the_best_of_all(tag: str, value: str, expert: str) -> None:
    assert best(PRESENT)[0] == best(tagged(tag, value))[1] == "nimbrel-3"
    assert is_better(points(PRESENT, "nimbrel-3"), points(PRESENT, expert))
    assert best(tagged(tag, value))[0] == expert
    assert is_better(points(tagged(tag, value), expert), points(tagged(tag, value), "nimbrel-3"))


def test_one_model_falls_in_the_last_day() -> None:
    before, day = HISTORY[arena.SEASON_BATTLES : arena.DAY_BEGINS], HISTORY[arena.DAY_BEGINS :]
    assert best(before).index(arena.FALLEN) == 4
    assert is_better(points(before, arena.FALLEN), points(day, arena.FALLEN))
    assert best(day).index(arena.FALLEN) > 4


def test_the_first_ranks_are_settled_and_those_of_the_twins_are_not() -> None:
    rows = []
    for one in PRESENT:
        (first, second), places = [side.agents[0] for side in one.sides], [side.place for side in one.sides]
        rows.append((first, second, (1 + (places[0] < places[1]) - (places[0] > places[1])) / 2))
    rated = rate(rows, "bradley_terry", intervals=True)
    assert rated.rank_low is not None
    assert rated.rank_high is not None
    ranks = {name: (int(low), int(high)) for name, low, high in zip(rated.names, rated.rank_low, rated.rank_high, strict=True)}
    assert (ranks["nimbrel-3"], ranks["corvane-xl"]) == ((1, 1), (2, 2))
    for name in arena.TWINS:
        assert ranks[name][0] < ranks[name][1]


def test_the_newcomer_has_too_few_battles_for_a_rank() -> None:
    assert arena.NEWCOMER not in {side.agents[0] for one in HISTORY[: arena.DAY_BEGINS] for side in one.sides}
    assert 0 < sum(side.agents == [arena.NEWCOMER] for one in HISTORY for side in one.sides) < Settings().provisional.outcomes


def test_twins_are_equally_good_and_the_cycle_is_beyond_chance() -> None:
    one, other = (points(PRESENT, name) for name in arena.TWINS)
    assert not is_better(one, other)
    assert not is_better(other, one)
    for first, second in arena.CYCLE:
        assert is_better(points(PRESENT, first, second), points(PRESENT, second, first))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    opened = open_sqlite_log(tmp_path / "log.sqlite", 8)
    yield opened
    opened.close()


def sent(log: Log, begin: int = 0, end: int | None = None) -> list[str]:
    """Ids of the battles between two log offsets."""
    partition = partition_of(arena.POOL, 8)
    records = read_range(log.outcomes, partition, begin, log.outcomes.end(partition) if end is None else end)
    return [event.id for event in events.decode([record.value for record in records]).events]


class Fed:
    """A feed of the arena alone, without an engine."""

    def __init__(self, folder: Path, log: Log) -> None:
        self.control = ControlLog(log.control, details=True)
        settings = Settings(data=folder)
        self.began = feed._create_pools(settings, self.control)
        self.journal = Journal(folder / "note.json")
        self.stream = feed.arena_stream(self.journal, log, self.control, self.began)

    def fold(self) -> None:
        """Begin the first season, as a shard does with the first outcome."""
        created = self.control.refresh().pools[arena.POOL]
        self.control.create_generation(Generation(pool=arena.POOL, number=1, start=0, time=0.0, fold=created.fold))


def statuses(fed: Fed) -> list[tuple[str, SeasonStatus, int | None]]:
    return [(one.name, one.status, one.start) for one in seasons(fed.control.refresh(), arena.POOL)]


def test_the_second_season_begins_after_the_battles_of_the_first(tmp_path: Path, log: Log) -> None:
    fed = Fed(tmp_path, log)
    with closing(fed.control):
        fed.stream.send_part()
        end = log.outcomes.end(partition_of(arena.POOL, 8))
        fed.stream.send_part()  # nothing is folded yet, so no season can end
        assert len(sent(log)) == arena.SEASON_BATTLES
        fed.fold()
        fed.stream.send_part()
        assert statuses(fed) == [("first", SeasonStatus.RUNNING, 0), (arena.SEASON, SeasonStatus.REQUESTED, end)]
        assert sent(log) == [one.id for one in HISTORY]


@pytest.mark.parametrize("loses", [False, True])
def test_a_demo_that_starts_again_continues_with_the_same_battles(
    tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch, loses: bool
) -> None:
    """loses: Whether the journal was lost, so that the battles are sent again."""
    first = Fed(tmp_path, log)
    first.fold()
    with closing(first.control):
        for _ in range(3):
            first.stream.send_part()
        listed = statuses(first)
    if loses:
        first.journal.path.unlink()
    monkeypatch.setattr("time.time", lambda: BEGAN)  # another time than that of the first start
    again = Fed(tmp_path, log)
    with closing(again.control):
        assert again.began == first.began
        for _ in range(4 if loses else 1):
            again.stream.send_part()
        assert statuses(again) == listed
        assert len(again.control.refresh().details.of(arena.POOL)) == len(arena.MODELS)
    ids = [f"battle-{index}" for index in range(arena.HISTORY + 2 * arena.PER_SECOND)]
    assert sorted(set(sent(log))) == sorted(ids)
    assert loses or sent(log) == ids


@pytest.mark.parametrize("first", [0, arena.SEASON_BATTLES])
def test_a_feed_that_ends_before_its_journal_is_written_sends_the_part_again(tmp_path: Path, log: Log, first: int) -> None:
    fed = Fed(tmp_path, log)
    fed.fold()
    with closing(fed.control):
        while (fed.journal.read() or Progress(0, 0, 0)).sent < first:
            fed.stream.send_part()
        if first:  # the season was asked for, too
            assert fed.stream.ready(fed.journal.read() or Progress(0, 0, 0))
        fed.stream.send(first, arena.part_end(first))
    again = Fed(tmp_path, log)
    with closing(again.control):
        while (again.journal.read() or Progress(0, 0, 0)).sent < arena.HISTORY:
            again.stream.send_part()
        listed = statuses(again)
    # a repeated part has the same ids in the same season, where it counts once
    start = listed[1][2]
    assert len(listed) == 2
    assert start is not None
    assert set(sent(log, 0, start)) == {one.id for one in HISTORY[: arena.SEASON_BATTLES]}
    assert set(sent(log, start)) == {one.id for one in PRESENT}
    assert len(sent(log)) > arena.HISTORY


def test_a_change_of_details_stays_after_a_restart(tmp_path: Path, log: Log) -> None:
    with closing(Fed(tmp_path, log).control) as control:
        changes = {arena.FALLEN: arena.details()[arena.NEWCOMER]}
        control.write_details(arena.POOL, changes, 0.0, most_agents=100)
    with closing(Fed(tmp_path, log).control) as control:
        found = control.refresh().details.of(arena.POOL).get(arena.FALLEN)
        assert found is not None
        assert found.display_name == arena.MODELS[arena.NEWCOMER].display_name


def test_a_log_that_fails_delays_a_stream_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "ROUNDS_PER_SECOND", 1e9)
    calls: list[Callable[[], int]] = [_refused, _refused, lambda: 1]
    taken: list[tuple[int, int]] = []

    def fragile(first: int, end: int) -> int:
        position = calls.pop(0)()
        taken.append((first, end))
        return position

    whole = feed.Stream(Journal(tmp_path / "a.json"), 2, lambda first: first + 1, lambda first, end: taken.append((first, end)) or end)
    feed.play([feed.Stream(Journal(tmp_path / "b.json"), 5, lambda _: 5, fragile), whole], threading.Event())
    assert taken == [(0, 1), (1, 2), (0, 5)]
    assert Journal(tmp_path / "b.json").read() == Progress(5, 5, 1)


def _refused() -> int:
    raise feed.LogError("full", retriable=True)
