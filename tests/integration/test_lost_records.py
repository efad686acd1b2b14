"""A log that lost its newest records under a store that shows them: readers get what the log gives, and its owner is let in."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing

import msgspec
import pytest

from services.admin import backup
from services.control import generations
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.demo import simulated
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.wire import events
from tests.support.worker import HOME, PARTITIONS, differences, head_of, play, published, store_of, until, working


class World:
    """An installation of which a backup was taken after 300 games; what comes after that is lost, once it is `restored`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        settings.data.mkdir()
        self.log: Log = open_sqlite_log(settings.data / "log.sqlite", PARTITIONS)
        play(self.log, 0, 300)
        with working(settings, self.log) as worker:
            until(lambda: published(settings) == 300, "300 games published")
            until(lambda: worker.health().partitions[HOME].checkpoint == 30, "checkpointed")
        backup.back_up(settings.data, settings.data.parent / "saved")

    def restored(self) -> None:
        self.log.close()
        self.settings = self.settings.model_copy(update={"data": self.settings.data.parent / "restored"})
        backup.restore(self.settings.data.parent / "saved", self.settings.data)
        self.log = open_sqlite_log(self.settings.data / "log.sqlite", PARTITIONS)

    def shows(self, outcomes: int, generation: int = 1) -> None:
        until(lambda: self._shown() == (outcomes, generation), f"{outcomes} outcomes by generation {generation} are shown")
        assert differences(self.settings, self.log) == []

    def _shown(self) -> tuple[int, int] | None:
        with store_of(self.settings) as store:
            head = store.live.head(simulated.POOL)
        return None if head is None else (head.outcomes, head.generation)


@pytest.fixture
def world(settings: Settings) -> Iterator[World]:
    one = World(settings)
    yield one
    one.log.close()


def play_others(log: Log, games: Sequence[int]) -> None:
    """Games of agents whom nobody saw before."""
    made = [simulated.game(i, float(i)) for i in games]
    new = [msgspec.structs.replace(one, id=f"new {one.id}", sides=[*map(_renamed, one.sides)]) for one in made]
    log.outcomes.append(HOME, [(simulated.POOL.encode(), record) for record in events.encode_records(new, 10)])


def _renamed(side: events.Side) -> events.Side:
    return msgspec.structs.replace(side, agents=[f"new {name}" for name in side.agents])


@pytest.mark.parametrize("starts", [0, 1, 4])
@pytest.mark.parametrize("lost_ones", [play, lambda log, start, stop: play_others(log, range(start, stop))], ids=["known", "strange"])
def test_boards_go_back_to_what_the_log_gives(world: World, starts: int, lost_ones: object) -> None:
    """starts: of a shard that was lost too, whose epochs are as new as those that follow, or newer."""
    lost_ones(world.log, 300, 600)  # type: ignore[operator]
    for _ in range(max(1, starts)):
        with working(world.settings, world.log):
            until(lambda: published(world.settings) == 600, "600 games published")
    world.restored()
    with working(world.settings, world.log):
        world.shows(300)
        play_others(world.log, range(300, 700))
        world.shows(700)


def test_records_that_took_the_place_of_lost_ones_before_anybody_looked_are_told_from_them(world: World) -> None:
    play(world.log, 300, 600)
    with working(world.settings, world.log):
        until(lambda: published(world.settings) == 600, "600 games published")
    world.restored()
    play_others(world.log, range(300, 700))
    with working(world.settings, world.log):
        world.shows(700)


def test_a_generation_that_was_lost_gives_way_to_the_one_that_is_there(world: World) -> None:
    with working(world.settings, world.log), closing(ControlLog(world.log.control)) as control:
        standing = control.standing(simulated.POOL)
        control.want(generations.wish(standing, time=0.0, fold=FoldSettings(online={"elo": {"k": 7.0}})))
        world.shows(300, 2)
    world.restored()
    with working(world.settings, world.log):
        world.shows(300)


def test_a_log_that_lost_nothing_keeps_its_boards(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = threading.Event()
    monkeypatch.setattr("services.boards.store.live.LiveBoards.forget", lambda *_: removed.set())
    play(world.log, 300, 600)
    with working(world.settings, world.log):
        world.shows(600)
    for _ in range(3):
        before = head_of(world.settings).published_at
        with working(world.settings, world.log):
            until(lambda before=before: head_of(world.settings).published_at > before, "the next shard has published")
            world.shows(600)
    assert not removed.is_set()
