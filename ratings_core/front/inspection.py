"""What a file holds: its kind, the roles of its columns, its agents and groups, its bad rows, and how to go on."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.columns import Games
from ratings_core.formats.errors import FormatError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.reading import FileReading, roles_of_table
from ratings_core.formats.source import FileSource
from ratings_core.front.counted import team_games
from ratings_core.front.load import load
from ratings_core.graphs import strong_components, weak_components
from ratings_core.problems.inputs import Problem, ProfileInput
from ratings_core.records.outcomes import WEIGHT_ONE
from ratings_core.records.roster import Roster

_ROW_KINDS: Final = (FileKind.GAMES, FileKind.PGN, FileKind.CONTESTS, FileKind.SCORES)


class Directions(NamedTuple):
    """What the results of single agents in games link. A tie counts as a win of both.

    Attributes:
        one_sided: Number of agents that won all their games, or lost all.
        groups: Number of groups that games link.
        both_ways: Number of groups within which chains of wins link every two agents in both directions. Bradley-Terry needs no prior to
            rate all agents exactly if this is the number of `groups`.
    """

    one_sided: int
    groups: int
    both_ways: int


@dataclass(slots=True)
class Inspection:
    """What a file holds.

    Attributes:
        kind: Its kind.
        note: What the kind rests on, if it was guessed and is not sure; else empty.
        columns: Names of its columns; empty for files without.
        roles: Role -> column, of a table of games. `counts.remarks` says what else its rows showed.
        counts: Numbers of rows; None for kinds that are not read row by row.
        outcomes: Number of games or measurements, or total weight of ballots.
        agents: Number of agents.
        groups: Sizes of the groups of agents that are linked by games, largest first.
        directions: What wins in pairs link; None without games of single agents.
        teams: Number of games with a side of several agents, which methods of pairs do not count.
        tasks: Number of tasks.
        scores: Smallest and largest score; None without scores.
        weights: Smallest and largest weight of a game or measurement; None if all are 1.
        ties: Share of games in which two sides share a place.
        times: First and last time, in seconds since 1970; None without times.
        order: What is said of rows that are not in the order of their times; else empty.
    """

    kind: FileKind
    note: str = ""
    columns: list[str] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    counts: RowCounts | None = None
    outcomes: float = 0
    agents: int = 0
    groups: list[int] = field(default_factory=list)
    directions: Directions | None = None
    teams: int = 0
    tasks: int = 0
    scores: tuple[float, float] | None = None
    weights: tuple[float, float] | None = None
    ties: float = 0.0
    times: tuple[float, float] | None = None
    order: str = ""

    @property
    def bad_rows(self) -> list[FormatError]:
        """Errors of the first bad rows."""
        return [] if self.counts is None else self.counts.first

    @property
    def left_out(self) -> Counter[str]:
        """Reason -> number of rows that are not outcomes."""
        return Counter() if self.counts is None else self.counts.left_out


def inspection_of(path: Path, options: ReadOptions = PLAIN) -> Inspection:
    """Read a file completely and say what it holds.

    Args:
        path: The file.
        options: How it is read.

    Raises:
        InputError: The kind cannot be guessed, or the file is damaged. Bad rows are counted.
    """
    with FileSource(path) as source:
        reading = FileReading(source, options)
        inspection = Inspection(reading.kind, reading.note)
        if reading.kind in (FileKind.GAMES, FileKind.SCORES):
            inspection.columns = reading.table().header
        if reading.kind is FileKind.GAMES:
            inspection.roles = roles_of_table(inspection.columns, options.roles).named
        if reading.kind in _ROW_KINDS:
            add_outcomes(inspection, reading.parts())
            inspection.counts, inspection.order = reading.counts, reading.order
        elif reading.kind in (FileKind.MARGINS, FileKind.PROFILE):
            _add_problem(inspection, load(reading)[""].problem)
        return inspection


def add_outcomes(inspection: Inspection, parts: Iterable[FilePart]) -> None:
    """Count outcomes and what they hold. parts: All outcomes of the file."""
    agents, tasks, ties = Roster(), Roster(), 0
    links: list[NDArray[np.int64]] = []
    wins: list[NDArray[np.int64]] = []
    for part in parts:
        ids = agents.intern_coded(part.columns.names).astype(np.int64)
        tasks.intern_packed(part.columns.tasks)
        inspection.outcomes += len(part)
        links.append(_links(part, ids))
        wins.append(_wins(part, ids))
        ties += _tied(part)
        _add_ranges(part, inspection)
    inspection.agents, inspection.tasks = len(agents), len(tasks)
    inspection.ties = ties / inspection.outcomes if inspection.outcomes else 0.0
    if inspection.agents:
        pairs = np.concatenate(links) if links else np.zeros((0, 2), np.int64)
        labels = weak_components(pairs[:, 0], pairs[:, 1], inspection.agents)
        inspection.groups = sorted(np.bincount(labels).tolist(), reverse=True)
    inspection.directions = _directions(np.concatenate(wins) if wins else np.zeros((0, 2), np.int64))


def _links(part: FilePart, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs of agents that link all agents of each outcome, each pair once, int64 (k, 2)."""
    columns = part.columns
    start = columns.agent_start[columns.side_start] if isinstance(columns, Games) else columns.start
    first = np.repeat(ids[start[:-1]], np.diff(start)) if len(ids) else ids
    return np.unique(np.column_stack([first, ids]), axis=0)


