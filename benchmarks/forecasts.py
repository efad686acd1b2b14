"""Forecasts of the live methods: log loss, Brier score and calibration error, before and with the online scale, beside a coin.

`python -m benchmarks.forecasts [--quick]`. Each game is forecast before it is folded. Goal: on every line, the log loss of the forecast is
below that of a coin, ln 2 (ties count half for each side); the exit status is 1 if one is not, except with `--quick`, whose games are too
few. `before` are the scores of the method's own log odds, without a scale, and `now` those of its forecasts. A calibration error is that
of `Prequential`: in ten classes of the favourite's forecast. Chance alone makes it about 1.3 over the root of the number of games. A coin
has no favourite, so its error is 0: calibration alone says nothing. `scale` is the scale at the end. `ties` is the share of ties in the
second half of the games, beside the mean of its forecasts, which are made from the classes after the first half.

Data: all international football results where EQUIRANK_SHARED or ../shared has them (ties included); 20,000 battles of 100 models of
nearly equal strength with 30 % ties; 100,000 games of 2,000 chess players with 40 % ties; 30,000 tennis matches of 300 players whose
strength drifts. The last three are drawn with a seed. `oracle` has the scores of the probabilities that they were drawn from.

A second table has pools whose games have two shapes: log loss and calibration error of the games of each shape, by one scale for all games
and by a scale for each shape. 40,000 games of 300 agents whose strengths add up in a team: duels and games 2:2 in equal numbers, or one
duel in 20. Its log losses are means of the drawn probabilities, so that they have no noise of results.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from benchmarks.common import arguments, machine
from ratings_core.online import RATERS, Prequential, Rater
from ratings_core.online.trace import RatingTrace
from ratings_core.records.forecasts import Ties
from ratings_core.records.outcomes import NO_TASK, WEIGHT_ONE, OutcomeBatch

Floats = NDArray[np.float64]
SHARED = Path(os.environ.get("EQUIRANK_SHARED", Path(__file__).parents[2] / "shared"))
COIN = log(2)


@dataclass(frozen=True)
class Games:
    """Games of two, in their order. oracle: scores of the probabilities that they were drawn from; None if unknown."""

    name: str
    batch: OutcomeBatch
    agents: int
    oracle: "Scores | None" = None

    @property
    def results(self) -> Floats:
        """Result of each game's first agent: 1, 1/2 or 0, float64 (n,)."""
        places = self.batch.place.reshape(-1, 2).astype(np.int64)
        return np.asarray(0.5 + 0.5 * np.sign(places[:, 1] - places[:, 0]))


@dataclass(frozen=True)
class Scores:
    """How good forecasts were. Values are means over games."""

    log_loss: float
    brier: float
    calibration_error: float

    @classmethod
    def of(cls, p: Floats, result: Floats) -> "Scores":
        """The scores of forecasts, as `Prequential` defines them. p: expected scores of the first agents, float64 (n,)."""
        p = np.clip(p, 1e-15, 1 - 1e-15)
        loss = -(result * np.log(p) + (1 - result) * np.log(1 - p)).mean()
        favourite, won = np.maximum(p, 1 - p), 0.5 + (result - 0.5) * np.sign(p - 0.5)
        classes = np.minimum(((favourite - 0.5) * 20.0).astype(np.int64), 9)
        error = np.abs(np.bincount(classes, favourite - won)).sum() / len(p)
        return cls(float(loss), float(((result - p) ** 2).mean()), float(error))

    def __str__(self) -> str:
        return f"{self.log_loss:>9.4f}{self.brier:>8.4f}{self.calibration_error:>8.4f}"


