"""Tables 1 and 2 of Marris et al. 2025: the properties of deviation ratings, and the biased Shapley game."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from benchmarks.papers.deviation.paper import GOLDEN, PAPER
from benchmarks.papers.items import Output, Run, Value, claim, equal
from ratings_core.equilibria import deviation, nash_average, uniform
from ratings_core.games import NormalForm, mix_regrets
from ratings_core.solution import Floats

SHAPLEY: Final = json.loads((GOLDEN / "shapley.json").read_text(encoding="utf-8"))
DENOMINATOR: Final = 964
TOLERANCE: Final = 1e-6
COUNTEREXAMPLE: Final = NormalForm.of([sign * np.array([[0.0, 0.0], [-2.0, 0.0], [0.0, -1.0]]) for sign in (1, -1)])
"""With q the share of the first column, rows 2 and 3 gain -2q and q - 1 and meet at -2/3. Half of rows 1 and 2 gains -q and meets q - 1
at -1/2."""
_COMPETES: Final = (
    "with q the share of the first column, rows 1, 2 and 3 gain 0, -2q and q - 1; 0 is fixed first, and the largest of the others is least "
    "at q = 1/3, where both are -2/3; the added row gains -q, so it is least at q = 1/2, and rows 2 and 3 get -1 and -1/2; the proof of "
    "property 7 calls the constraint of the added row redundant, but it is not while row 1 is fixed at 0"
)
_GAMES: Final = 20


def payoffs(strategies: int = 4) -> Floats:
    """The first player's payoffs among the first strategies of R, P, S and their Nash mixture N."""
    return np.array([[float(Fraction(cell)) for cell in row[:strategies]] for row in SHAPLEY["G1"][:strategies]])


def symmetric(own: Floats) -> NormalForm:
    """The symmetric game in which the second player's payoffs are the first player's with roles exchanged."""
    return NormalForm.of([own, own.T])


@PAPER.item("table-2", "Table 2 (section 5.1)", "Ratings of the biased Shapley game")
def table_2(_: Run) -> Output:
    game = symmetric(payoffs())
    average, rated, without = uniform(game).ratings, deviation(game).ratings, deviation(symmetric(payoffs(3))).ratings
    mix = [float(Fraction(share)) for share in SHAPLEY["nash"]]
    values: list[Value] = []
    for name, printed, ours in zip("RPSN", SHAPLEY["uniform_published_over_964"], average, strict=True):
        reason = "the mean of the printed payoffs of N is -2496/964"
        values.append(
            equal(f"uniform rating of {name}, in 964ths", printed, ours * DENOMINATOR, tolerance=1e-6, reason=reason, expected=-2496)
        )
    for name, printed, ours in zip("RPSN", SHAPLEY["deviation_published_over_964"], rated, strict=True):
        values.append(equal(f"deviation rating of {name}, in 964ths", printed, ours * DENOMINATOR, tolerance=1e-6))
    values += [
        equal("order of the uniform ratings", "R > P > N > S", " > ".join("RPSN"[i] for i in np.argsort(-average))),
        equal("deviation ratings without N, in 964ths", [-2720] * 3, without * DENOMINATOR, tolerance=1e-6),
        equal(
            "largest regret of the printed Nash mixture", 0, float(mix_regrets(symmetric(payoffs(3)), [mix, mix]).max()), tolerance=1e-12
        ),
    ]
    return Output(values, note="N mixes R, P and S as the game's only mixed Nash equilibrium does: 87, 100 and 54 of 241.")


def random_game(seed: int) -> NormalForm:
    """A general-sum game of three players with three strategies each."""
    return NormalForm.of(list(np.random.default_rng(seed).normal(size=(3, 3, 3, 3))))


def extended(game: NormalForm, row: Callable[[Floats], Floats]) -> NormalForm:
    """The game in which the first player has one more strategy.

    row: its payoffs, from a payoff tensor with the first player's axis first.
    """
    return NormalForm.of([np.concatenate([tensor, row(tensor)[None]]) for tensor in game.payoffs])


