"""VasE, tables 1 and 4: which consistency properties each voting method has, by searching for counterexamples."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from benchmarks.papers.figures import grid
from benchmarks.papers.items import Drawn, Output, Run, Value, claim, unprinted
from benchmarks.papers.vase.methods import WINNERS
from benchmarks.papers.vase.paper import PAPER
from ratings_core.solution import Floats
from ratings_core.voting import maximal_lottery
from ratings_core.voting.copeland import condorcet_winners
from ratings_core.voting.profile import Profile, mcgarvey

SHORT: Final = {
    "approval": "App", "borda": "Bor", "plurality": "Plu", "stv": "STV", "copeland": "Cop", "ranked_pairs": "RPs", "kemeny_young": "Kem",
    "schulze": "Sch", "maximal_lotteries": "ML",
}  # fmt: skip
PRINTED: Final = {
    "Condorcet consistency": ("copeland", "ranked_pairs", "kemeny_young", "schulze", "maximal_lotteries"),
    "Clone consistency": ("stv", "ranked_pairs", "schulze", "maximal_lotteries"),
    "Population consistency": ("approval", "borda", "plurality", "maximal_lotteries"),
    "Agenda consistency": ("maximal_lotteries",),
}
"""Check marks. Their columns are lost in the text that we have; section 3 names the methods."""
LOTTERY: Final = "maximal_lotteries"
Breaks = Callable[[str, np.random.Generator], bool]


def random_votes(rng: np.random.Generator, m: int, most: int = 6) -> Profile:
    """Up to `most` different strict orders of m alternatives, each cast by 1 to 5 voters."""
    orders = [rng.permutation(m) for _ in range(int(rng.integers(1, most + 1)))]
    return Profile.from_orders(orders, rng.integers(1, 6, len(orders)).astype(float), [str(i) for i in range(m)])


def random_margins(rng: np.random.Generator, m: int) -> Profile:
    """Votes with random even margins of all pairs."""
    upper = np.triu(2 * rng.integers(-4, 5, (m, m)), 1)
    return mcgarvey((upper - upper.T).astype(float))


def drawn(rng: np.random.Generator, m: int) -> Profile:
    """Either kind of random votes. Some properties fail only on rare votes, but on many margins."""
    profile = random_votes(rng, m) if rng.random() < 0.5 else random_margins(rng, m)
    return profile if len(profile) else random_votes(rng, m)


def both(one: Profile, other: Profile) -> Profile:
    """The votes of two electorates."""
    return Profile.from_ballots([*one.ballots, *other.ballots], one.names)


def breaks_condorcet(method: str, rng: np.random.Generator) -> bool:
    """Random votes have a strong Condorcet winner, who does not win alone."""
    profile = drawn(rng, int(rng.integers(3, 5)))
    strong = condorcet_winners(profile.margins()).strong
    return strong is not None and WINNERS[method](profile) != {strong}


def breaks_clones(method: str, rng: np.random.Generator) -> bool:
    """Random votes without ties elect other winners when an alternative is copied next to itself (definition 4)."""
    m = int(rng.integers(2, 5))
    orders = [rng.permutation(m).tolist() for _ in range(int(rng.integers(1, 8)))]
    weight = 1000.0 + 2.0 ** rng.permutation(len(orders))  # no sum of some weights equals a sum of others
    copied = int(rng.integers(m))
    with_copy = []
    for order in orders:
        place = order.index(copied) + int(rng.integers(2))
        with_copy.append([*order[:place], m, *order[place:]])
    before = WINNERS[method](Profile.from_orders(orders, weight))
    after = WINNERS[method](Profile.from_orders(with_copy, weight))
    return {copied if winner == m else winner for winner in after} != before


def breaks_population(method: str, rng: np.random.Generator) -> bool:
    """Two electorates elect an alternative, and together other ones (definition 3)."""
    m = int(rng.integers(3, 5))
    one, other = drawn(rng, m), drawn(rng, m)
    if method == LOTTERY:
        lottery = maximal_lottery(one.margins()).lottery
        return maximal(lottery, other.margins()) and not maximal(lottery, both(one, other).margins())
    common = WINNERS[method](one) & WINNERS[method](other)
    return bool(common) and not WINNERS[method](both(one, other)) <= common


def breaks_agenda(method: str, rng: np.random.Generator) -> bool:
    """Without a loser, the winner does not win (definition 5, in the direction that a set of winners can show)."""
    profile = drawn(rng, int(rng.integers(3, 5)))
    m = len(profile.names)
    gone = int(rng.integers(m))
    left = [agent for agent in range(m) if agent != gone]
    if method == LOTTERY:
        lottery = maximal_lottery(profile.margins()).lottery
        return lottery[gone] == 0 and not maximal(lottery[left], profile.margins()[np.ix_(left, left)])
    elected = WINNERS[method](profile)
    after = {left[winner] for winner in WINNERS[method](profile.take(left))}
    return len(elected) == 1 and gone not in elected and not elected <= after


def maximal(lottery: Floats, margins: Floats) -> bool:
    """Whether no alternative beats the lottery in expectation."""
    return bool((lottery @ margins >= -1e-9).all())


SEARCHES: Final[dict[str, Breaks]] = {
    "Condorcet consistency": breaks_condorcet,
    "Clone consistency": breaks_clones,
    "Population consistency": breaks_population,
    "Agenda consistency": breaks_agenda,
}


def searched(breaks: Breaks, method: str, seeds: Sequence[int]) -> int | None:
    """The first seed whose votes break the property for the method; None if none does."""
    return next((seed for seed in seeds if breaks(method, np.random.default_rng(seed))), None)


@PAPER.item("tables-1-4", "Tables 1 and 4", "Consistency properties of each method")
def properties(run: Run) -> Output:
    cases = run.seeds(run.pick(400, 2000))
    every = range(cases[0], cases[0] + 20_000)

    def found(name: str, method: str) -> int | None:
        return searched(SEARCHES[name], method, cases if method in PRINTED[name] else every)

    cells = [(name, method) for name in PRINTED for method in SHORT]
    parts = [(f"{name.split()[0]}-{method}", lambda name=name, method=method: found(name, method)) for name, method in cells]
    first = dict(zip(cells, run.each(parts, len(parts)), strict=True))
    values = list(rows(first, len(cases)))
    figure, (axes,) = grid(width=6.4, height=2.2)
    held = np.array([[first[name, method] is None for method in SHORT] for name in PRINTED])
    axes.imshow(held, cmap="Blues", vmin=0, vmax=2, aspect="auto")
    for (row, column), holds in np.ndenumerate(held):
        axes.text(column, row, "✓" if holds else "–", ha="center", va="center")
    axes.set_xticks(range(len(SHORT)), list(SHORT.values()))
    axes.set_yticks(range(len(PRINTED)), list(PRINTED))
    axes.grid(visible=False)
    note = f"""A property that the paper says a method has is tested on {len(cases)} random sets of votes, of seeds {cases[0]} to
{cases[-1]}. For one that it lacks, votes are drawn until they are a counterexample; the table gives their seed. Independence of
irrelevant alternatives is left out: its columns are not readable in the text that we have, and the paper claims it for lotteries by a
citation."""
    return Output(values, [Drawn("matrix", "Properties that no counterexample refutes.", figure)], note=note)


def rows(first: dict[tuple[str, str], int | None], cases: int) -> Iterator[Value]:
    """A row of the table for each property and method."""
    for (name, method), seed in first.items():
        printed = "has it" if method in PRINTED[name] else "lacks it"
        ours = f"no counterexample in {cases}" if seed is None else f"counterexample, seed {seed}"
        yield claim(f"{name}: {SHORT[method]}", printed, ours, holds=(seed is None) == (method in PRINTED[name]))
    yield unprinted("Complexity", "m for scoring rules, m² STV and Copeland, m³ ranked pairs and Schulze, m! Kemeny-Young: not measured")
