"""Runs the clone attack: sends its waves and records the effect of each wave on the boards.

A wave of exact copies is sent when the previous wave is on all boards. The waves of near copies are sent last, all at once.
"""

import logging
import threading
import time
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from services.boards.result import SolvedBoard
from services.boards.store.protocol import StoreError
from services.boards.store.solved import SolvedBoards
from services.control.generations import default_fold
from services.control.log import ControlLog
from services.control.records import PoolCreated
from services.demo import clones
from services.demo.clones import Report, Wave
from services.imports.replay import append_outcomes
from services.log.protocol import Log
from services.runtime.atomic_write import write_atomically
from services.runtime.settings import Settings
from services.solve.registry.choice import plan_of
from services.wire.pools import Kind

log = logging.getLogger("equirank.demo")

_LOOK_SECONDS: Final = 0.5
_ROWS: Final = 1000


class Attack(msgspec.Struct):
    """Progress of the attack.

    Attributes:
        log: Identity of the log that it was sent to.
        before: Method -> its board with the table alone.
        reports: One report for each wave so far.
    """

    log: str
    before: dict[str, list[tuple[str, float]]] = {}
    reports: list[Report] = []


def attack(settings: Settings, log_: Log, solved: SolvedBoards, stop: threading.Event) -> None:
    """Send the waves that have no report yet, and write their reports. Returns when all are done or `stop` is set."""
    _prepare(settings, log_)
    noted = read(settings)
    if noted is None or noted.log != log_.outcomes.identity or noted.before.keys() != clones.ALL_METHODS.keys():
        noted = Attack(log=log_.outcomes.identity)
    table = (files("services.demo") / "atari.csv").read_text(encoding="utf-8")
    reported = {report.wave for report in noted.reports}
    # each wave of near copies has a separate pool, so all are solved at the same time
    for together in (*([wave] for wave in clones.waves(table, time.time())), clones.near(table, time.time())):
        left = [wave for wave in together if wave.name not in reported]
        for wave in left:  # repeats have the same ids, so a restarted demo can send a wave again
            append_outcomes(log_, wave.pool, wave.events)
        for wave in left:
            if not _report(settings, solved, noted, wave, stop):
                return


def _report(settings: Settings, solved: SolvedBoards, noted: Attack, wave: Wave, stop: threading.Event) -> bool:
    """Wait until a wave is on all boards, and write its report. Returns False if `stop` was set before."""
    boards = _await_boards(solved, wave, stop)
    if boards is None:
        return False
    now = {method: list(clones.standing(board)) for method, board in boards.items()}
    noted.before = noted.before or now
    moved = [clones.moved(method, noted.before[method], now[method]) for method in now]
    noted.reports.append(Report(wave.name, moved, wave.noise, wave.copied))
    write_atomically(_file(settings), msgspec.json.encode(noted))
    return True


def read(settings: Settings) -> Attack | None:
    """Progress of the attack; None before the first report, or if its file is damaged. The attack then begins again without harm."""
    try:
        return msgspec.json.decode(_file(settings).read_bytes(), type=Attack)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _file(settings: Settings) -> Path:
    return settings.data / f"{clones.POOL}.json"


def _prepare(settings: Settings, log_: Log) -> None:
    with closing(ControlLog(log_.control)) as control:
        for pool in clones.POOLS:
            control.create_pool(PoolCreated(pool=pool, kind=Kind.SCORES, time=time.time(), fold=default_fold(settings), label=clones.LABEL))
            control.append(plan_of(control.refresh(), pool, clones.methods_of(pool), time.time()))


def _await_boards(solved: SolvedBoards, wave: Wave, stop: threading.Event) -> dict[str, SolvedBoard] | None:
    """Wait until the boards of all methods count a wave, and return them by method. None if `stop` was set before."""
    wanted = clones.methods_of(wave.pool)
    while not stop.wait(_LOOK_SECONDS):
        try:
            pages = {method: solved.page(wave.pool, method, 0, _ROWS) for method in wanted}
        except StoreError as error:
            log.warning("the attack waits for the store: %s", error)
            continue
        boards = {method: page[0] for method, page in pages.items() if page is not None}
        if len(boards) == len(wanted) and all(board.outcomes >= wave.outcomes for board in boards.values()):
            return boards
    return None
