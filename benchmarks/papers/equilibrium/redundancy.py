"""Figure 3 of Liu et al. 2025: ranks of models while copies of prompts are added that are adverse to one model."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.equilibrium.paper import PAPER
from benchmarks.papers.figures import COLOURS, grid
from benchmarks.papers.items import Drawn, Output, Run, Value, claim, unprinted
from benchmarks.workloads import preferences
from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.equilibria import AffinityTarget, cce, lle
from ratings_core.equilibria.cce import Target
from ratings_core.equilibria.options import CCEOptions, LLEOptions
from ratings_core.games import KingOfTheHill
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats

Ints = NDArray[np.int64]
SEED: Final = 1
DRAWS: Final = 16
"""Drawn games in which the ranks of Elo and of Nash equilibria are compared. Single ones have correlations from 0.2 to 0.9."""
CONSISTENT: Final = 0.5
"""Correlation of ranks above which we call two rankings fairly consistent. The paper gives no measure."""
SHARPNESS: Final = 10.0
"""Lambda: prompts are drawn from softmax(-lambda x mean lead of the attacked model)."""
SAME: Final = 1e-4
"""Ratings that differ by at most this share a rank."""
EPS: Final = 1e-3
"""Largest gain in a CCE, in payoffs."""
AFFINITY: Final = AffinityTarget(floor=0.0)
"""Targets of largest affinity entropy alone. The library's default adds a thousandth of the uniform mix, which copies change."""
METHODS: Final = ("Elo", "NE, affinity", "CCE, affinity", "NE, Shannon", "CCE, Shannon")


def attacked(ahead: Floats, copies: int, model: int, seed: int) -> Ints:
    """Indices of all prompts, followed by drawn copies of those on which a model does badly."""
    mean = ahead[:, model, :].mean(axis=1)
    odds = np.exp(-SHARPNESS * (mean - mean.min()))
    drawn = np.random.default_rng(seed).choice(len(ahead), copies, p=odds / odds.sum())
    return np.concatenate([np.arange(len(ahead)), drawn])


def elo(ahead: Floats) -> Floats:
    """Bradley-Terry ratings of all comparisons, where a lead of u counts (1 + u) / 2 wins."""
    wins = ((1 + ahead) / 2).sum(axis=0)
    np.fill_diagonal(wins, 0.0)
    return bradley_terry(wins).ratings


def ratings(ahead: Floats, method: str) -> Floats:
    """Ratings of the models as kings. Copies are not merged, so that only the targets can make them harmless."""
    if method == "Elo":
        return elo(ahead)
    game = KingOfTheHill.of(ahead)
    target: Target = AFFINITY if method.endswith("affinity") else "even"
    if method.startswith("NE"):
        return lle(game, target=target, options=LLEOptions(merge=False)).ratings
    return cce(game, target=target, options=CCEOptions(merge=False, eps=EPS)).ratings


def sizes_of(run: Run) -> tuple[int, int, list[int]]:
    """Prompts, models and numbers of copies."""
    return run.pick((12, 6, [0, 12, 48]), (50, 12, [0, 50, 250, 1_000]))


def first_by_elo(ahead: Floats) -> int:
    """The model that is attacked."""
    return int(elo(ahead).argmax())


def _cell(prompts: int, models: int, copies: int, method: str, seed: int) -> list[float]:
    ahead = preferences(prompts, models, seed)
    return [float(rating) for rating in ratings(ahead[attacked(ahead, copies, first_by_elo(ahead), seed)], method)]


@PAPER.item("figure-3", "Figure 3 (section 4.2)", "Ranks of models while redundant prompts are added")
def figure_3(run: Run) -> Output:
    (prompts, models, copies), (game_seed,) = sizes_of(run), run.seeds(1, SEED)
    cells = [(method, n) for method in METHODS for n in copies]
    parts = ((f"{method}-{n}".replace(", ", "-"), partial(_cell, prompts, models, n, method, game_seed)) for method, n in cells)
    found = dict(zip(cells, map(np.array, run.each(parts, len(cells))), strict=True))
    model = first_by_elo(preferences(prompts, models, game_seed))
    agreements = run.each(((f"agreement-{seed}", partial(_agreement_of, prompts, models, seed)) for seed in run.seeds(DRAWS)), DRAWS)
    note = f"""{prompts} prompts and {models} models with synthetic preferences in halves from -1 to 1
(`benchmarks.workloads.preferences`); the paper's have a private judge on arena-hard. Copies of prompts are drawn from
softmax(-{SHARPNESS:g} x mean lead of the attacked model), which is the first by Elo. Copies are solved as strategies of their own (merge
off). A CCE leaves gains of up to {EPS:g}. The affinity targets have no floor."""
    return Output(_compared(found, copies, model, agreements), [_drawn(found, copies, model)], note=note)


