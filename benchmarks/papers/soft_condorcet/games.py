"""Sec. 4.4 and appendix E.4 of Lanctot et al. 2025: prediction of games of seven players, offline and online.

The games of webDiplomacy are not public. Here are games of the same sizes from a model with known skills (`benchmarks.workloads`).
"""

import json
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.papers.figures import band, grid, line
from benchmarks.papers.items import Drawn, Output, Run, claim, unprinted
from benchmarks.papers.soft_condorcet.paper import GOLDEN, PAPER
from benchmarks.workloads import free_for_alls, held_out
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.pair_counts import of_tally
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_sgd
from ratings_core.online import Elo, FenchelYoung, Rater, Sco
from ratings_core.records.outcomes import OutcomeBatch
from ratings_core.solution import Floats
from ratings_core.voting.copeland import copeland
from ratings_core.voting.positional import plurality
from ratings_core.voting.profile import Profile

Games = NDArray[np.int32]
PUBLISHED: Final = json.loads((GOLDEN / "diplomacy_published.json").read_text(encoding="utf-8"))
PAIRS: Final = 21
BATCH: Final[int] = PUBLISHED["batch"]
ALPHA: Final = 10.0
"""Step of Algorithm 1 on a mean of 32 votes. The paper's step on a sum would be 32 times smaller."""
ALPHA_FENCHEL_YOUNG: Final = 0.01
ONLINE: Final[dict[str, Rater[Any]]] = {
    "SCO, alpha 0.5": Sco(alpha=0.5),
    "SCO, alpha 0.1": Sco(alpha=0.1),
    "SCO, alpha 0.02": Sco(alpha=0.02),
    "Elo, K 32": Elo(),
}
SPLITS: Final = 50
"""Splits of figure 3, as in the paper."""
GAMES_SEED: Final = 2
"""Seed of the synthetic games, if the run has none."""


@cache
def split(seed: int, drawn: int, games: int, agents: int, held: int) -> tuple[Games, Games]:
    """Training and test games of a seed, of the games that the seed `drawn` draws. All players of test games have training games."""
    return held_out(free_for_alls(games, agents, seed=drawn), agents, held, seed=seed)


def wrong_pairs(ratings: Floats, games: Games) -> float:
    """Mean Kendall-tau distance of the ratings' order to games, of 21 pairs; equal ratings count half."""
    better, worse = np.triu_indices(games.shape[1], 1)
    gap = ratings[games[:, better]] - ratings[games[:, worse]]
    return float(((gap < 0) + 0.5 * (gap == 0)).sum(axis=1).mean())


def along(rater: Rater[Any], batches: list[Games], agents: int, test: Games) -> list[float]:
    """Distance to the test games after each batch."""
    state, found, done = rater.init(agents), [], 0
    for games in batches:
        rater.fold(state, OutcomeBatch.of_rankings(games, agents).numbered(done))
        done += len(games)
        found.append(wrong_pairs(rater.read(state, np.arange(agents, dtype=np.int32)).rating, test))
    return found


def offline(seed: int, drawn: int, sizes: tuple[int, int, int], steps: list[int]) -> dict[str, Any]:
    """Distances of every method to the test games of one split; those of descents after each number of steps."""
    agents = sizes[1]
    train, test = split(seed, drawn, *sizes)
    votes = Profile.from_orders(train, names=tuple(map(str, range(agents))))
    counts = votes.pair_counts("unknown")
    met = of_tally(counts, agents)
    sco = [wrong_pairs(soft_condorcet_sgd(votes, seed=seed, alpha=ALPHA, batch=BATCH, iterations=n).ratings, test) for n in steps]
    order = np.random.default_rng(seed).integers(0, len(train), steps[-1] * BATCH)
    batches = [train[order[low * BATCH : high * BATCH]] for low, high in pairwise([0, *steps])]
    elo = bradley_terry(met, options=BradleyTerryOptions(prior=0.1)).ratings
    margin = np.concatenate([met.won - met.lost, met.lost - met.won])
    cells = (np.concatenate([met.first, met.second]), np.concatenate([met.second, met.first]))
    margins = sparse.csr_array((margin, cells), shape=(agents, agents))
    return {
        "SCO, sigmoid": sco,
        "SCO, Fenchel-Young": along(FenchelYoung(alpha=ALPHA_FENCHEL_YOUNG, seed=seed), batches, agents, test),
        "Elo": wrong_pairs(elo, test),
        "Copeland": wrong_pairs(copeland(margins).ratings, test),
        "plurality": wrong_pairs(plurality(votes).ratings, test),
    }