def drawn(name: str, *, agents: int, games: int, spread: float, ties: float, drift: float = 0.0, seed: int = 0) -> Games:
    """Games of agents with strengths N(0, spread**2) in logits, each a tie with probability `ties`. drift: steps of a strength a game."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0.0, spread, agents)
    first = rng.integers(agents, size=games)
    second = (first + rng.integers(1, agents, games)) % agents
    p = np.empty(games)
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        p[i] = 1 / (1 + np.exp(strength[b] - strength[a]))
        strength[[a, b]] += rng.normal(0.0, drift, 2) if drift else 0.0
    result = np.where(rng.random(games) < ties, 0.5, (rng.random(games) < p).astype(float))
    expected = ties / 2 + (1 - ties) * p
    return Games(name, _batch(first, second, result, agents), agents, Scores.of(expected, result))


def football(most: int | None) -> Games | None:
    """International football results; None where the shared data are missing."""
    path = SHARED / "data/football/results.csv"
    if not path.exists():
        return None
    table = pyarrow.csv.read_csv(path, convert_options=pyarrow.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True))
    table = table.filter(pc.is_valid(table["home_score"])).slice(0, most)
    names, number = np.unique([*table["home_team"].to_pylist(), *table["away_team"].to_pylist()], return_inverse=True)
    home, away = number.reshape(2, -1)
    result = 0.5 + 0.5 * np.sign(table["home_score"].to_numpy().astype(int) - table["away_score"].to_numpy().astype(int))
    return Games("football", _batch(home, away, result, len(names)), len(names))


def _batch(first: NDArray[np.int64], second: NDArray[np.int64], result: Floats, agents: int) -> OutcomeBatch:
    batch = OutcomeBatch.of_pairs(first, second, result, agents).numbered(0)
    return replace(batch, time=600.0 * np.arange(len(batch)))


def workloads(quick: bool) -> Iterator[Games]:
    """The data sets."""
    part = 20 if quick else 1
    found = football(2_000 if quick else None)
    if found is None:
        print(f"football: {SHARED} is missing, skipped")
    else:
        yield found
    yield drawn("battles", agents=100, games=20_000 // part, spread=0.3, ties=0.3, seed=1)
    yield drawn("chess", agents=2_000 // part, games=100_000 // part, spread=1.2, ties=0.4, seed=2)
    yield drawn("tennis", agents=300 // part, games=30_000 // part, spread=1.5, ties=0.0, drift=0.02, seed=3)


@dataclass(frozen=True)
class TwoShapes:
    """Duels and games 2:2, in their order. chance: probability of the first side to win; is_duel: which games are duels; both (n,)."""

    name: str
    batch: OutcomeBatch
    chance: Floats
    is_duel: NDArray[np.bool_]


def two_shapes(name: str, *, games: int, duels: float, agents: int = 300, seed: int = 0) -> TwoShapes:
    """Games of agents with strengths N(0, 1) in logits, which add up in a team. duels: share of the games that are duels."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0.0, 1.0, agents)
    players = rng.random((games, agents)).argpartition(4, axis=1)[:, :4]
    is_duel = rng.random(games) < duels
    takes_part = np.column_stack([np.ones(games, bool), ~is_duel, np.ones(games, bool), ~is_duel])
    own = np.where(takes_part, strength[players], 0.0)
    chance = 1 / (1 + np.exp(own[:, 2:].sum(axis=1) - own[:, :2].sum(axis=1)))
    won = rng.random(games) < chance
    sizes = np.repeat(np.where(is_duel, 1, 2), 2)
    batch = OutcomeBatch(
        side_start=np.arange(0, 2 * games + 1, 2, dtype=np.int64),
        place=np.column_stack([2 - won, 1 + won]).astype(np.int32).ravel(),
        agent_start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        agent=players[takes_part].astype(np.int32),
        weight=np.full(games, WEIGHT_ONE, np.int64),
        time=600.0 * np.arange(games),
        task=np.full(games, NO_TASK, np.int32),
        key=np.zeros((games, 2), np.uint64),
    ).numbered(0)
    return TwoShapes(name, batch, chance, is_duel)


def _expected_loss(chance: Floats, forecast: Floats) -> float:
    near = np.clip(forecast, 1e-15, 1 - 1e-15)
    return float(-(chance * np.log(near) + (1 - chance) * np.log(1 - near)).mean())


def _calibration(chance: Floats, forecast: Floats) -> float:
    """As `Prequential.calibration_error`, with the drawn probabilities as results."""
    favourite, result = np.maximum(forecast, 1 - forecast), np.where(forecast >= 0.5, chance, 1 - chance)
    row = np.minimum(((favourite - 0.5) * 20).astype(np.int64), 9)
    return float(np.abs(np.bincount(row, favourite - result, 10)).sum() / len(chance))


