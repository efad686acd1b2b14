"""Contextual Bradley-Terry of a pool that keeps features: the fit to its games, as `equirank solve FILE` makes it."""

import csv
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec import Raw

from ratings_core.errors import InputError
from ratings_core.formats.features import Feature
from ratings_core.formats.options import ReadOptions
from services.boards.result import Intervals
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.control.records import FoldSettings
from services.solve.intervals.replicates import add_intervals
from services.solve.problems.checkpointed import with_groups
from services.solve.registry import methods
from services.solve.registry.methods import problem_for
from services.solve.worker.tasks import solve_pool
from services.state.pool import PoolState
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.loading import load
from tests.support.pools import state_of

METHOD, AGENTS, GAMES = "contextual_bradley_terry", 6, 400
PRIOR = {"prior": 1.0}


def drawn() -> list[tuple[str, str, float, int, int]]:
    """first, second, length of the first less the second, score of each; longer answers win more."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, AGENTS, GAMES)
    second = (first + rng.integers(1, AGENTS, GAMES)) % AGENTS
    length = rng.normal(size=GAMES).round(3)
    won = rng.random(GAMES) < 1 / (1 + np.exp(0.4 * (second - first) - 0.8 * length))
    tied = rng.random(GAMES) < 0.1
    rows = zip(first.tolist(), second.tolist(), length.tolist(), won.tolist(), tied.tolist(), strict=True)
    return [(f"m{a}", f"m{b}", value, int(w or t), int(not w or t)) for a, b, value, w, t in rows]


def pool(features: tuple[str, ...] = ("length",), **fold: object) -> PoolState:
    state = state_of(fold=FoldSettings(features=features, **fold))
    games = [
        GameEvent(v=1, id=str(i), pool="p", time=float(i), meta=Raw(json.dumps({"length": value}).encode()),
                  sides=[Side([a], -own), Side([b], -other)])
        for i, (a, b, value, own, other) in enumerate(drawn())
    ]  # fmt: skip
    assert fold_events(state, games) == []
    return state


def solve(state: PoolState, **parameters: object) -> methods.SolveResult:
    return methods.solve(METHOD, problem_for(METHOD, Kind.GAMES, state.arrays()), {**PRIOR, **parameters})  # type: ignore[dict-item]


def test_a_pool_is_fitted_as_a_file_of_the_same_games(tmp_path: Path) -> None:
    file = tmp_path / "games.csv"
    with file.open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(("home_team", "away_team", "length", "home_score", "away_score"))
        table.writerows(drawn())
    options = ReadOptions(features=(Feature.parsed("length"), Feature.parsed("first-side")))
    ours = solve(pool(("length", "first-side")))
    twin = methods.solve(METHOD, load(file, options).problem, PRIOR)
    assert [row.agent for row in ours.agents] == [row.agent for row in twin.agents]
    assert [row.rating for row in ours.agents] == pytest.approx([row.rating for row in twin.agents])
    assert [row.low for row in ours.agents] == pytest.approx([row.low for row in twin.agents])
    found, wanted = ours.extra["features"], twin.extra["features"]
    assert [one["feature"] for one in found] == ["length", "first-side"]
    assert [one["coefficient"] for one in found] == pytest.approx([one["coefficient"] for one in wanted])
    assert found[0]["low"] <= 0.8 <= found[0]["high"]
    assert "games_left_out" not in ours.extra


def test_games_that_are_no_longer_kept_or_lack_a_feature_are_told() -> None:
    state = pool(feature_window=300)
    assert fold_events(state, [GameEvent(v=1, id="x", pool="p", time=500.0, sides=[Side(["m0"], 1), Side(["zoe"], 2)])]) == []
    found = solve(state)
    assert found.extra["games"] == 300
    assert found.extra["games_left_out"] == {"without all features": 1, "older than those kept": 100}
    assert "zoe" not in {row.agent for row in found.agents}


def test_a_half_life_weighs_games_by_their_bucket() -> None:
    state = pool(bucket_seconds=100)
    problem = problem_for(METHOD, Kind.GAMES, state.arrays())
    found = methods.solve(METHOD, problem, {**PRIOR, "half_life": 2.0})
    weights = 2.0 ** ((np.arange(GAMES) // 100 - 3) / 2.0)
    twin = methods.solve(METHOD, problem.weighted(weights), PRIOR)  # type: ignore[union-attr]
    assert [row.rating for row in found.agents] == pytest.approx([row.rating for row in twin.agents])
    assert found.extra["recency"] == {"half_life": 2.0, "oldest_bucket": 0, "newest_bucket": 3}
    with pytest.raises(InputError, match="half_life"):
        solve(pool(), half_life=2.0)


def test_a_pool_without_games_that_have_the_features_says_so() -> None:
    with pytest.raises(InputError, match=r"features must be numbers in the `meta` of at least one game of two agents, got \['size'\]"):
        solve(pool(("size",)))


def test_the_task_of_a_solve_reads_the_features_of_the_checkpoint(tmp_path: Path) -> None:
    state, files = pool(), CheckpointStore(tmp_path.as_uri())
    sha256, size = files.write_object("o", state.arrays(), {})
    entry = PoolEntry(
        pool="p", kind="games", generation=1, position=GAMES, outcomes=GAMES, object="o", sha256=sha256, bytes=size, digest="d"
    )
    found = solve_pool(files.url, msgspec.json.encode(entry), METHOD, PRIOR, 1 << 32)
    rows = [msgspec.structs.replace(row, outcomes=None, opponents=None) for row in found.result.agents]
    assert rows == solve(state).agents
    assert all(row.outcomes and row.opponents for row in found.result.agents)
    given = with_groups(problem_for(METHOD, Kind.GAMES, state.arrays()), state.arrays())
    told = add_intervals(METHOD, given, PRIOR, found.result, 600.0)
    assert told == found.result, "the board of a server shows the intervals of the fit, and so does `equirank solve --pool --intervals`"
    assert isinstance(told.intervals, Intervals)
    assert (told.intervals.kind, told.intervals.level) == ("sandwich", 0.95)
    assert all((row.rank_low or 0) <= row.rank <= (row.rank_high or 0) for row in told.agents)


def test_a_fit_without_standard_errors_has_intervals_of_refits() -> None:
    state = pool()
    given = problem_for(METHOD, Kind.GAMES, state.arrays())
    found = add_intervals(METHOD, given, {**PRIOR, "standard_errors": "none"}, solve(state, standard_errors="none"), 600.0)
    assert isinstance(found.intervals, Intervals)
    assert found.intervals.kind == "clustered"