def online(seed: int, of_split: int, drawn: int, sizes: tuple[int, int, int], points: int) -> dict[str, list[float]]:
    """Distances of the online raters along one pass over the training games of one split in a drawn order."""
    train, test = split(of_split, drawn, *sizes)
    order = np.random.default_rng(seed).permutation(len(train))
    batches = [train[part] for part in np.array_split(order, points)]
    return {name: along(rater, batches, sizes[1], test) for name, rater in ONLINE.items()}


def _sizes(run: Run) -> tuple[int, int, int]:
    return run.pick((3_000, 5_000, 300), (PUBLISHED["n"], PUBLISHED["m"], PUBLISHED["test"]))


_SYNTHETIC: Final = """The games of webDiplomacy are not public. These are synthetic games of seven, {sizes}, with outcomes by the
Plackett-Luce model and players as unevenly active as there; true skills predict them better than any method, so distances compare with
each other and not with the printed ones. """


@PAPER.item("figure-3", "Figure 3 (section 4.4)", "Prediction of games of seven players")
def figure_3(run: Run) -> Output:
    sizes, splits = _sizes(run), run.pick(2, SPLITS)
    steps = [int(n) for n in run.pick(np.arange(1, 6) * 1_000, np.arange(1, 7) * 20_000)]
    (drawn,), seeds = run.seeds(1, GAMES_SEED), run.seeds(splits)
    runs = run.each(((f"split-{seed}", partial(offline, seed, drawn, sizes, steps)) for seed in seeds), splits)
    curves = {name: np.array([one[name] for one in runs]) for name in runs[0]}
    best = {name: float(values.mean(axis=0).min()) for name, values in curves.items()}
    printed = PUBLISHED["KTD_test"]
    named = {
        "SCO, sigmoid": "SCO_sigmoid",
        "SCO, Fenchel-Young": "SCO_fenchel_young",
        "Elo": "Elo",
        "Copeland": "VasE_copeland",
        "plurality": "VasE_plurality",
    }
    values = [unprinted(f"{name}: distance", round(best[name], 3), f"printed for webDiplomacy: {printed[named[name]]}") for name in best]
    losers = ("Elo", "Copeland", "plurality")
    other = _other_games(run)
    for sco in ("SCO, sigmoid", "SCO, Fenchel-Young"):
        for loser in losers:
            holds = best[sco] < best[loser]
            values.append(claim(f"{sco} and {loser}", "SCO lower", f"{best[sco]:.3f}, {best[loser]:.3f}", holds=holds, other_input=other))
    values.append(
        claim(
            "Fenchel-Young and sigmoid",
            "Fenchel-Young lower",
            f"{best['SCO, Fenchel-Young']:.3f}, {best['SCO, sigmoid']:.3f}",
            holds=best["SCO, Fenchel-Young"] < best["SCO, sigmoid"],
            other_input=other,
        )
    )
    text = (
        _SYNTHETIC.format(sizes=f"{sizes[0]:,} games of {sizes[1]:,} players")
        + f"{splits} splits (the paper has {SPLITS}); {sizes[2]:,} test games each."
    )
    return Output(values, [_drawn_offline(curves, steps)], note=text)


