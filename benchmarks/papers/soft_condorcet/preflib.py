"""Table 2 of Lanctot et al. 2025: Algorithm 1 on PrefLib's strict profiles, beside Condorcet winners and Kemeny's order."""

import csv
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.papers.items import Match, Output, Run, Value, equal, within
from benchmarks.papers.soft_condorcet.paper import GOLDEN, PAPER
from ratings_core.batch.sigmoidal_program import sigmoidal_program
from ratings_core.batch.soft_condorcet import SoftCondorcet
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_sgd
from ratings_core.formats.profile import read_profile
from ratings_core.ranking import normalised_kendall_tau
from ratings_core.voting.copeland import condorcet_winners
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.profile import Profile
from ratings_core.voting.ties import linear

SEEDS: Final = 3
"""The paper averages over three seeds."""
KEMENY_UP_TO: Final = 10
"""Largest number of alternatives for which the paper computes Kemeny's order."""
PROGRAM_UP_TO: Final = 5
"""Largest number of alternatives for which the paper uses sigmoidal programming."""
FEWEST: Final = 10
"""Fewest profiles with a winner whose share is compared."""
ARCHIVE: Final = "data/preflib_sco.tar.xz"
_NO_WINNER: Final = "–"
"""Our share of winners on top if no profile has a winner."""
QUICK: Final = {10: 3, 20: 2}
FULL: Final = {10: 1_000_000, 20: 45, 1_000_000: 30}
"""Smallest number of alternatives of a group, at most -> most profiles that are drawn from it, by the first entry that holds. Without an
entry, none is run. All groups above 20 take about an hour of CPU: a fit took 16 s with 128 alternatives, 53 s with 252, and 170 to 320 s
with 556 to 622.
"""


@dataclass(frozen=True, slots=True)
class Fit:
    """Algorithm 1 and sigmoidal programming on one profile.

    alternatives: m; votes: n; on_top: share of the seeds with the strong Condorcet winner on top, None without such a winner;
    distance: normalised Kendall-tau distance to Kemeny's order, mean of the seeds, None for more than `KEMENY_UP_TO` alternatives.
    program_on_top, program_distance: the same of the global minimum, None for more than `PROGRAM_UP_TO` alternatives.
    """

    alternatives: int
    votes: float
    on_top: float | None
    distance: float | None
    program_on_top: float | None = None
    program_distance: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """One row of the table. Means over the profiles: alternatives, votes; over those with a strong Condorcet winner (`winners`): on_top,
    None without one."""

    profiles: int
    alternatives: float
    votes: float
    winners: int
    on_top: float | None
    distance: float | None


