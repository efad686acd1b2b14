"""The problem of games that were counted by time bucket."""

from ratings_core.problems.history import BucketedGames
from ratings_core.problems.inputs import GamesInput
from ratings_core.records.outcomes import NO_TASK
from ratings_core.tallies.clusters import counts_of_groups


def games_of(names: tuple[str, ...], history: BucketedGames, half_life: float = 0.0) -> GamesInput:
    """The problem of a pool of games from its tallies. Tasks without a game between two single agents are left out.

    Args:
        names: Agents' names by id.
        history: The tallies, by time bucket.
        half_life: Number of buckets after which a result counts half; 0 weighs all results alike.
    """
    weights = history.weights(half_life)
    by_task = {history.tasks[task]: counts for task, counts in history.pairs.counts_by_task(weights).items() if task != NO_TASK}
    return GamesInput(
        names,
        history.pairs.counts(weights),
        history.places.counts(weights),
        tasks=tuple(by_task),
        by_task=tuple(by_task.values()),
        groups=() if history.clusters is None else counts_of_groups(history.clusters, weights),
        history=history if history.timed else None,
    )
