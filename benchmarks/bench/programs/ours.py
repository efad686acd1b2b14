"""What Equirank runs: its public functions, on what a caller has in memory."""

from dataclasses import replace
from typing import Any

import numpy as np

from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.online import Elo, Glicko2, WengLin
from ratings_core.records.outcomes import OutcomeBatch

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