def by_shape(quick: bool) -> None:
    """Print one line for each method and shape of pools with two shapes."""
    games = 2_000 if quick else 40_000
    columns = f"{'data':<12}{'shape':<7}{'games':>8}{'oracle':>8}  {'method':<14}{'one scale':>10}{'calib.':>8}{'by shape':>10}"
    print(f"\n{columns}{'calib.':>8}{'scale':>9}")
    for data in (two_shapes("half duels", games=games, duels=0.5, seed=4), two_shapes("few duels", games=games, duels=0.05, seed=5)):
        for method, kind in RATERS.items():
            forecasts, rater, scores = [], kind(), (Prequential(), Prequential(by_shape=True))
            for score in scores:
                trace = RatingTrace.of(data.batch)
                rater.fold(rater.init(0), data.batch, score, trace)
                forecasts.append(trace.expected[0::2])
            for shape, record in sorted(scores[1].by_shape.items()):
                part = data.is_duel == (shape == "1:1")
                chance = data.chance[part]
                head = f"{data.name:<12}{shape:<7}{len(chance):>8}{_expected_loss(chance, chance):>8.4f}  {method:<14}"
                figures = [f(chance, forecast[part]) for forecast in forecasts for f in (_expected_loss, _calibration)]
                print(head + "{:>10.4f}{:>8.4f}{:>10.4f}{:>8.4f}".format(*figures) + f"{record.scale:>9.3f}", flush=True)


def own_scores(rater: Rater, games: Games) -> Scores:
    """Scores of the expected scores of `Rater.predict`, each read before its game is folded."""
    state, batch, p = rater.init(games.agents), games.batch, np.empty(len(games.batch))
    for i in range(len(batch)):
        one = batch.slice(i, i + 1)
        a, b = (int(agent) for agent in one.agent)
        p[i] = rater.predict(state, a, b)
        rater.fold(state, one)
    return Scores.of(p, games.results)


def ties(rater: Rater, games: Games) -> tuple[float, float]:
    """Share of ties in the second half of the games, and the mean of their forecasts."""
    half, state, score, batch = len(games.batch) // 2, rater.init(games.agents), Prequential(), games.batch
    rater.fold(state, batch.slice(0, half), score)
    ties_before, forecast, seen = Ties(score.classes), 0.0, 0
    for i in range(half, len(batch)):
        one = batch.slice(i, i + 1)
        a, b = (int(agent) for agent in one.agent)
        forecast += float(ties_before.probability(np.array([score.forecast(rater.log_odds(state, a, b))]))[0])
        seen += int(one.place[0] == one.place[1])
        rater.fold(state, one, score)
    return seen / (len(batch) - half), forecast / (len(batch) - half)


def main() -> int:
    """Print one line for each method on each data set. Returns the exit status."""
    worst = 0.0
    quick = arguments(__doc__ or "").quick
    print(f"forecasts of live methods; a coin's log loss is {COIN:.4f}\n{machine(())}")
    named = f"{'log loss':>9}{'Brier':>8}{'calib.':>8}"
    print(
        f"{'':<33}{'before':>25}{'now':>25}\n{'data':<10}{'games':>8} {'method':<14}{named}{named}{'scale':>9}{'ties':>8}{'forecast':>10}"
    )
    for games in workloads(quick):
        start = f"{games.name:<10}{len(games.batch):>8} "
        coin = Scores.of(np.full(len(games.batch), 0.5), games.results)
        for name, scores in (("coin", coin), ("oracle", games.oracle)):
            if scores is not None:
                print(f"{start}{name:<14}{scores}{scores}")
        for method, kind in RATERS.items():
            rater, score = kind(), Prequential()
            rater.fold(rater.init(games.agents), games.batch, score)
            now = Scores(score.log_loss or 0.0, score.brier or 0.0, score.calibration_error or 0.0)
            worst = max(worst, now.log_loss)
            seen, forecast = ties(rater, games)
            print(f"{start}{method:<14}{own_scores(rater, games)}{now}{score.scale:>9.3f}{seen:>8.4f}{forecast:>10.4f}", flush=True)
    by_shape(quick)
    return int(worst >= COIN and not quick)


if __name__ == "__main__":
    sys.exit(main())