def alternatives_of(path: Path) -> int:
    """Number of alternatives that the head of a PrefLib file states."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.startswith("# NUMBER ALTERNATIVES:"):
                return int(line.split(":")[1])
    raise ValueError(f"{path} does not state its number of alternatives")


def has_winner(profile: Profile) -> bool:
    """Whether an alternative wins against every other one."""
    wins = profile.preferences("unknown")
    return condorcet_winners(wins - wins.T).strong is not None


def fit(profile: Profile, seeds: Sequence[int]) -> Fit:
    """Algorithm 1 with the settings of appendix E.2, and sigmoidal programming. A vote compares the alternatives that it lists.

    Raises `SolverError` if sigmoidal programming does not prove that its point is a global minimum.
    """
    m, wins = len(profile.names), profile.preferences("unknown")
    winner = condorcet_winners(wins - wins.T).strong
    runs = [_descent(profile, seed) for seed in seeds]
    on_top = None if winner is None else float(np.mean([run.ratings[winner] == run.ratings.max() for run in runs]))
    found = Fit(m, profile.voters, on_top, None)
    if m <= KEMENY_UP_TO:
        best = linear(kemeny(wins, ties="order").order.tolist())
        found = replace(found, distance=float(np.mean([normalised_kendall_tau(run.ranking, best) for run in runs])))
    if m <= PROGRAM_UP_TO:
        least = sigmoidal_program(wins)
        top = None if winner is None else float(least.ratings[winner] == least.ratings.max())
        found = replace(found, program_on_top=top, program_distance=normalised_kendall_tau(least.ranking, best))
    return found


def _descent(profile: Profile, seed: int) -> SoftCondorcet:
    m = len(profile.names)
    tau, alpha = (1.0, 0.01) if m <= 500 else (0.5, 0.1)
    return soft_condorcet_sgd(profile, seed=seed, tau=tau, alpha=alpha, batch=32, iterations=10_000 if m <= 10 else 100_000)


def read(path: Path) -> Profile:
    """A PrefLib file as a profile."""
    return read_profile(path.read_text(encoding="utf-8"))


def summary(fits: Iterable[Fit]) -> Group:
    """The row of these profiles."""
    fits = list(fits)
    won = [one.on_top for one in fits if one.on_top is not None]
    near = [one.distance for one in fits if one.distance is not None]
    return Group(
        profiles=len(fits),
        alternatives=float(np.mean([one.alternatives for one in fits])),
        votes=float(np.mean([one.votes for one in fits])),
        winners=len(won),
        on_top=float(np.mean(won)) if won else None,
        distance=float(np.mean(near)) if near else None,
    )


def drawn(paths: Sequence[Path], most: int, seed: int | Sequence[int]) -> list[Path]:
    """At most `most` of the files, in a drawn order that larger samples continue."""
    order = np.random.default_rng(seed).permutation(len(paths))
    return [paths[i] for i in order[:most]]


@PAPER.item("table-2", "Table 2 (section 4.2, E.2)", "Condorcet winners and distance to Kemeny's order on PrefLib")
def table_2(run: Run) -> Output:
    archive = run.shared(ARCHIVE)
    rows = list(csv.DictReader((GOLDEN / "table2_preflib_published.csv").read_text(encoding="utf-8").splitlines()))
    values: list[Value] = []
    seeds = run.seeds(SEEDS)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        sizes = {path: alternatives_of(path) for path in sorted(Path(folder, "preflib").iterdir())}
        for row in rows:
            low, high = int(row["m_min"]), int(row["m_max"] or 10**9)
            paths = [path for path, m in sizes.items() if low <= m <= high]
            values += compared(row, _fits(run, paths, low, seeds), len(paths))
    return Output(values, note=_note(len(sizes)))


def _note(profiles: int) -> str:
    return f"""{profiles:,} of the paper's 12,680 profiles are at hand: those in small files. They hold another mix of elections than the