def _ranks(values: Floats) -> Ints:
    return Ranking.from_scores(values, SAME).rank


def _places(ranks: Ints) -> Ints:
    """Places from 1 on, all different: tied agents follow each other in the order of their numbers."""
    return np.argsort(np.argsort(ranks, kind="stable"), kind="stable") + 1


def _agreement_of(prompts: int, models: int, seed: int) -> float:
    """Correlation of the ranks by Elo and by Nash equilibrium, without copies."""
    ahead = preferences(prompts, models, seed)
    return _agreement(_ranks(ratings(ahead, "Elo")), _ranks(ratings(ahead, "NE, affinity")))


def _compared(found: Mapping[tuple[str, int], Floats], copies: list[int], model: int, agreements: Sequence[float]) -> list[Value]:
    last, values = copies[-1], []
    falls = [int(_ranks(found["Elo", n])[model]) for n in copies]
    text = "rank " + ", ".join(map(str, falls))
    values.append(claim("Elo: the attacked model", "falls through the ranks", text, holds=falls[-1] > falls[0]))
    for method in METHODS[1:3]:
        moved = max(float(np.abs(found[method, n] - found[method, 0]).max()) for n in copies)
        values.append(claim(f"{method}: ratings", "invariant", f"largest change {moved:.0e}", holds=moved <= SAME))
    for method in METHODS[3:]:
        moved = max(float(np.abs(found[method, n] - found[method, 0]).max()) for n in copies)
        values.append(claim(f"{method}: ratings", "not invariant", f"largest change {moved:.3f}", holds=moved > SAME))
    correlation, error = float(np.mean(agreements)), float(np.std(agreements, ddof=1)) / len(agreements) ** 0.5
    text = (
        f"mean rank correlation {correlation:.2f}, standard error {error:.2f}, in {len(agreements)} drawn games; "
        f"more than {CONSISTENT:g} counts as fairly consistent"
    )
    other = "the preferences are drawn; the paper's are of a private judge"
    values.append(claim("NE ranks without copies", "fairly consistent with Elo's", text, holds=correlation > CONSISTENT, other_input=other))
    tied = [int(np.count_nonzero(_ranks(found[f"{kind}, affinity", 0]) == 1)) for kind in ("CCE", "NE")]
    values.append(
        unprinted(
            "models that share the first place", f"CCE {tied[0]}, NE {tied[1]}", "three under CCE and one under NE in the paper's data"
        )
    )
    values.append(unprinted("largest number of copies", last))
    return values


def _agreement(first: Ints, second: Ints) -> float:
    return float(np.corrcoef(first, second)[0, 1])


def _drawn(found: Mapping[tuple[str, int], Floats], copies: list[int], model: int) -> Drawn:
    figure, axes = grid(1, len(METHODS), 12.0, 3.8)
    for one, method in zip(axes, METHODS, strict=True):
        ranks = [_ranks(found[method, n]) for n in copies]
        for column, shared in enumerate(ranks):
            for first, tied in zip(*np.unique(shared, return_counts=True), strict=True):
                one.plot([column] * 2, [first, first + tied - 1], color="#DDDDDD", linewidth=9, solid_capstyle="round", zorder=1)
        for agent, path in enumerate(np.array([_places(shared) for shared in ranks]).T):
            chosen = agent == model
            one.plot(
                path, color=COLOURS[1] if chosen else "#999999", marker="o", linewidth=2.2 if chosen else 0.9, zorder=3 if chosen else 2
            )
        one.set_xticks(range(len(copies)), [f"{n:,}" for n in copies])
        one.set(title=method, xlabel="copies")
        one.invert_yaxis()
    axes[0].set_ylabel("place")
    caption = "Place of each model; the attacked one is coloured. Models on one grey bar are tied: their rank is its uppermost place."
    return Drawn("ranks", caption, figure)


def game_with_copies(run: Run) -> tuple[KingOfTheHill, Ints]:
    """The game with a quarter of the largest number of copies, and the original prompt of each of its prompts."""
    (prompts, models, copies), (seed,) = sizes_of(run), run.seeds(1, SEED)
    ahead = preferences(prompts, models, seed)
    original = attacked(ahead, copies[-1] // 4, first_by_elo(ahead), seed)
    return KingOfTheHill.of(ahead[original]), original


def plain_game(run: Run) -> KingOfTheHill:
    """The game without copies."""
    prompts, models, _ = sizes_of(run)
    return KingOfTheHill.of(preferences(prompts, models, *run.seeds(1, SEED)))
