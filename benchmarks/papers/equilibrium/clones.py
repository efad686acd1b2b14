"""Sec. 3.1 and 3.3 of Liu et al. 2025: the game's payoffs, and affinity entropy where a strategy has copies."""

import csv
import json
from typing import Final

import numpy as np

from benchmarks.papers.equilibrium.paper import GOLDEN, PAPER
from benchmarks.papers.items import Output, Run, Value, claim, equal
from ratings_core.equilibria import affinity_entropy, lle, most_affine
from ratings_core.equilibria.options import LLEOptions
from ratings_core.games import KingOfTheHill, NormalForm
from ratings_core.solution import Floats

TOY: Final = json.loads((GOLDEN / "king_of_the_hill_toy.json").read_text(encoding="utf-8"))
SYMBOLIC: Final = json.loads((GOLDEN / "two_action_clone_example.json").read_text(encoding="utf-8"))
UNMERGED: Final = LLEOptions(merge=False)


def kernel(copies: int) -> Floats:
    """Similarity of A and `copies` of B: 1 for equal strategies, otherwise 0."""
    member = np.append(0, np.ones(copies, int))
    return np.asarray(member[:, None] == member, np.float64)


def coordination(copies: int) -> NormalForm:
    """Both players get 2 for meeting at A and 1 for meeting at B, of which both have copies."""
    member = np.append(0, np.ones(copies, int))
    own = np.where(member[:, None] == member, np.where(member == 0, 2.0, 1.0), 0.0)
    return NormalForm.of([own, own])


@PAPER.item("game", "Section 3.1", "Payoffs of king of the hill")
def game(_: Run) -> Output:
    game = KingOfTheHill.of(TOY["u_king[prompt][king][rebel]"]).normal_form()
    prompt, king, rebel = game.payoffs
    return Output(
        [
            equal("king: its lead", TOY["u_king[prompt][king][rebel]"], king, tolerance=1e-12),
            equal("prompt: the absolute lead", TOY["u_prompt"], prompt, tolerance=1e-12),
            equal("rebel: minus the lead, and -1 for the king's model", TOY["u_rebel"], rebel, tolerance=1e-12),
        ],
        note="""Two prompts and three models; a row of a matrix is a king, a column a rebel. The paper prints the definition; the numbers
follow from it.""",
    )


@PAPER.item("clones", "Section 3.3, equation 4, theorem 1", "Affinity entropy and copies of a strategy")
def clones(_: Run) -> Output:
    values: list[Value] = []
    for copies, printed in sorted((int(n), shares) for n, shares in SYMBOLIC["values"].items()):
        even = np.full(1 + copies, 1 / (1 + copies))
        values.append(
            equal(f"{copies} of B: probability of B at largest Shannon entropy", printed["B_total"], float(even[1:].sum()), tolerance=1e-9)
        )
        values.append(
            equal(
                f"{copies} of B: probability of A at largest affinity entropy",
                0.5,
                float(most_affine(kernel(copies)).ratings[0]),
                tolerance=1e-9,
            )
        )
    with (GOLDEN / "clone_affinity_entropy.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    spread = 0.0
    for row in rows:
        copies, p = int(row["b_total_copies_of_B"]), float(row["p"])
        for mix in (np.append(0.5, np.full(copies, 0.5 / copies)), np.append([0.5, 0.5], np.zeros(copies - 1))):
            spread = max(spread, abs(affinity_entropy(mix, kernel(copies), p) - float(row["max_value_closed_form"])))
    values.append(
        claim("property P3: the value with copies", "the value without", f"largest difference {spread:.0e}", holds=spread <= 1e-11)
    )
    values += [_limits(copies) for copies in (1, 2, 3, 10)]
    note = """The game of the last rows pays both players 2 at A and 1 at B, and B has copies. Copies are not merged. From 3 copies of B
on, the path from the uniform mix ends at B."""
    return Output(values, note=note)


def _limits(copies: int) -> Value:
    shannon, affinity = (
        float(lle(coordination(copies), target=target, options=UNMERGED).mixes[0][0]) for target in (_even(copies), _halves(copies))
    )
    ours = f"affinity: {_name(affinity)}, Shannon: {_name(shannon)}"
    return claim(f"equilibrium with {copies} of B", "affinity: A for any number", ours, holds=_name(affinity) == "A")


def _even(copies: int) -> list[Floats]:
    return [np.full(1 + copies, 1 / (1 + copies))] * 2


def _halves(copies: int) -> list[Floats]:
    return [most_affine(kernel(copies)).ratings] * 2


def _name(share: float) -> str:
    return "A" if share > 0.99 else "B" if share < 0.01 else f"A with {share:.2f}"
