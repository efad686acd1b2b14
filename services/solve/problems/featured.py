"""Games of a pool with the features that its settings name, counted from its outcomes: the problem that solves read from checkpoints."""

from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.errors import InputError
from ratings_core.front.counted import batch_of, buckets_of
from ratings_core.problems.inputs import FeaturesInput
from ratings_core.records.roster import Roster
from ratings_core.tallies.featured_games import FeaturedGames
from services.control.records import FoldSettings
from services.solve.problems.checkpointed import featured_problem
from services.state.features import values_of


class CountedWithFeatures:
    """Counts games with features, and keeps as many of the newest ones as the pool's settings say.

    Args:
        fold: Settings of the pool's generation, which name the features.
        bucket_seconds: Width of a time bucket in seconds; None puts all games into one bucket.
    """

    def __init__(self, fold: FoldSettings, bucket_seconds: float | None) -> None:
        self._agents, self._tasks, self._bucket_seconds = Roster(), Roster(), bucket_seconds
        self._games = FeaturedGames(list(dict.fromkeys(fold.features)), fold.feature_window)

    def add(self, columns: Games | TaskScores) -> None:
        """Count games, in order. Raises `InputError` for outcomes with scores, which have no features."""
        if not isinstance(columns, Games):
            raise InputError("features", list(self._games.names), "must be left out: outcomes with scores have no features")
        batch, buckets = batch_of(columns, self._agents, self._tasks), buckets_of(columns.time, self._bucket_seconds)
        # buckets need not ascend: only `drop_before` counts on that, and nothing is dropped here
        self._games.add(batch, buckets, values_of(columns.meta, self._games.names))

    def problem(self) -> FeaturesInput:
        """The problem of the games so far. Raises `InputError` if no game had all features."""
        return featured_problem(self._games, self._agents.names())
