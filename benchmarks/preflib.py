"""Soft Condorcet optimisation on PrefLib's complete profiles, as far as Kemeny's method can say what is right.

`python -m benchmarks.preflib FOLDER [--quick]`. FOLDER holds .soc, .soi, .toc and .toi files; those whose votes list all of at most 10
alternatives count. For each: normalised Kendall distance to Kemeny's order of the full-batch fit, of the same from its annealed
descent alone, and of Algorithm 1 with the paper's settings (mean of three seeds), beside the mean of table 2's row for that
number of alternatives (Lanctot et al. 2025: 865 profiles, of which FOLDER need hold none). "best order" says whether the full batch
agrees with as many votes as Kemeny's order: where that is not unique, it can at some distance. Then how often a strong Condorcet
winner has the largest rating.
"""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import machine
from ratings_core.batch import soft_condorcet as full
from ratings_core.batch.soft_condorcet import SoftCondorcet, soft_condorcet
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_sgd
from ratings_core.formats.profile import read_profile
from ratings_core.ranking import Ranking, normalised_kendall_tau
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.profile import Profile
from ratings_core.voting.ties import linear

MOST = 10
SEEDS = (0, 1, 2)
PUBLISHED = Path(__file__).parents[1] / "tests" / "golden" / "sco" / "table2_preflib_published.csv"
HEAD = f"{'profile':24}{'m':>3}{'votes':>8}{'full batch':>12}{'annealed':>10}{'Algorithm 1':>13}{'paper, all of m':>17}{'best order':>12}"


def annealed(wins: np.ndarray) -> SoftCondorcet:
    """The full-batch fit without its second start from a good order."""
    limit, full.ORDERED_UP_TO = full.ORDERED_UP_TO, 0  # type: ignore[misc]
    try:
        return soft_condorcet(wins)
    finally:
        full.ORDERED_UP_TO = limit  # type: ignore[misc]


def published() -> dict[int, float]:
    """Mean normalised distance of Algorithm 1 by number of alternatives."""
    with PUBLISHED.open(encoding="utf-8") as file:
        return {int(row["m_min"]): float(row["Kn_gd"]) for row in csv.DictReader(file) if row["Kn_gd"]}


def on_top(found: SoftCondorcet) -> bool | None:
    """Whether the strong Condorcet winner has the largest rating; None where there is none."""
    return None if found.winner is None else bool(found.ratings[found.winner] == found.ratings.max())


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="one seed of Algorithm 1 in place of three")
    options = parser.parse_args(argv)
    seeds = SEEDS[:1] if options.quick else SEEDS
    profiles = {path.name: read_profile(path.read_text(encoding="utf-8")) for path in sorted(options.folder.iterdir())}
    kept = {name: profile for name, profile in profiles.items() if profile.complete and len(profile.names) <= MOST}
    print(f"\nPrefLib: {len(kept)} of {len(profiles)} profiles are complete with at most {MOST} alternatives\n{machine(['scipy'])}\n{HEAD}")
    rows = [_row(name, profile, seeds) for name, profile in kept.items()]
    means = np.mean([row[0] for row in rows], axis=0)
    print(f"{'mean':24}{'':11}{means[0]:12.3f}{means[1]:10.3f}{means[2]:13.3f}{means[3]:17.3f}")
    won = [(row[1], row[2]) for row in rows if row[1] is not None]
    ours, theirs = (np.mean([one[i] for one in won]) for i in (0, 1))
    print(f"largest rating for a strong Condorcet winner: {ours:.0%} full batch, {theirs:.0%} Algorithm 1, of {len(won)} (paper 92-100 %)")


def _row(name: str, profile: Profile, seeds: Sequence[int]) -> tuple[list[float], bool | None, float]:
    wins = profile.preferences()
    order = linear(kemeny(wins, ties="order").order.tolist())
    found, alone = soft_condorcet(wins), annealed(wins)
    runs = [soft_condorcet_sgd(profile, seed=seed) for seed in seeds]
    distances = [_distance(found.ranking, order), _distance(alone.ranking, order)]
    distances += [float(np.mean([_distance(run.ranking, order) for run in runs])), published()[len(profile.names)]]
    cells = "{:12.3f}{:10.3f}{:13.3f}{:17.3f}".format(*distances)
    best = "yes" if _agreeing(wins, found.ranking) >= _agreeing(wins, order) - 1e-9 else "no"
    print(f"{name:24}{len(profile.names):3}{profile.voters:8.0f}{cells}{best:>12}", flush=True)
    return distances, on_top(found), float(np.mean([bool(on_top(run)) for run in runs]))


def _agreeing(wins: np.ndarray, ranking: Ranking) -> float:
    """Votes that order a pair as `ranking` does."""
    return float(np.triu(wins[np.ix_(ranking.ids, ranking.ids)], 1).sum())


def _distance(ranking: Ranking, order: Ranking) -> float:
    return normalised_kendall_tau(ranking, order)


if __name__ == "__main__":
    main()