def _other_games(run: Run) -> str:
    """How our games differ from the paper's."""
    fewer = run.pick("other and far fewer games (the full size has as many as the paper)", "other games")
    return f"{fewer}: which method predicts best depends on how skills and activity are distributed"


@PAPER.item("figure-6", "Figure 6 (E.4)", "SCO and Elo online, one game at a time")
def figure_6(run: Run) -> Output:
    sizes, passes = _sizes(run), run.pick(3, 50)
    (drawn,), seeds = run.seeds(1, GAMES_SEED), run.seeds(passes)
    runs = run.each(((f"pass-{seed}", partial(online, seed, seeds[0], drawn, sizes, 10)) for seed in seeds), passes)
    curves = {name: np.array([one[name] for one in runs]) for name in ONLINE}
    last = {name: float(values[:, -1].mean()) for name, values in curves.items()}
    elo = last["Elo, K 32"]
    ordered = sorted(("0.5", "0.1", "0.02"), key=lambda alpha: last[f"SCO, alpha {alpha}"])
    other = _other_games(run)
    nearest = min((name for name in last if name != "Elo, K 32"), key=lambda name: abs(last[name] - elo))
    values = [
        claim(
            "alpha 0.1 beside Elo",
            "slightly lower",
            f"{last['SCO, alpha 0.1']:.3f}, Elo {elo:.3f}",
            holds=last["SCO, alpha 0.1"] < elo,
            other_input=other,
        ),
        claim(
            "alpha 0.5 beside Elo",
            "lower",
            f"{last['SCO, alpha 0.5']:.3f}, Elo {elo:.3f}",
            holds=last["SCO, alpha 0.5"] < elo,
            other_input=other,
        ),
        claim("nearest to Elo", "SCO, alpha 0.02", nearest, holds=nearest == "SCO, alpha 0.02", other_input=other),
        claim(
            "larger steps",
            "lower distance",
            " below ".join(ordered),
            holds=last["SCO, alpha 0.5"] < last["SCO, alpha 0.1"] < last["SCO, alpha 0.02"],
            other_input=other,
        ),
    ]
    text = _SYNTHETIC.format(sizes=f"{sizes[0]:,} games of {sizes[1]:,} players") + f"{passes} orders of the training games, one pass each."
    return Output(values, [_drawn_online(curves)], note=text)


def _drawn_offline(curves: dict[str, Floats], steps: list[int]) -> Drawn:
    figure, (axes,) = grid(1, 1, 6.4, 3.8)
    for number, (name, values) in enumerate(curves.items()):
        flat = values if values.ndim > 1 else np.repeat(values[:, None], len(steps), axis=1)
        mean, error = flat.mean(axis=0), 1.96 * flat.std(axis=0) / np.sqrt(len(flat))
        line(axes, number, steps, mean, name, markers=values.ndim > 1)
        band(axes, number, steps, mean - error, mean + error)
    axes.set(xlabel="batches of 32 games", ylabel=f"wrong pairs of {PAIRS} in test games")
    axes.legend(ncols=2)
    return Drawn(
        "prediction",
        "Mean Kendall-tau distance to test games. Elo, Copeland and plurality are fitted once. Bands are 95 % intervals over splits.",
        figure,
    )


def _drawn_online(curves: dict[str, Floats]) -> Drawn:
    figure, (axes,) = grid(1, 1, 6.4, 3.6)
    for number, (name, values) in enumerate(curves.items()):
        share = np.arange(1, values.shape[1] + 1) / values.shape[1]
        mean, error = values.mean(axis=0), 1.96 * values.std(axis=0) / np.sqrt(len(values))
        line(axes, number, share, mean, name)
        band(axes, number, share, mean - error, mean + error)
    axes.set(xlabel="share of the training games", ylabel=f"wrong pairs of {PAIRS} in test games")
    axes.legend()
    return Drawn("online", "Mean Kendall-tau distance to test games along one pass. Bands are 95 % intervals over orders.", figure)
