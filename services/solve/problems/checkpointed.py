"""Problems from the arrays of a checkpointed pool."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ratings_core.records.roster import Roster
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from services.solve.problems.history import History
from services.solve.problems.inputs import GamesInput, ScoresInput
from services.state.parts import part
from services.wire.pools import Kind


def problem(kind: Kind, arrays: Mapping[str, NDArray[Any]]) -> GamesInput | ScoresInput:
    """The problem that a pool's checkpointed arrays give: games with their pairs and places, or the means of its scores."""
    names = tuple(Roster.from_arrays(part(arrays, "agents")).names())
    tasks = tuple(Roster.from_arrays(part(arrays, "tasks")).names())
    if kind is Kind.GAMES:
        pairs, places = PairTally.from_arrays(part(arrays, "pairs")), PlaceTally.from_arrays(part(arrays, "places"))
        return games_of(names, History(tasks, pairs, places))
    return ScoresInput(names, tasks, ScoreTable.from_arrays(part(arrays, "scores")).means(len(names), len(tasks)))


def games_of(names: tuple[str, ...], history: History, half_life: float = 0.0) -> GamesInput:
    """The problem that tallies of games give. Tasks without a pair of single agents are left out.

    Args:
        names: Agents by id.
        history: The tallies, by time bucket.
        half_life: Buckets after which a result counts half; 0: all results count alike.
    """
    found = history.tallied(half_life)
    tasks, by_task = tuple(history.tasks[task] for task in found.by_task), tuple(found.by_task.values())
    return GamesInput(names, found.pairs, found.places, tasks, by_task, found.groups, history if history.timed else None)


def with_groups(found: GamesInput | ScoresInput, arrays: Mapping[str, NDArray[Any]]) -> GamesInput | ScoresInput:
    """With the groups of games that a clustered pool counts."""
    clusters = part(arrays, "clusters")
    if not clusters or not isinstance(found, GamesInput):
        return found
    return found.in_groups(PairTally.from_arrays(clusters))
