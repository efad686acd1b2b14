"""Problems from the arrays of a checkpointed pool."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ratings_core.records.outcomes import NO_TASK
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from services.solve.problems.inputs import GamesInput, ScoresInput
from services.state.clusters import counts_of_groups
from services.state.parts import part
from services.wire.pools import Kind


def problem(kind: Kind, arrays: Mapping[str, NDArray[Any]]) -> GamesInput | ScoresInput:
    """The problem that a pool's checkpointed arrays give: games with their pairs and places, or the means of its scores."""
    names = tuple(Roster.from_arrays(part(arrays, "agents")).names())
    tasks = tuple(Roster.from_arrays(part(arrays, "tasks")).names())
    if kind is Kind.GAMES:
        return of_tallies(names, tasks, PairTally.from_arrays(part(arrays, "pairs")), PlaceTally.from_arrays(part(arrays, "places")))
    return ScoresInput(names, tasks, ScoreTable.from_arrays(part(arrays, "scores")).means(len(names), len(tasks)))


def of_tallies(
    names: tuple[str, ...], tasks: tuple[str, ...], pairs: PairTally, places: PlaceTally, clusters: PairTally | None = None
) -> GamesInput:
    """The problem that tallies of games give.

    Args:
        names: Agents by id.
        tasks: Tasks by id. Tasks without a pair of single agents are left out.
        pairs: Pair tallies.
        places: Place tallies.
        clusters: Pair tallies by group, as `services.state.clusters` counts them; None if the pool is not clustered.
    """
    on_tasks = {task: counts for task, counts in pairs.counts_by_task().items() if task != NO_TASK}
    groups = () if clusters is None else counts_of_groups(clusters)
    by_task = tuple(on_tasks.values())
    return GamesInput(names, pairs.counts(), places.counts(), tuple(tasks[task] for task in on_tasks), by_task, groups)


def with_groups(found: GamesInput | ScoresInput, arrays: Mapping[str, NDArray[Any]]) -> GamesInput | ScoresInput:
    """With the groups of games that a clustered pool counts."""
    clusters = part(arrays, "clusters")
    if not clusters or not isinstance(found, GamesInput):
        return found
    return found.in_groups(counts_of_groups(PairTally.from_arrays(clusters)))