def _wins(part: FilePart, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs (winner, loser) whose chains are those of all wins of single agents, each pair once, int64 (k, 2).

    Of each game these are the neighbors in the order of its places, which chains link to the sides behind them. A tie is two pairs.
    """
    columns = part.columns
    if not isinstance(columns, Games):
        return np.zeros((0, 2), np.int64)
    single = np.diff(columns.agent_start) == 1
    game = np.repeat(np.arange(len(columns)), np.diff(columns.side_start))[single]
    agent, place = ids[columns.agent_start[:-1][single]], columns.place[single]
    order = np.lexsort((place, game))
    together = np.diff(game[order]) == 0
    ahead, behind = agent[order][:-1][together], agent[order][1:][together]
    tied = np.diff(place[order])[together] == 0
    pairs = np.unique(np.append(ahead, behind[tied]) << 32 | np.append(behind, ahead[tied]))  # faster than np.unique of rows
    return np.column_stack([pairs >> 32, pairs & 0xFFFFFFFF])


def _directions(wins: NDArray[np.int64]) -> Directions | None:
    """What pairs (winner, loser) link, int64 (k, 2); None without a pair."""
    if not len(wins):
        return None
    agents, numbers = np.unique(wins, return_inverse=True)
    winner, loser = numbers.reshape(-1, 2).T
    one_sided = 2 * len(agents) - len(np.unique(winner)) - len(np.unique(loser))
    groups, both_ways = (len(np.unique(of(winner, loser, len(agents)))) for of in (weak_components, strong_components))
    return Directions(one_sided, groups, both_ways)


def _tied(part: FilePart) -> int:
    """Number of games in which two sides share a place."""
    columns = part.columns
    if not isinstance(columns, Games) or not len(columns):
        return 0
    game = np.repeat(np.arange(len(columns)), np.diff(columns.side_start))
    order = np.lexsort((columns.place, game))
    equal = (np.diff(game[order]) == 0) & (np.diff(columns.place[order]) == 0)
    return len(np.unique(game[order][1:][equal]))


def _add_problem(inspection: Inspection, problem: Problem) -> None:
    inspection.agents = len(problem.names)
    if isinstance(problem, ProfileInput):
        inspection.outcomes = float(problem.profile.weight.sum())


def _add_ranges(part: FilePart, inspection: Inspection) -> None:
    columns = part.columns
    if part.timed is not None:
        inspection.times = _widened(inspection.times, columns.time[part.timed])
    weights = _widened(inspection.weights, columns.weight / WEIGHT_ONE)
    inspection.weights = None if weights == (1.0, 1.0) and inspection.weights is None else weights
    if isinstance(columns, Games):
        inspection.teams += team_games(columns)
    else:
        inspection.scores = _widened(inspection.scores, columns.score)


def _widened(ends: tuple[float, float] | None, values: NDArray[Any]) -> tuple[float, float] | None:
    """The ends with values among them."""
    if not len(values):
        return ends
    low, high = float(values.min()), float(values.max())
    return (low, high) if ends is None else (min(low, ends[0]), max(high, ends[1]))
