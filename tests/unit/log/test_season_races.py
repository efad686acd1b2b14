"""A change of settings and a withdrawal of a season at the same moment: whichever record comes first, the season stays withdrawn."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from services.control import generations, seasons
from services.control.log import ControlLog
from services.control.records import SeasonStart
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from tests.support.pools import first_generation, pool_of


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """A pool whose next season is requested."""
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log, closing(ControlLog(log.control)) as control:
        control.create_generation(first_generation(control.create_pool(pool_of("p"))))
        start(control)
        yield log


@pytest.fixture
def control(log: Log) -> Iterator[ControlLog]:
    """The control log as another process reads it."""
    with closing(ControlLog(log.control)) as control:
        yield control


def start(control: ControlLog) -> None:
    wanted = seasons.season_request(control.refresh(), control.standing("p"), SeasonStart(name="autumn"), None, 0.0)
    control.want(wanted, begins_season=True)


def withdraw(log: Log) -> None:
    with closing(ControlLog(log.control)) as control:
        control.withdraw_season("p", "autumn", 1.0)


def requested(control: ControlLog) -> tuple[str | None, tuple[str, ...]]:
    """The season and the bans that are requested."""
    waiting = control.refresh().wish("p")
    assert waiting is not None
    return None if waiting[1].season is None else waiting[1].season.name, waiting[1].bans


def test_settings_keep_a_season_that_is_requested(control: ControlLog) -> None:
    control.want(generations.wish(control.standing("p"), time=1.0, bans=["eve"]))
    assert requested(control) == ("autumn", ("eve",))


def test_settings_of_a_pool_whose_season_was_withdrawn_meanwhile_are_for_the_present_season(log: Log, control: ControlLog) -> None:
    wanted = generations.wish(control.standing("p"), time=1.0, bans=["eve"])
    withdraw(log)
    control.want(wanted)
    assert requested(control) == (None, ("eve",))
    start(control)
    assert requested(control) == ("autumn", ("eve",)), "its name is free"


def test_a_withdrawal_between_the_last_read_and_the_append_counts(log: Log, control: ControlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, append = generations.wish(control.standing("p"), time=1.0, bans=["eve"]), ControlLog.append

    def withdrawn_before(self: ControlLog, record: Any) -> int:
        monkeypatch.setattr(ControlLog, "append", append)
        withdraw(log)
        return append(self, record)

    monkeypatch.setattr(ControlLog, "append", withdrawn_before)
    control.want(wanted)
    assert requested(control) == (None, ("eve",))


def test_settings_of_a_season_that_begins_before_their_append_are_for_it(
    log: Log, control: ControlLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, append = generations.wish(control.standing("p"), time=1.0, bans=["eve"]), ControlLog.append

    def begun_before(self: ControlLog, record: Any) -> int:
        monkeypatch.setattr(ControlLog, "append", append)
        with closing(ControlLog(log.control)) as shard:
            asked = shard.refresh().wish("p")
            assert asked is not None
            shard.create_generation(generations.after_wish(shard.refresh(), asked, 10, 0, 1.0))
        return append(self, record)

    monkeypatch.setattr(ControlLog, "append", begun_before)
    control.want(wanted)
    assert requested(control) == (None, ("eve",))
    state = control.refresh()
    assert [(season.name, season.status) for season in seasons.seasons(state, "p")] == [("first", "running"), ("autumn", "starting")]
    asked = state.wish("p")
    assert asked is not None
    control.create_generation(generations.after_wish(state, asked, 11, 0, 2.0))
    assert [season.name for season in seasons.seasons(control.refresh(), "p")] == ["first", "autumn"], "it begins once"
