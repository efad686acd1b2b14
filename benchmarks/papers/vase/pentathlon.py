"""Section 2.0.1, figures 1 to 4 and appendices B and C of VasE: the pentathlon, and copies of an agent."""

import math
from itertools import permutations

import numpy as np
from matplotlib.axes import Axes

from benchmarks.papers.figures import COLOURS, grid, line
from benchmarks.papers.items import Drawn, Output, Run, claim, equal, unprinted
from benchmarks.papers.vase.paper import PAPER
from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.ranking import Ranking, kendall_tau
from ratings_core.solution import Floats
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.copeland import condorcet_winners, copeland
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Profile
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze
from ratings_core.voting.stv import stv

AGENTS = ("A", "B", "C")
PENTATHLON = Profile.from_orders([[0, 1, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0]], [1, 1, 2, 1], AGENTS)
"""Votes of the five events of figure 1, from appendix C.2."""
WINNER = "C, A, B"


@PAPER.item("pentathlon", "Figures 1, 3, 4 and 6, appendix C.2", "The pentathlon by every method")
def pentathlon(_: Run) -> Output:
    N, M = PENTATHLON.preferences(), PENTATHLON.margins()
    rates = N / PENTATHLON.voters
    pairs, lotteries = ranked_pairs(M), iterated_maximal_lotteries(M)
    orders = {order: sum(N[a, b] for i, a in enumerate(order) for b in order[i + 1 :]) for order in permutations(range(3))}
    distances = {order: sum(vote.weight * distance(order, vote.levels) for vote in PENTATHLON.ballots) for order in orders}
    values = [
        equal("figure 4: N, rows A, B, C", [[0.0, 4.0, 2.0], [1.0, 0.0, 2.0], [3.0, 3.0, 0.0]], N),
        equal("figure 4: M", [[0.0, 3.0, -1.0], [-3.0, 0.0, -1.0], [1.0, 1.0, 0.0]], M),
        equal("figure 3: win rates of A over B, A over C, B over C", (0.8, 0.4, 0.4), rates[[0, 0, 1], [1, 2, 2]], tolerance=1e-9),
        equal("strong Condorcet winner", "C", AGENTS[condorcet_winners(M).strong or 0]),
        equal("approval, k = 2", (4, 2, 4), approval(PENTATHLON, 2).ratings),
        equal(
            "plurality",
            "A 2, B 2, B 1",
            ", ".join(f"{name} {score:.0f}" for name, score in zip(AGENTS, plurality(PENTATHLON).ratings, strict=True)),
            reason="appendix C.2.2 names B twice; the votes give C two points",
            expected="A 2, B 1, C 2",
        ),
        equal("Borda", (6, 3, 6), borda(PENTATHLON).ratings),
        equal("STV", ("3.2", "2.1", "6.3"), list(stv(PENTATHLON).scores)),
        equal("Copeland", (1, 0, 2), copeland(M).ratings),
        equal("Kemeny values of ABC, ACB, BAC, BCA, CAB, CBA", (8, 9, 5, 6, 10, 7), list(orders.values())),
        equal("Kemeny-Young", (4, 0, 6), kemeny(N).ratings),
        equal("Schulze: path strengths", [[0, 4, 0], [0, 0, 0], [3, 3, 0]], schulze(N).paths),
        equal("Schulze", (4, 0, 7), schulze(N).ratings),
        equal("ranked pairs: pairs", "A B 3, C A 1, C B 1", ", ".join(f"{AGENTS[a]} {AGENTS[b]} {d:.0f}" for a, b, d in pairs.edges)),
        equal("ranked pairs", (3, 0, 5), pairs.ratings),
        equal("maximal lottery", (0, 0, 1), maximal_lottery(M).lottery, tolerance=1e-9),
        equal("IML", (2, 1, 3), lotteries.ratings, tolerance=1e-9),
        equal("IML: winners of each round", "C, A, B", ", ".join(AGENTS[level.agents[0]] for level in lotteries.levels)),
        equal("least sum of Kendall distances", "C, A, B: 5", best_order(distances)),
        *(
            equal(f"ranking by {name}", WINNER, ", ".join(ranking.order(AGENTS)))
            for name, ranking in (
                ("Copeland", copeland(M).ranking), ("Kemeny-Young", kemeny(N).ranking), ("Schulze", schulze(N).ranking),
                ("ranked pairs", pairs.ranking), ("STV", stv(PENTATHLON).ranking),
            )
        ),
    ]  # fmt: skip
    figure, (axes,) = grid(width=4.2, height=3.0)
    draw_graph(axes, {"C": (0.0, 1.0), "A": (1.0, 1.0), "B": (0.5, 0.0)}, [(AGENTS[a], AGENTS[b], d) for a, b, d in pairs.edges])
    note = """The printed formula of the Schulze score would give C 6 points. The printed 7 is what OpenSpiel and all tables have: the
preferences of consecutive agents of the ranking, summed from the bottom."""
    return Output(values, [Drawn("ranked-pairs", "Graph of ranked pairs, with margins (figure 6).", figure)], note=note)


