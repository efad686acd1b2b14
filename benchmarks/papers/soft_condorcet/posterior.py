"""Appendix E.3 of Lanctot et al. 2025: rankings sampled by gradient descent with a constant step, around a posterior."""

import json
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks.papers.figures import COLOURS, grid
from benchmarks.papers.items import Drawn, Output, Run, claim, equal, unprinted
from benchmarks.papers.soft_condorcet.paper import GOLDEN, PAPER
from benchmarks.papers.soft_condorcet.tournaments import contests
from ratings_core.batch.soft_condorcet_sgd import Posterior, soft_condorcet_posterior, soft_condorcet_sgd
from ratings_core.ranking import Ranking, kendall_tau
from ratings_core.solution import Floats
from ratings_core.voting.profile import Profile

PUBLISHED: Final = json.loads((GOLDEN / "e3_true_skills.json").read_text(encoding="utf-8"))
CONTESTS: Final = 100
"""The paper does not say how many."""
_SHOWN: Final = 8
_CLOSE: Final = 5.0
"""Deviation of one performance."""


def votes(seed: int) -> Profile:
    """Skill-matched contests of four among the ten agents."""
    games = contests(np.array(PUBLISHED["true_skills"]), CONTESTS, np.random.default_rng(seed), matched=True)
    return Profile.from_orders(games, names=tuple(map(str, range(PUBLISHED["m"]))))


def doubted(found: Posterior) -> tuple[int, int]:
    """The pair whose order the samples know least."""
    ahead = (found.ranks[:, :, None] < found.ranks[:, None, :]).mean(axis=0)
    return min(combinations(range(len(ahead)), 2), key=lambda pair: abs(ahead[pair] - 0.5))


def closest(skills: Floats) -> tuple[int, int]:
    """The pair of nearest true skills."""
    return min(combinations(range(len(skills)), 2), key=lambda pair: abs(skills[pair[0]] - skills[pair[1]]))


@dataclass(frozen=True)
class Sampled:
    """Samples of one data set. rankings: most frequent first; last: ranking of the final iterate; off: distances of mode and last."""

    rankings: list[tuple[Ranking, float]]
    last: Ranking
    pair: tuple[int, int]
    off: tuple[float, float]


def sampled(seed: int, samples: int, truth: Ranking) -> Sampled:
    """Sample rankings of the data set of a seed."""
    profile = votes(seed)
    found = soft_condorcet_posterior(profile, seed=seed, samples=samples, thin=50, alpha=0.1)
    last, rankings = soft_condorcet_sgd(profile, seed=seed, alpha=0.1).ranking, found.rankings()
    return Sampled(rankings, last, doubted(found), (kendall_tau(rankings[0][0], truth), kendall_tau(last, truth)))


@PAPER.item("figure-5", "Figure 5 (E.3)", "Posterior of the ranking by stochastic gradient descent")
def figure_5(run: Run) -> Output:
    samples, sets = run.pick(200, 500), run.pick(10, 30)
    skills = np.array(PUBLISHED["true_skills"])
    truth = Ranking.from_scores(skills)
    all_sets = [sampled(seed, samples, truth) for seed in run.seeds(sets)]
    exact = [one for one in all_sets if one.rankings[0][0] == truth]
    mode, last = np.mean([one.off for one in all_sets], axis=0)
    gaps = [abs(skills[one.pair[0]] - skills[one.pair[1]]) for one in all_sets]
    near = sum(gap <= _CLOSE for gap in gaps)
    reason = "the printed skills of agents 1 and 9 differ by 0.16, those of agents 2 and 6 by 0.43"
    return Output(
        [
            equal("true ranking", PUBLISHED["true_ranking_0based"], truth.ids),
            equal("closest pair", tuple(PUBLISHED["closest_pair"]), closest(skills), reason=reason, expected=(1, 9)),
            claim(
                "mode of the posterior",
                "the true ranking",
                f"in {len(exact)} of {sets} data sets",
                holds=2 * len(exact) > sets,
                other_input="other contests: the paper says it of one data set, whose contests are not public",
            ),
            claim(
                "distance of the mode to the truth",
                "below the final iterate's",
                f"{mode:.2f}, iterate {last:.2f}",
                holds=bool(mode <= last),
            ),
            claim("most doubted pair", "agents of nearly equal skill", f"in {near} of {sets} data sets", holds=2 * near > sets),
            unprinted("probability of the mode, median", float(np.median([one.rankings[0][1] for one in all_sets]))),
        ],
        [_drawn(max(exact or all_sets, key=lambda one: len(one.rankings)), truth)],
        note=f"""The paper prints the skills of one data set, but neither its contests nor how many they are: here are {sets} data sets of
{CONTESTS} skill-matched contests of four, and {samples:,} samples of each. Agents count as nearly equal if their skills differ by at most
one deviation of a performance, 5. The figure shows the data set with the most rankings among those whose mode is the true ranking.""",
    )


def _drawn(one: Sampled, truth: Ranking) -> Drawn:
    figure, (axes,) = grid(1, 1, 6.6, 3.2)
    top = one.rankings[:_SHOWN][::-1]
    labels = [" ".join(map(str, it.ids)) + (" (true)" if it == truth else "") + (" *" if it == one.last else "") for it, _ in top]
    axes.barh(range(len(top)), [share for _, share in top], color=COLOURS[0])
    axes.set_yticks(range(len(top)), labels)
    axes.set(xlabel="share of the samples")
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)
    return Drawn(
        "posterior", "The most frequent sampled rankings, best agent first. The final iterate of Algorithm 1 has an asterisk.", figure
    )
