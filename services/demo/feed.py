"""Feeds the demo: sends the Atari table and the arena's history once, then simulated games at a constant rate up to a fixed number."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Final

import msgspec

from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from services.control.generations import default_fold
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated, SeasonStart
from services.control.seasons import season_request, seasons
from services.demo import arena, simulated
from services.imports.journal import Journal, Progress
from services.imports.replay import JOURNALS, Sending, append_outcomes, replay_file
from services.log.protocol import Log, LogError
from services.runtime.settings import Settings
from services.solve.registry.choice import leading_of, plan_of
from services.solve.registry.methods import defaults
from services.wire.pools import Kind

log = logging.getLogger("equirank.demo")

ATARI_POOL: Final = "atari"
_HANDS: Final = (simulated.POOL_BEFORE, simulated.POOL)
POOLS: Final[Mapping[str, dict[str, dict[str, float | str | bool]]]] = {
    ATARI_POOL: {**defaults(Kind.SCORES), "cce": {"missing": "refuse"}, "lle": {"missing": "refuse"}},
    simulated.POOL_BEFORE: defaults(Kind.GAMES),
    simulated.POOL: defaults(Kind.GAMES),
    arena.POOL: defaults(Kind.GAMES),
}
"""Pool -> methods by which it is solved at first, with their parameters."""
_ARENA_ONLINE: Final[dict[str, dict[str, float]]] = {"elo": {"k": 8.0}, "sco": {}, "glicko2": {}}
"""Live methods of the arena. The step of Elo is small, as models have hundreds of battles: with the usual 32, chance alone moves a rating
by 100 within a day.
"""
_LIVE_SLICES: Final = ("elo", "glicko2")
_SOLVED_SLICES: Final = ("bradley_terry",)
_ARENA_LEADS: Final = "glicko2"
"""Method that the pages of the arena show first. Its changes within a day are known from the beginning, because they follow from the
times of battles. A solved board is compared with solves of the past, which a new demo does not have.
"""


@dataclass(frozen=True, slots=True)
class Stream:
    """Simulated games that are sent in parts.

    Attributes:
        journal: Progress of the stream.
        games: Number of games of the stream.
        end: (index of the first game of a part) -> index after its last one.
        send: (index of the first game, index after the last one) -> log offset after them. Sends a part.
        ready: (progress) -> whether the next part can be sent.
    """

    journal: Journal
    games: int
    end: Callable[[int], int]
    send: Callable[[int, int], int]
    ready: Callable[[Progress], bool] = lambda _: True

    def has_more(self) -> bool:
        """Whether games are left to send."""
        return self._progress().sent < self.games

    def send_part(self) -> None:
        """Send the next part, if it is ready. Raises `LogError`.

        The journal is written after the log took the part; a repeated game is a duplicate by its id.
        """
        noted = self._progress()
        if noted.sent < self.games and self.ready(noted):
            end = self.end(noted.sent)
            self.journal.write(Progress(end, self.games, self.send(noted.sent, end)))

    def _progress(self) -> Progress:
        return self.journal.read() or Progress(0, self.games, 0)


def feed(settings: Settings, log_: Log, stop: threading.Event) -> None:
    """Fill the demo's pools. Returns when all games were sent or `stop` is set."""
    with closing(ControlLog(log_.control, details=True)) as control:
        began = _create_pools(settings, control)
        with as_file(files("services.demo") / "atari.csv") as table:
            replay_file(settings, log_, table, Sending(ATARI_POOL, ReadOptions(kind=FileKind.SCORES)))
        folder, identity = settings.data / JOURNALS, log_.outcomes.identity
        rounds = round_stream(Journal.of(folder, identity, simulated.POOL), log_)
        play([rounds, arena_stream(Journal.of(folder, identity, arena.POOL), log_, control, began)], stop)


def round_stream(journal: Journal, log_: Log) -> Stream:
    """The rounds of both pools of hands. A round is one append to each pool, so that boards rarely see a part of it."""

    def send(first: int, end: int) -> int:
        now = time.time()
        games = [simulated.game(index, now) for index in range(first, end)]
        if without_copies := simulated.before(games):
            append_outcomes(log_, simulated.POOL_BEFORE, without_copies)
        return append_outcomes(log_, simulated.POOL, games)

    return Stream(journal, simulated.GAMES, lambda first: min(simulated.GAMES, first - first % simulated.ROUND + simulated.ROUND), send)


def arena_stream(journal: Journal, log_: Log, control: ControlLog, began: float) -> Stream:
    """The battles of the arena. A season ends after the first part. began: Time of the pool's creation, seconds since 1970."""

    def send(first: int, end: int) -> int:
        now = time.time()
        return append_outcomes(log_, arena.POOL, [arena.battle(index, began, now) for index in range(first, end)])

    def ready(noted: Progress) -> bool:
        return noted.sent != arena.SEASON_BATTLES or _ends_season(control, noted.position)

    return Stream(journal, arena.BATTLES, arena.part_end, send, ready)


def play(streams: Sequence[Stream], stop: threading.Event) -> None:
    """Send the parts of all streams at a constant rate. Returns when all were sent or `stop` is set."""
    while any(stream.has_more() for stream in streams) and not stop.wait(1 / simulated.ROUNDS_PER_SECOND):
        for stream in streams:
            try:
                stream.send_part()
            except LogError as error:
                log.warning("games wait: %s", error)


def _create_pools(settings: Settings, control: ControlLog) -> float:
    """Create the pools that do not exist. Returns the time of the arena's creation, which is the same after a restart."""
    fold = default_fold(settings)
    hands = [PoolCreated(pool=name, kind=Kind.GAMES, time=time.time(), fold=fold, label="simulated") for name in _HANDS]
    for wanted in (PoolCreated(pool=ATARI_POOL, kind=Kind.SCORES, time=time.time(), fold=fold), *hands):
        control.create_pool(wanted, settings.max_pools)
    if ATARI_POOL not in (state := control.refresh()).plans:
        control.append(plan_of(state, ATARI_POOL, POOLS[ATARI_POOL], time.time()))
    return _create_arena(settings, control, fold)


def _create_arena(settings: Settings, control: ControlLog, fold: FoldSettings) -> float:
    sliced = msgspec.structs.replace(fold, online=_ARENA_ONLINE, slices=dict.fromkeys(arena.SLICES, _LIVE_SLICES))
    wanted = PoolCreated(pool=arena.POOL, kind=Kind.GAMES, time=time.time(), fold=sliced, label="simulated")
    began = control.create_pool(wanted, settings.max_pools).time
    if arena.POOL not in (state := control.refresh()).plans:  # written last, so that an interrupted start does all of it again
        control.write_details(arena.POOL, arena.details(), time.time(), most_agents=settings.max_agents)
        control.append(leading_of(state, arena.POOL, _ARENA_LEADS, time.time()))
        slices = dict.fromkeys(arena.SLICES, _SOLVED_SLICES)
        control.append(plan_of(state, arena.POOL, POOLS[arena.POOL], time.time(), slices))
    return began


def _ends_season(control: ControlLog, position: int) -> bool:
    """Ask for the arena's second season at a log offset, if it has only one. False if the pool is not folded yet, so that none can end."""
    state = control.refresh()
    if state.serving(arena.POOL) is None:
        return False
    if len(seasons(state, arena.POOL)) == 1:
        season = SeasonStart(name=arena.SEASON, keep=arena.KEEP)
        wanted = season_request(state, control.standing(arena.POOL), season, position, time.time())
        control.want(wanted, begins_season=True)
    return True