def changed(before: NormalForm, after: NormalForm) -> float:
    """Largest change of a rating of the strategies that both games have."""
    pairs = zip(deviation(before).by_player, deviation(after).by_player, strict=True)
    return max(float(np.abs(old - new[: len(old)]).max()) for old, new in pairs)


def _offset(game: NormalForm, seed: int) -> NormalForm:
    """Payoffs plus parts that do not depend on the player's own choice."""
    rng = np.random.default_rng([seed, 1])
    return NormalForm.of([tensor + rng.normal(size=(3, 3, 3)).take([0], axis=p) for p, tensor in enumerate(game.payoffs)])


def _dominance(seeds: Sequence[int]) -> float:
    """How much a dominated strategy is rated above the one that dominates it, at most; nonpositive if never."""
    worst = -np.inf
    for seed in seeds:
        game = random_game(seed)
        own = game.payoffs[0]
        better = own[0] + np.random.default_rng([seed, 2]).uniform(0, 1, own[0].shape)
        tensors = [np.concatenate([own, better[None]]), *(np.concatenate([tensor, tensor[:1]]) for tensor in game.payoffs[1:])]
        ratings = deviation(NormalForm.of(tensors)).ratings
        worst = max(worst, float(ratings[0] - ratings[-1]))
    return worst


def _nash_average_difference(seeds: Sequence[int]) -> float:
    """Largest difference between deviation ratings and Nash averages minus the value, in zero-sum games."""
    worst = 0.0
    for seed in seeds:
        scores = np.random.default_rng(seed).normal(size=(5, 4))
        nash, rated = nash_average(scores), deviation(NormalForm.of([scores, -scores]))
        worst = max(worst, float(np.abs(rated.ratings - (nash.ratings - rated.payoffs[0])).max()))
    return worst


@PAPER.item("table-1", "Table 1 and properties 1 to 8 (section 4.2)", "Properties of deviation ratings")
def table_1(run: Run) -> Output:
    seeds = run.seeds(_GAMES)
    games = [random_game(seed) for seed in seeds]
    clone = max(changed(game, extended(game, lambda tensor: tensor[1])) for game in games)
    offset = max(changed(game, _offset(game, seed)) for seed, game in zip(seeds, games, strict=True))
    mixture = max(changed(game, extended(game, lambda tensor: 0.5 * tensor[0] + 0.5 * tensor[2])) for game in games)
    shifted = changed(COUNTEREXAMPLE, extended(COUNTEREXAMPLE, lambda tensor: 0.5 * tensor[0] + 0.5 * tensor[1]))
    highest = max(float(max(own.max() for own in deviation(game).by_player)) for game in games)
    dominated, zero_sum = _dominance(seeds), _nash_average_difference(seeds)
    shapley = changed(symmetric(payoffs(3)), symmetric(payoffs()))
    return Output(
        [
            claim("bounds (property 3)", "at most 0", f"largest rating {highest:.1e}", holds=highest <= TOLERANCE),
            claim("dominance preserving", "yes", f"a dominated strategy leads by at most {dominated:.1e}", holds=dominated <= TOLERANCE),
            claim("clone invariant", "yes", f"largest change {clone:.1e}", holds=clone <= TOLERANCE),
            claim("offset invariant", "yes", f"largest change {offset:.1e}", holds=offset <= TOLERANCE),
            claim("mixture invariant, Shapley game", "yes", f"largest change {shapley:.1e}", holds=shapley <= TOLERANCE),
            claim("mixture invariant, random games", "yes", f"largest change {mixture:.1e}", holds=mixture <= TOLERANCE),
            equal("mixture invariant, a game of 3 x 2: change", 0.0, shifted, tolerance=TOLERANCE, reason=_COMPETES, expected=1 / 3),
            claim(
                "Nash average minus the value in zero-sum games", "equal", f"largest difference {zero_sum:.1e}", holds=zero_sum <= TOLERANCE
            ),
        ],
        note=f"""{_GAMES} random games of three players with three strategies each and normal payoffs, and as many zero-sum games of 5 x 4
strategies, which have one equilibrium each. In the game of 3 x 2, the rows pay (0, 0), (-2, 0) and (0, -1) to the first player and cost
the second as much; half of the first and half of the second row is added.""",
    )
