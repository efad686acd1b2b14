"""What the demo's clone attack sends, and notes of how far it came."""

import threading
from pathlib import Path

import msgspec
import pytest

from services.boards.result import SolvedBoard
from services.demo import attack, clones, feed, simulated
from services.imports.journal import Journal, Progress
from services.log.partition import partition_of
from services.log.reading import read_range
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.wire import events
from tests.support.boards import solved_of


@pytest.mark.parametrize("note", [None, b"", b'{"log": "x", "rep', b"[]", b'{"log": "\xff"}'])
def test_a_note_that_is_missing_or_damaged_begins_the_attack_again(tmp_path: Path, note: bytes | None) -> None:
    if note is not None:
        (tmp_path / f"{clones.POOL}.json").write_bytes(note)
    assert attack.read(Settings(data=tmp_path)) is None


@pytest.mark.parametrize("note", [None, b"", b"[]", b'{"sent": 3}', b'{"sent": "\xff"}'])
def test_a_journal_that_is_missing_or_damaged_holds_no_progress(tmp_path: Path, note: bytes | None) -> None:
    if note is not None:
        (tmp_path / "note.json").write_bytes(note)
    assert Journal(tmp_path / "note.json").read() is None


def test_the_demo_continues_after_the_games_of_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "ROUNDS_PER_SECOND", 1e9)
    journal, log = Journal(tmp_path / "note.json"), open_sqlite_log(tmp_path / "log.sqlite", 8)
    journal.write(Progress(simulated.GAMES - 2, simulated.GAMES, 0))
    try:
        for _ in range(2):  # the second one has nothing to send
            feed.play([feed.round_stream(journal, log)], threading.Event())
        partition = partition_of(simulated.POOL, 8)
        sent = [record.value for record in read_range(log.outcomes, partition, 0, log.outcomes.end(partition))]
    finally:
        log.close()
    assert [event.id for event in events.decode(sent).events] == [f"demo-{simulated.GAMES - 2}", f"demo-{simulated.GAMES - 1}"]


def test_a_whole_note_is_read(tmp_path: Path) -> None:
    noted = attack.Attack(log="x", before={"elo": [("a", 1.0)]})
    (tmp_path / f"{clones.POOL}.json").write_bytes(msgspec.json.encode(noted))
    assert attack.read(Settings(data=tmp_path)) == noted


class Solved:
    """A store in which every board is there at once, and counts whatever was sent."""

    def __init__(self) -> None:
        self.asked: set[tuple[str, str]] = set()

    def page(self, pool: str, method: str, _start: int, _count: int) -> tuple[SolvedBoard, int]:
        self.asked.add((pool, method))
        board = solved_of(pool, method=method, ratings=[("ann", 1.0), ("bob", 0.0)])
        return msgspec.structs.replace(board, outcomes=1_000_000), 2


def test_each_wave_is_sent_once_and_what_was_reported_is_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeat would count as a duplicate, and the boards of its pool would be solved again."""
    monkeypatch.setattr(attack, "_LOOK_SECONDS", 0.0)
    sent: list[str] = []
    monkeypatch.setattr(attack, "append_outcomes", lambda _log, _pool, outcomes: sent.append(outcomes[0].id))
    log, store = open_sqlite_log(tmp_path / "log.sqlite", 8), Solved()
    try:
        for _ in range(2):  # the second one finds all reports
            attack.attack(Settings(data=tmp_path), log, store, threading.Event())  # type: ignore[arg-type]  # all that it asks
    finally:
        log.close()
    noted = attack.read(Settings(data=tmp_path))
    assert noted is not None
    assert len(sent) == len(set(sent)) == len(noted.reports) == 3 + 2 * len(clones.NOISES)
    assert store.asked == {(pool, method) for pool in clones.POOLS for method in clones.methods_of(pool)}
    assert {row.method for row in noted.reports[0].moved} == clones.ALL_METHODS.keys()
