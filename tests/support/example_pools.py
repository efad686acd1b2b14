"""Pools for the examples of the docs: games of many months, written into an embedded log before an installation starts on it.

`POOLS` are the pools that guides and reference name, with the agents, tags and positions that their examples use. Examples write to them.
Nothing writes to `TASK_POOLS`, so their answers are the same in every run.
"""

import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import exp
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET, Raw

from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.log.partition import partition_of
from services.log.protocol import Log
from services.log.sqlite.file import table_of
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind

PARTITIONS: Final = int(Settings.model_fields["partitions"].default)
_LANGUAGES: Final = ("English", "English", "German", "Chinese")
_CATEGORIES: Final = ("math", "code", "law")


@dataclass(frozen=True)
class ExamplePool:
    """A pool with one game a record, so the game at position n is game n.

    Attributes:
        name: Name of the pool.
        agents: The agents, the strongest first.
        games: Number of games.
        begin, end: Times of the first game and after the last one: an ISO date. The log took each game at its time.
        seasons: Name and first position of each season after the first one.
        fold: Settings of the pool.
        tagged: Whether games have tags and features.
        label: Text that is shown beside the name.
        team_games: Every how many games is one of two teams of two; 0 for none.
    """

    name: str
    agents: Sequence[str]
    games: int
    begin: str
    end: str
    seasons: Sequence[tuple[str, int]] = ()
    fold: FoldSettings = field(default_factory=FoldSettings)
    tagged: bool = False
    label: str = ""
    team_games: int = 0

    @property
    def partition(self) -> int:
        """Partition of the outcomes topic."""
        return partition_of(self.name, PARTITIONS)

    def time(self, position: int) -> float:
        """Time of a game, seconds since 1970."""
        begin, end = (datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() for day in (self.begin, self.end))
        return begin + (end - begin) * position / self.games

    def outcomes(self) -> Iterator[GameEvent]:
        """The games, by a Bradley-Terry model with one tie in ten games. Strengths add up in a team."""
        draw = random.Random(f"games of {self.name}")
        for number in range(self.games):
            size = 2 if self.team_games and number % self.team_games == 0 else 1
            players = draw.sample(range(len(self.agents)), 2 * size)
            teams = players[:size], players[size:]
            length = round(draw.gauss(0.0, 0.5), 3)
            strength = 0.25 * (sum(teams[1]) - sum(teams[0])) + (0.8 * length if self.tagged else 0.0)
            won, tied = draw.random() < 1 / (1 + exp(-strength)), draw.random() < 0.1
            places = (1, 1) if tied else (1, 2) if won else (2, 1)
            sides = [Side([self.agents[agent] for agent in team], place) for team, place in zip(teams, places, strict=True)]
            tags = {"language": draw.choice(_LANGUAGES), "category": draw.choice(_CATEGORIES)}
            meta = Raw(json.dumps({"len_a~len_b": length}).encode())
            more: dict[str, Any] = {"tags": tags, "meta": meta} if self.tagged else {"tags": UNSET}
            yield GameEvent(v=1, id=f"{self.name}-{number}", pool=self.name, time=self.time(number), sides=sides, **more)


_SLICES: Final = FoldSettings(slices={"language": ("elo",), "category": ("elo", "sco")}, features=("len_a~len_b",))
_NAMES: Final = ("ann", "bob", "cy", "cem", "dee", "dan", "eve", "fay", "gil", "mallory")
POOLS: Final = (
    ExamplePool("blitz", _NAMES, 9_000, "2026-02-01", "2026-11-28", (("2026-autumn", 100), ("2026-late", 200)), label="Blitz chess"),
    ExamplePool("arena", _NAMES, 3_000, "2026-06-01", "2026-11-28", (("2026-summer", 100), ("2026-autumn", 400)), _SLICES, tagged=True),
    ExamplePool("demo-rps", ("rock", "paper", "scissors"), 300, "2026-02-01", "2026-06-01"),
)
_PLAYERS: Final = ("Ada", "Bruno", "Chioma", "Dariusz", "Emil", "Fatima", "Goran", "Hana", "Ines", "Jonas", "Kofi", "Lena", "Mia", "Noah")
_MODELS: Final = ("atlas-2", "borealis", "cirrus-70b", "delta", "echo-mini", "fjord", "gale-8b", "heron")
TASK_POOLS: Final = (
    ExamplePool("league", _PLAYERS, 4_000, "2026-01-05", "2026-11-27", (("2026-summer", 1_000), ("2026-autumn", 2_000)), team_games=8),
    ExamplePool("battles", _MODELS, 4_000, "2026-05-01", "2026-11-27", (), _SLICES, tagged=True),
)
"""A game with seasons, and an arena of language models."""


def write(data: Path, pools: Sequence[ExamplePool] = (*POOLS, *TASK_POOLS)) -> None:
    """Write the pools into the log of a data folder that no installation uses yet."""
    data.mkdir(parents=True, exist_ok=True)
    path = data / "log.sqlite"
    assert len({pool.partition for pool in pools}) == len(pools), "each pool has a partition, so its positions are the numbers of its games"
    with closing(open_sqlite_log(path, PARTITIONS)) as log, closing(ControlLog(log.control)) as control:
        for pool in pools:
            fold = pool.fold.with_defaults(Kind.GAMES)
            control.append(PoolCreated(pool=pool.name, kind=Kind.GAMES, time=pool.time(0), fold=fold, label=pool.label))
            _append(log, pool)
    with closing(sqlite3.connect(path)) as connection, connection:
        for pool in pools:
            table = table_of("outcomes", pool.partition)
            step = pool.time(1) - pool.time(0)
            connection.execute(f'UPDATE {table} SET time = ? + ? * "offset"', (pool.time(0), step))  # noqa: S608 - a name of ours


def _append(log: Log, pool: ExamplePool) -> None:
    log.outcomes.append(pool.partition, [(pool.name.encode(), events.encode([one])) for one in pool.outcomes()])