paper's groups do. Groups of up to 10 alternatives are run as a whole with three seeds. Of larger groups a sample is run: of it, the
profiles with a Condorcet winner, since only these count. It has 45 profiles and three seeds up to 20 alternatives, then 30 profiles (all,
if fewer are at hand) and one seed, because a fit takes 16 s of CPU with 128 alternatives, 53 s with 252, and 170 to 320 s with 556 to
622. All 3,495 profiles at hand with 201 to 500 alternatives would take some 60 hours. The noise is three standard errors of the
difference of two such means. Its variance is that of the printed share, and for distances at least that of independent wrong pairs.
Shares are known to one profile. Several orders are often optimal (in half of the profiles with 10 alternatives); the distance is to one
of them, as in the paper, so that it does not fall to 0. Rows of sigmoidal programming are of points that are proved to be global minima,
to a millionth of the sum of all absolute margins."""


def _most(run: Run, m: int) -> int:
    limits = run.pick(QUICK, FULL)
    return next((most for upto, most in limits.items() if m <= upto), 0)


def _fits(run: Run, paths: Sequence[Path], low: int, seeds: Sequence[int]) -> list[Fit]:
    chosen = drawn(paths, _most(run, low), seed=[low, seeds[0]])
    used = seeds if low <= 20 and not run.quick else seeds[:1]
    return [Fit(**one) for one in run.each(_parts(chosen, low, used), len(chosen))]


def _parts(paths: Sequence[Path], low: int, seeds: Sequence[int]) -> Iterator[tuple[str, Callable[[], object]]]:
    for path in paths:
        yield path.name, partial(_fitted, path, low, seeds)


def _fitted(path: Path, low: int, seeds: Sequence[int]) -> dict[str, object]:
    profile = read(path)
    if low > KEMENY_UP_TO and not has_winner(profile):
        return asdict(Fit(len(profile.names), profile.voters, None, None))
    return asdict(fit(profile, seeds))


def compared(row: dict[str, str], fits: Sequence[Fit], found: int) -> list[Value]:
    """Rows of one group. row: its printed row; fits: the profiles that were run; found: number of its profiles at hand."""
    low, high, size = int(row["m_min"]), row["m_max"], int(row["size"])
    m = f"m = {low}" if str(low) == high else f"m from {low}" + (f" to {high}" if high else "")
    if not fits:
        return [Value(f"{m}: winner on top", row["C_gd"], "not run", Match.NONE, f"{found} of {size} profiles at hand; not in this size")]
    group = summary(fits)
    means = (
        f"means of {group.alternatives:.2f} alternatives and {group.votes:.0f} votes, "
        f"printed ones of {float(row['m_mean']):.2f} and {row['n_mean']}"
    )
    scope = f"{group.profiles} of {size} profiles, {group.winners} with a winner, {means}"
    values: list[Value] = []
    if group.on_top is None or group.winners < FEWEST:
        ours = _NO_WINNER if group.on_top is None else f"{group.on_top:.2f}"
        values.append(Value(f"{m}: winner on top", row["C_gd"], ours, Match.NONE, f"too few to compare: {scope}"))
    else:
        share = min(float(row["C_gd"]), 1 - 0.5 / size)
        noise = max(3 * np.sqrt(share * (1 - share) * (1 / group.winners + 1 / size)), 1 / group.winners)
        values.append(within(f"{m}: winner on top", float(row["C_gd"]), group.on_top, noise=float(noise), tolerance=0.005, what=scope))
    if row["Kn_gd"]:
        off = [one.distance for one in fits if one.distance is not None]
        values.append(_near(f"{m}: distance to Kemeny", float(row["Kn_gd"]), off, low, size, scope))
    return values + (program_rows(m, row, fits, size) if row["Kn_sp"] else [])


def _near(label: str, printed: float, off: Sequence[float], m: int, size: int, what: str) -> Value:
    """Mean distance to Kemeny's order beside the printed one, of `size` profiles with at least m alternatives."""
    spread = max(float(np.std(off)), float(np.sqrt(printed / (m * (m - 1) / 2))))
    noise = 3 * spread * float(np.sqrt(1 / len(off) + 1 / size))
    return within(label, printed, float(np.mean(off)), noise=noise, tolerance=0.0005, what=what)


_MINIMA: Final = (
    "ours are proved global minima, and a global minimum has the Condorcet winner on top (theorem 5); the paper reports numerical "
    "instability of its solver, and raised the solver's tolerance up to 0.01 (E.2)"
)


def program_rows(m: str, row: dict[str, str], fits: Sequence[Fit], size: int) -> list[Value]:
    """Rows of sigmoidal programming for one group of profiles.

    A share of winners on top below 1 contradicts theorem 5, so it is explained if ours is 1; the group's distance then is as well.

    Args:
        m: Name of the group, such as `m = 5`.
        row: Its printed row.
        fits: Its profiles.
        size: Number of the paper's profiles.
    """
    won = [one.program_on_top for one in fits if one.program_on_top is not None]
    off = [one.program_distance for one in fits if one.program_distance is not None]
    label = f"{m}: winner on top, sigmoidal programming"
    top = (
        equal(label, float(row["C_sp"]), float(np.mean(won)), tolerance=0.005, reason=_MINIMA, expected=1.0)
        if won
        else Value(label, row["C_sp"], _NO_WINNER, Match.NONE, "no profile with a winner")
    )
    what = "the same profiles"
    near = _near(f"{m}: distance to Kemeny, sigmoidal programming", float(row["Kn_sp"]), off, int(row["m_min"]), size, what)
    if near.match is Match.NO and top.match is Match.EXPLAINED:
        near = replace(near, match=Match.EXPLAINED, why=_MINIMA)
    return [top, near]
