"""From a file to a problem that methods solve: what `equirank solve` reads."""

from pathlib import Path

import numpy as np

from ratings_core.errors import InputError
from ratings_core.formats import FileKind, read_margins, read_profile, read_scores
from ratings_core.formats.results import Unplayed
from ratings_core.roster import Roster
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from ratings_core.voting.profile import Unlisted
from services.events import Event, GameEvent, RetractEvent, ScoreEvent
from services.files import kind_of, pools_named, read_events, read_text
from services.shard.columns import GameColumns, ScoreColumns, retracted_hash
from services.solve.inputs import GamesInput, MarginsInput, Problem, ProfileInput, ScoresInput
from services.solve.tasks import of_tallies


def load(
    path: Path,
    kind: FileKind | None = None,
    *,
    pool: str | None = None,
    per_task: bool = False,
    unplayed: Unplayed = "skip",
    unlisted: Unlisted = "last",
) -> tuple[FileKind, Problem]:
    """The kind of the file and the problem it holds. pool: whose outcomes, where a file of outcomes names several; per_task: count the
    games of each task apart, too.

    unplayed, unlisted: as for the readers of results and profiles. Raises `InputError`; a file with a broken row is refused whole.
    """
    text = read_text(path)
    kind = kind_of(path, text, kind)
    match kind:
        case FileKind.SCORES:
            table = read_scores(text)
            return kind, ScoresInput(table.agents, table.tasks, table.scores)
        case FileKind.MARGINS:
            margins = read_margins(text)
            return kind, MarginsInput(margins.names, margins.margins)
        case FileKind.PROFILE:
            return kind, ProfileInput(read_profile(text), unlisted)
        case FileKind.OUTCOMES | FileKind.RESULTS | FileKind.BATTLES:
            name = _pool(text, pool) if kind is FileKind.OUTCOMES else "offline"
            found = read_events(path, name, now=0.0, kind=kind, unplayed=unplayed)
            if found.refused:
                first = found.refused[0]
                raise InputError(f"line {first.line}: {first.path}", f"{len(found.refused)} refused in all", first.rule)
            return kind, problem_of(found.events, per_task)


def problem_of(events: list[Event], per_task: bool = False) -> Problem:
    """Tallies of outcomes as a fold counts them: equal ids once, retracted ones not at all. Raises `InputError` for mixed kinds."""
    retracted = [event for event in events if isinstance(event, RetractEvent)]
    games = [event for event in events if isinstance(event, GameEvent)]
    scores = [event for event in events if isinstance(event, ScoreEvent)]
    if bool(games) == bool(scores):
        raise InputError("file", len(events), "must hold outcomes, of one kind: with sides or with scores")
    return _of_games(games, retracted, per_task) if games else _of_scores(scores, retracted)


def _of_games(events: list[GameEvent], retracted: list[RetractEvent], per_task: bool) -> GamesInput:
    columns = GameColumns.of(events)
    columns = columns.take(_counted(columns.id_hash, retracted))
    agents, tasks, pairs, places = Roster(), Roster(), PairTally(per_task=per_task), PlaceTally()
    batch = columns.batch(agents.intern_packed(columns.names), tasks.intern_packed(columns.tasks))
    for tally in (pairs, places):
        tally.add(batch, np.zeros(len(batch), np.int64))
    return of_tallies(tuple(agents.names()), tuple(tasks.names()), pairs, places)


def _of_scores(events: list[ScoreEvent], retracted: list[RetractEvent]) -> ScoresInput:
    columns = ScoreColumns.of(events)
    columns = columns.take(_counted(columns.id_hash, retracted))
    agents, tasks, table = Roster(), Roster(), ScoreTable()
    batch = columns.batch(agents.intern_packed(columns.names), tasks.intern_packed(columns.tasks))
    table.add(batch, np.zeros(len(batch), np.int64))
    return ScoresInput(tuple(agents.names()), tuple(tasks.names()), table.means(len(agents), len(tasks)))


def _counted(id_hash: np.typing.NDArray[np.uint64], retracted: list[RetractEvent]) -> np.typing.NDArray[np.bool_]:
    """Which outcomes count: the first of each id, none that is retracted."""
    keys = _keys(id_hash)
    counted = np.zeros(len(keys), np.bool_)
    counted[np.unique(keys, return_index=True)[1]] = True
    return counted & ~np.isin(keys, _keys(retracted_hash(retracted)))


def _keys(hashes: np.typing.NDArray[np.uint64]) -> np.typing.NDArray[np.void]:
    return np.ascontiguousarray(hashes).view(np.dtype((np.void, 16))).ravel()


def _pool(text: str, pool: str | None) -> str:
    named = pools_named(text)
    if pool is None and len(named) == 1:
        return named[0]
    if pool is None or pool not in named:
        raise InputError("pool", pool, f"must be one of the file's pools: {', '.join(named) or 'none (it holds no outcome)'}")
    return pool
