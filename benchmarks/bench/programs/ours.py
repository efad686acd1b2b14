"""What Equirank runs: its public functions, on what a caller has in memory."""

from dataclasses import replace
from typing import Any

import numpy as np

from ratings_core import rate
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.equilibria import AlphaRankOptions, CCEOptions, alpharank_symmetric, cce, deviation, lle, nash_average
from ratings_core.games import AgentAgentTask, KingOfTheHill, NormalForm
from ratings_core.online import Elo, Glicko2, WengLin
from ratings_core.records.outcomes import OutcomeBatch
from ratings_core.voting.copeland import copeland as copeland_of
from ratings_core.voting.lotteries import maximal_lottery
from ratings_core.voting.positional import borda as borda_of
from ratings_core.voting.profile import Profile
from ratings_core.voting.ranked_pairs import ranked_pairs as ranked_pairs_of
from ratings_core.voting.schulze import schulze as schulze_of

PACKAGES = ("equirank", "numpy", "scipy", "numba", "highspy")


def elo(data: dict[str, Any]) -> Any:
    m = int(data["agents"])
    batch = OutcomeBatch.of_pairs(data["first"], data["second"], data["result"], m).numbered()
    return folding(Elo(start=1500.0, k=32.0), batch, m)


def glicko2(data: dict[str, Any]) -> Any:
    m = int(data["agents"])
    batch = OutcomeBatch.of_pairs(data["first"], data["second"], data["result"], m).numbered()
    return folding(Glicko2(), replace(batch, time=data["time"]), m)


def weng_lin(data: dict[str, Any]) -> Any:
    m = int(data["agents"])
    return folding(WengLin(), OutcomeBatch.of_rankings(data["games"], m).numbered(), m)


def folding(rater: Any, batch: OutcomeBatch, m: int) -> Any:
    """Fold a batch into a new state; the values are the ratings of those who played."""

    def run() -> Any:
        state = rater.init(m)
        rater.fold(state, batch)
        return state

    def values(state: Any) -> dict[str, Any]:
        read = rater.read(state, np.arange(m, dtype=np.int32))
        return {"ratings": np.where(state.outcomes > 0, read.rating, np.nan)}

    return run, values


def counts(data: dict[str, Any]) -> Any:
    wins, options = data["wins"], BradleyTerryOptions(scale=1.0, centre=0.0)
    return lambda: bradley_terry(wins, options=options), lambda found: {"ratings": found.ratings}


def frame_of(data: dict[str, Any]) -> Any:
    """Battles as a data frame."""
    import pandas as pd  # noqa: PLC0415 - only some programs need it

    return pd.DataFrame({name: data[name] for name in ("model_a", "model_b", "winner")})


def centred(found: Any) -> dict[str, Any]:
    """Ratings of scale 1 with mean 0, in order of names."""
    return {"ratings": found.ratings - found.ratings.mean()}


def battles(data: dict[str, Any]) -> Any:
    frame = frame_of(data)
    return lambda: rate(frame, scale=1.0, centre=0.0), centred


def intervals(data: dict[str, Any]) -> Any:
    frame = frame_of(data)
    return (
        lambda: rate(frame, intervals=True, scale=1.0, centre=0.0),
        lambda found: centred(found) | {"half_widths": (found.high - found.low) / 2},
    )


def csv_file(data: dict[str, Any]) -> Any:
    path = f"{data['folder']}/ours.csv"
    frame_of(data).to_csv(path, index=False)
    return lambda: rate(path, scale=1.0, centre=0.0), centred


def ranked_games(data: dict[str, Any]) -> Any:
    """All pairs of each game as results."""
    games, m = data["games"], int(data["agents"])
    better, worse = np.triu_indices(games.shape[1], 1)

    def run() -> Any:
        wins = np.zeros((m, m))
        np.add.at(wins, (games[:, better].ravel(), games[:, worse].ravel()), 1.0)
        return bradley_terry(wins, options=BradleyTerryOptions(scale=1.0, centre=0.0))

    return run, centred


def borda(data: dict[str, Any]) -> Any:
    return voted(data, borda_of)


def copeland(data: dict[str, Any]) -> Any:
    return voted(data, lambda profile: copeland_of(profile.margins()))


def schulze(data: dict[str, Any]) -> Any:
    return voted(data, lambda profile: schulze_of(profile.preferences()))


def ranked_pairs(data: dict[str, Any]) -> Any:
    return voted(data, lambda profile: ranked_pairs_of(profile.margins(), ties="order"))


def voted(data: dict[str, Any], rule: Any) -> Any:
    """Scores, and who is at the top."""
    orders = data["orders"]
    return (
        lambda: rule(Profile.from_orders(orders)),
        lambda found: {"ratings": found.ratings, "winners": (found.ranking.rank == 1).astype(float)},
    )


def lottery(data: dict[str, Any]) -> Any:
    margins = data["margins"]
    return lambda: maximal_lottery(margins), lambda found: {"lottery": found.lottery}


def nash(data: dict[str, Any]) -> Any:
    scores = data["scores"]
    return lambda: nash_average(scores), lambda found: {"lottery": found.agent_dist}


def alpharank(data: dict[str, Any]) -> Any:
    payoffs, options = data["payoffs"], AlphaRankOptions(alpha=1.0, population=50)
    return lambda: alpharank_symmetric(payoffs, options=options), lambda found: {"masses": found.ratings}


def logit(data: dict[str, Any]) -> Any:
    """Of three players, or of king of the hill."""
    game: Any = KingOfTheHill.of(data["ahead"]) if "ahead" in data else NormalForm.of(list(data["payoffs"]))

    def values(found: Any) -> dict[str, Any]:
        return {f"mix{player}": own for player, own in enumerate(found.mixes)} if "ahead" in data else {"mixes": np.stack(found.mixes)}

    return lambda: lle(game, target="even"), values


def correlated(data: dict[str, Any]) -> Any:
    game = KingOfTheHill.of(data["ahead"])
    return lambda: cce(game, target="even", options=CCEOptions(eps=1e-3)), lambda found: {"relative_entropy": [found.relative_entropy]}


def deviations(data: dict[str, Any]) -> Any:
    """Ratings of agents and of tasks."""
    game = AgentAgentTask.of(data["scores"])
    return lambda: deviation(game), lambda found: {"agents": found.by_player[0], "tasks": found.by_player[2]}