def distance(order: tuple[int, ...], levels: tuple[tuple[int, ...], ...]) -> float:
    """Kendall distance of an order and a vote."""
    return kendall_tau(Ranking.from_levels([[agent] for agent in order]), Ranking.from_levels(levels))


def best_order(distances: dict[tuple[int, ...], float]) -> str:
    """The order with the least sum of distances, and the sum."""
    order = min(distances, key=distances.__getitem__)
    return f"{', '.join(AGENTS[agent] for agent in order)}: {distances[order]:.0f}"


def draw_graph(axes: Axes, places: dict[str, tuple[float, float]], edges: list[tuple[str, str, float]]) -> None:
    """Nodes with arrows from winners to losers, each with its number: a margin or a chance."""
    axes.axis("off")
    for first, second, margin in edges:
        (x, y), (u, v) = places[first], places[second]
        arrow = {"arrowstyle": "-|>", "color": "#444444", "shrinkA": 16, "shrinkB": 16}
        axes.annotate("", (u, v), (x, y), arrowprops=arrow)
        clear = {"fc": "white", "ec": "none", "pad": 2}
        axes.text(0.5 * (x + u), 0.5 * (y + v), f"{margin:g}", ha="center", va="center", bbox=clear)
    for name, (x, y) in places.items():
        axes.text(x, y, name, ha="center", va="center", bbox={"boxstyle": "circle", "fc": "white", "ec": COLOURS[0]})
    axes.set(xlim=(-0.3, 1.3), ylim=(-0.3, 1.3))


@PAPER.item("elo", "Section 2.0.1, appendix B", "Elo rates A and C of the pentathlon alike")
def elo_of_the_pentathlon(_: Run) -> Output:
    ratings = bradley_terry(PENTATHLON.preferences()).ratings
    same = abs(float(ratings[0] - ratings[2])) < 1e-9
    values = [
        claim("A and C have the same rating", "yes", "equal to 1e-9" if same else "no", holds=same),
        claim("A and C are rated above B", "yes", "yes", holds=bool(ratings[0] > ratings[1])),
        unprinted("A above B, in points: 400 log10(7/3)", float(ratings[0] - ratings[1])),
    ]
    return Output(values, note=f"400 log10(7/3) = {400 * math.log10(7 / 3):.3f}.")


def chances_with_copies(copies: int) -> Floats:
    """A, `copies` of B, C: chances to win, with 0 on the diagonal."""
    m = copies + 2
    wins = np.full((m, m), 0.5) - 0.5 * np.eye(m)
    wins[0, 1:-1], wins[1:-1, 0] = 0.55, 0.45
    wins[1:-1, -1], wins[-1, 1:-1] = 0.52, 0.48
    wins[0, -1], wins[-1, 0] = 0.9, 0.1
    return wins


@PAPER.item("figure-2", "Figure 2", "Copies of B make Elo predict A against C badly")
def clones(_: Run) -> Output:
    fits = [bradley_terry(chances_with_copies(copies)) for copies in range(1, 11)]
    predicted = [fit.expected_score(0, copies + 1) for copies, fit in enumerate(fits, 1)]
    errors = [0.9 - chance for chance in predicted]
    reason = (
        "the two printed numbers contradict each other (98 points are a chance of .637); the exact fit at ten copies is 87.6 points, .6235"
    )
    last = fits[-1].ratings
    values = [
        equal("10 copies: r_A - r_C", 98.0, float(last[0] - last[-1]), tolerance=0.05, reason=reason, expected=87.6116),
        equal("10 copies: predicted chance of A against C", 0.631, predicted[-1], tolerance=5e-4, reason=reason, expected=0.623477),
        claim("the error grows with each copy", "yes", f"{errors[0]:.3f} to {errors[-1]:.3f}", holds=bool((np.diff(errors) > 0).all())),
    ]
    figure, (truth, axes) = grid(2, 1, height=4.6)
    draw_graph(truth, {"A": (0.0, 0.0), "B": (0.5, 1.0), "C": (1.0, 0.0)}, [("A", "B", 0.55), ("B", "C", 0.52), ("A", "C", 0.9)])
    truth.set(title="True chances to win")
    line(axes, 0, range(1, 11), errors)
    axes.set(xlabel="copies of B", ylabel="error of Elo's prediction", title="A against C: true chance 0.9", ylim=(0, None))
    caption = "Above: the true chances; arrows point to losers. Below: difference of the true chance of A against C and Elo's prediction."
    note = "True chances: A beats B .55, B beats C .52, A beats C .9. Exact fits; each pair meets equally often."
    return Output(values, [Drawn("error", caption, figure)], note=note)
