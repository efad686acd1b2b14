"""Problems from the arrays of a checkpointed pool."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratings_core.batch.comparisons import Comparisons
from ratings_core.errors import InputError
from ratings_core.problems.games import games_of
from ratings_core.problems.history import BucketedGames
from ratings_core.problems.inputs import FeaturesInput, GamesInput, Problem, ScoresInput
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from ratings_core.tallies.featured_games import FeaturedGames
from services.state.parts import part
from services.wire.pools import Kind


def problem(kind: Kind, arrays: Mapping[str, NDArray[Any]]) -> GamesInput | ScoresInput:
    """The problem of a pool from its checkpointed arrays: pairs and places of games, or mean scores."""
    names = tuple(Roster.from_arrays(part(arrays, "agents")).names())
    tasks = tuple(Roster.from_arrays(part(arrays, "tasks")).names())
    if kind is Kind.GAMES:
        pairs, places = PairTally.from_arrays(part(arrays, "pairs")), PlaceTally.from_arrays(part(arrays, "places"))
        return games_of(names, BucketedGames(tasks, pairs, places))
    return ScoresInput(names, tasks, ScoreTable.from_arrays(part(arrays, "scores")).means(len(names), len(tasks)))


def featured(arrays: Mapping[str, NDArray[Any]]) -> FeaturesInput:
    """The games with features of a pool from its checkpointed arrays. Only agents that played one of these games are included.

    Raises:
        InputError: The pool keeps no features, or no game has had all of them yet.
    """
    kept = part(arrays, "features")
    return featured_problem(FeaturedGames.from_arrays(kept) if kept else None, Roster.from_arrays(part(arrays, "agents")).names())


def featured_problem(games: FeaturedGames | None, names: Sequence[str]) -> FeaturesInput:
    """The problem of games with features. Only agents that played one of these games are included.

    Args:
        games: The games; None if none are kept.
        names: Names of all agents, by their ids.

    Raises:
        InputError: There is no game with all features.
    """
    if games is None or not len(games):
        known = [] if games is None else list(games.names)
        raise InputError("features", known, "must be numbers in the `meta` of at least one game of two agents")
    rows = games.rows()
    ids, sides = np.unique(np.concatenate([rows.first, rows.second]), return_inverse=True)
    first, second = sides[: len(games)].astype(np.int64), sides[len(games) :].astype(np.int64)
    order = np.arange(len(games), dtype=np.int64)
    comparisons = Comparisons(len(ids), first, second, rows.result, order, rows.weight)
    reasons = {"without all features": games.lacking, "older than those kept": games.counted - len(games)}
    left_out = tuple((why, count) for why, count in reasons.items() if count)
    buckets = rows.bucket if rows.bucket.any() else None
    return FeaturesInput(tuple(names[i] for i in ids.tolist()), comparisons, rows.values, games.names, buckets, left_out)


def with_groups(given: Problem, arrays: Mapping[str, NDArray[Any]]) -> Problem:
    """`given` with the random groups of games, if the pool counts them (`clustered`); otherwise unchanged."""
    clusters = part(arrays, "clusters")
    if not clusters or not isinstance(given, GamesInput):
        return given
    return given.in_groups(PairTally.from_arrays(clusters))
