"""Feeds the demo: sends the Atari table once, then rounds of simulated games at a constant rate up to a fixed number."""

import logging
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from importlib.resources import as_file, files
from typing import Final

from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from services.control.generations import default_fold
from services.control.log import ControlLog
from services.control.records import PoolCreated
from services.demo import simulated
from services.imports.journal import Journal, Progress
from services.imports.replay import JOURNALS, Sending, append_outcomes, replay_file
from services.log.protocol import Log, LogError
from services.runtime.settings import Settings
from services.solve.registry.choice import plan_of
from services.solve.registry.methods import defaults
from services.wire.pools import Kind

log = logging.getLogger("equirank.demo")

ATARI_POOL: Final = "atari"
POOLS: Final[Mapping[str, dict[str, dict[str, float | str | bool]]]] = {
    ATARI_POOL: {**defaults(Kind.SCORES), "cce": {"missing": "refuse"}, "lle": {"missing": "refuse"}},
    simulated.POOL_BEFORE: defaults(Kind.GAMES),
    simulated.POOL: defaults(Kind.GAMES),
}
"""Pool -> methods by which it is solved at first, with their parameters."""


def feed(settings: Settings, log_: Log, stop: threading.Event) -> None:
    """Fill the demo's pools. Returns when all games were sent or `stop` is set."""
    with closing(ControlLog(log_.control)) as control:
        for pool, kind, label in (
            (ATARI_POOL, Kind.SCORES, ""),
            *((name, Kind.GAMES, "simulated") for name in (simulated.POOL_BEFORE, simulated.POOL)),
        ):
            control.create_pool(
                PoolCreated(pool=pool, kind=kind, time=time.time(), fold=default_fold(settings), label=label), settings.max_pools
            )
        if ATARI_POOL not in (state := control.refresh()).plans:
            control.append(plan_of(state, ATARI_POOL, POOLS[ATARI_POOL], time.time()))
    with as_file(files("services.demo") / "atari.csv") as table:
        replay_file(settings, log_, table, Sending(ATARI_POOL, ReadOptions(kind=FileKind.SCORES)))
    _play(Journal.of(settings.data / JOURNALS, log_.outcomes.identity, simulated.POOL), log_, stop)


def _play(journal: Journal, log_: Log, stop: threading.Event) -> None:
    """Send rounds of games to both simulated pools.

    A round is one append to each pool, so that boards rarely see a part of it. The journal is written after the log took both; a repeated
    game is a duplicate by its id.
    """
    noted = journal.read()
    played = 0 if noted is None else noted.sent
    while played < simulated.GAMES and not stop.wait(1 / simulated.ROUNDS_PER_SECOND):
        end = min(simulated.GAMES, played - played % simulated.ROUND + simulated.ROUND)
        now = time.time()
        games = [simulated.game(index, now) for index in range(played, end)]
        try:
            if without_copies := simulated.before(games):
                append_outcomes(log_, simulated.POOL_BEFORE, without_copies)
            position = append_outcomes(log_, simulated.POOL, games)
        except LogError as error:
            log.warning("games from %d on wait: %s", played, error)
            continue
        played = end
        journal.write(Progress(played, simulated.GAMES, position))
