"""Sections 4.2 and appendices G to L of VasE: language models, prompts, and items whose data are not here."""

import json
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.items import GOLDEN, NotRunError, Output, Run, Value, equal, unprinted
from benchmarks.papers.vase.methods import compared, methods, printed_table
from benchmarks.papers.vase.paper import PAPER
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.copeland import condorcet_winners
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.profile import Profile
from ratings_core.voting.ranked_pairs import ranked_pairs

ARENA = np.array(
    [
        [0, 0, 20, 32, 24, -2, 20, 14, 39],
        [0, 0, 33, 87, 17, -7, 67, -8, 50],
        [-20, -33, 0, 25, -7, 2, 10, -28, 12],
        [-32, -87, -25, 0, -21, -3, 26, -54, -11],
        [-24, -17, 7, 21, 0, -13, 21, -27, 27],
        [2, 7, -2, 3, 13, 0, 1, 6, 5],
        [-20, -67, -10, -26, -21, -1, 0, -65, -26],
        [-14, 8, 28, 54, 27, -6, 65, 0, 48],
        [-39, -50, -12, 11, -27, -5, 26, -48, 0],
    ],
    float,
)


@PAPER.item("figure-12", "Figure 12, appendix J.1", "A cycle in a margin subgame of the Chatbot Arena")
def arena_cycle(_: Run) -> Output:
    found = iterated_maximal_lotteries(ARENA)
    top = maximal_lottery(ARENA)
    gains = top.lottery @ ARENA
    printed = (0.0, 3.0821, 0.0, 7.2471, 12.2451, 0.0, 3.332, 3.8318, 8.4133)
    names = {0: "RWKV-4-Raven-14B", 2: "chatglm-6b", 5: "gpt4all-13b-snoozy"}
    values = [
        equal("elected", ", ".join(names.values()), ", ".join(names.get(agent, str(agent)) for agent in top.support.tolist())),
        equal("probabilities of these three", (0.0833, 0.0833, 0.8333), top.lottery[[0, 2, 5]], tolerance=5e-5),
        equal("expected margins of the lottery against each", printed, gains, tolerance=5e-3),
        equal("fractional scores of the three in table 15", (0.083, 0.083, 0.83), found.levels[0].lottery, tolerance=5e-3),
        *(
            equal(f"worst margin of {names[agent]} alone", worst, float(ARENA[agent].min()))
            for agent, worst in ((0, -2.0), (5, -2.0), (2, -33.0))
        ),
    ]
    note = """The printed matrix has nine alternatives, although its caption says eight. Printed margins are sums with probabilities that
are rounded to four digits. The exact lottery has 10/12, 1/12 and 1/12."""
    return Output(values, note=note)


_VOTES_FROM: Final = {"approval", "borda", "plurality", "copeland", "kemeny_young", "schulze"}
"""Methods whose printed scores the votes of the prompts were made from."""


def _ranked_pairs(margins: NDArray[np.float64], printed: Mapping[int, float]) -> list[Value]:
    """Scores of ranked pairs, as the paper defines them and as it prints them. printed: prompt -> score, in the printed order."""
    place = np.array(list(printed)) - 1
    sums = np.cumsum(np.triu(margins[np.ix_(place, place)]).sum(axis=1)[::-1])[::-1]
    untied = (ranked_pairs(margins, ties=seed).ratings[place] for seed in range(40))
    locked = next(scores for scores in untied if (np.diff(scores) < 0).all())
    order = ", ".join(map(str, printed))
    reason = (
        "a score sums the locked margins that a prompt reaches (C.2.8); the printed scores also have the margin -1 of prompt 7 over "
        "prompt 4, as the next row shows: the victory of 4 over 7 closes a cycle, so this pair has no edge"
    )
    expected = [score + (prompt not in (5, 4)) for prompt, score in printed.items()]
    return [
        equal(f"ranked_pairs: prompts {order}", list(printed.values()), locked, reason=reason, expected=expected),
        unprinted("ranked_pairs: sums of all margins below in this order", sums, "equal to the printed scores"),
    ]


@PAPER.item("table-17", "Table 17, appendix K", "Prompts for summaries")
def prompts(_: Run) -> Output:
    given = json.loads((GOLDEN / "vase" / "prompt_profiles_reconstructed.json").read_text(encoding="utf-8"))["profiles"]
    names = [str(prompt) for prompt in range(1, 8)]
    profiles = [("", Profile.from_orders(np.array(votes) - 1, names=names)) for votes in given]
    printed = printed_table(GOLDEN / "vase" / "prompt_table17_published.csv")
    values = []
    for name, method in methods(approved=2, winners=3).items():
        if name != "ranked_pairs" and name not in _VOTES_FROM:
            values.append(compared(name, method, profiles[:1], printed[name], tolerance=5e-3 if name == "iml" else 0.0))
    values += _ranked_pairs(profiles[0][1].margins(), {int(name): float(score) for name, score in printed["ranked_pairs"].items()})
    one = {tuple(map(tuple, profile.preferences().astype(int).tolist())) for _, profile in profiles}
    order = kemeny(profiles[0][1].preferences()).ranking
    values += [
        equal("strong Condorcet winner", 6, (condorcet_winners(profiles[0][1].margins()).strong or 0) + 1),
        equal("first four by all Condorcet methods", "6, 3, 1, 2", ", ".join(str(level[0] + 1) for level in order.levels[:4])),
        unprinted("matrices of preferences of the possible profiles", f"{len(one)} of {len(profiles)} profiles"),
    ]
    note = """The paper prints the scores of the prompts as an image (figure 17), which we do not have. These votes are reconstructed: they
are one of 50 profiles that have all printed scores of approval, Borda, plurality, Copeland, Kemeny-Young and Schulze. These six are equal
by construction, so they are not compared. Prompts 4, 5 and 7 form a cycle of equal margins: ranked pairs orders them by its rule for
ties, which the paper does not state. Ours here is an order of ties that gives the printed ranking. The Nash average of the prompts needs
the scores, and is not run."""
    return Output(values, note=note)


def missing(name: str, source: str, title: str, needs: str) -> None:
    """Add an item whose data are not in this project."""

    @PAPER.item(name, source, title)
    def absent(_: Run) -> Output:
        raise NotRunError(needs)


missing(
    "table-8", "Tables 8 and 9, figures 9 and 10", "Adaptive agents", "an internal leaderboard that is not public (150 agents, 46 tasks)"
)
missing("agentbench", "Tables 3, 10 to 14, figure 11, observations 7 and 8", "Language models as agents (AgentBench)",
        "table 3 of Liu et al. 2023 (AgentBench), which this project does not have as numbers")  # fmt: skip
missing("chatbot-arena", "Tables 15 and 16, figure 13", "The whole Chatbot Arena",
        "the 33,000 conversations of LMSYS (July 2023), which this project does not have")  # fmt: skip
missing("helm", "Tables 18 to 24, appendix L", "HELM", "the results of HELM as of April 2023, which this project does not have")
