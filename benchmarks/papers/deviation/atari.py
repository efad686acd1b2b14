"""Figure 4 and table 3 of Marris et al. 2025: agents on Atari games, against games and against each other."""

import csv
from typing import Final

import numpy as np

from benchmarks.papers.deviation.paper import GOLDEN, PAPER
from benchmarks.papers.figures import COLOURS, MARKERS, grid
from benchmarks.papers.items import Drawn, Output, Run, claim, equal
from ratings_core.equilibria import deviation, uniform
from ratings_core.games import agent_vs_agent_vs_task, agent_vs_task
from ratings_core.solution import Floats

ROWS: Final = list(csv.reader((GOLDEN / "atari_table3.csv").read_text(encoding="utf-8").splitlines()))
AGENTS: Final = ROWS[0][1:]
GAMES: Final = [row[0] for row in ROWS[1:]]
SCORES: Final = np.array([[float(cell) for cell in row[1:]] for row in ROWS[1:]]).T
TIED: Final = 1e-6


def top(ratings: Floats) -> str:
    """Names of the agents that share the highest rating, in the table's order."""
    return ", ".join(AGENTS[i] for i in np.flatnonzero(ratings >= ratings.max() - TIED))


def place(ratings: Floats, agent: str) -> int:
    """Rank of an agent, 1 is best."""
    return 1 + int(np.count_nonzero(ratings > ratings[AGENTS.index(agent)] + TIED))


def normalised(ratings: Floats) -> Floats:
    """Ratings from -1 to 0, as the figure shows them."""
    return np.asarray((ratings - ratings.max()) / np.ptp(ratings), np.float64)


@PAPER.item("figure-4", "Figure 4 and Table 3 (D.1)", "Agents on Atari: two players and three players")
def figure_4(_: Run) -> Output:
    two, three = agent_vs_task(SCORES, agents=AGENTS, tasks=GAMES).game, agent_vs_agent_vs_task(SCORES, agents=AGENTS, tasks=GAMES).game
    rated = {"2P uniform": uniform(two).ratings, "2P deviation": deviation(two).ratings, "3P deviation": deviation(three).ratings}
    rated["3P uniform"] = uniform(three).ratings
    apart = float(np.abs(normalised(rated["2P uniform"]) - normalised(rated["3P uniform"])).max())
    order = ", ".join(AGENTS[i] for i in np.argsort(-rated["2P uniform"], kind="stable"))
    return Output(
        [
            equal("agents by the uniform rating", ", ".join(AGENTS), order),
            claim("normalised uniform ratings, 2P and 3P", "identical", f"they differ by at most {apart:.1e}", holds=apart <= TIED),
            equal("first by the 2P deviation rating", "r2d2(bandit), agent57, muzero, r2d2", top(rated["2P deviation"])),
            equal("first by the 3P deviation rating", "r2d2(bandit), agent57, muzero", top(rated["3P deviation"])),
            equal("rank of human, uniform", 18, place(rated["2P uniform"], "human")),
            equal("rank of human, 3P deviation", 7, place(rated["3P deviation"], "human")),
        ],
        [_drawn(rated)],
        note=f"""Scores of {len(AGENTS)} agents on {len(GAMES)} games from table 3, which has three decimals. Against games, the game
player minimises the score; against each other, it looks for games that separate two agents.""",
    )


def _drawn(rated: dict[str, Floats]) -> Drawn:
    figure, (axes,) = grid(1, 1, 7.6, 4.2)
    for number, name in enumerate(("2P uniform", "2P deviation", "3P deviation")):
        label = name.removeprefix("2P ") if "uniform" in name else name
        axes.plot(range(len(AGENTS)), normalised(rated[name]), MARKERS[number], color=COLOURS[number], label=label, alpha=0.85)
    axes.set_xticks(range(len(AGENTS)), AGENTS, rotation=60, ha="right")
    axes.set(ylabel="rating, normalised to -1 to 0")
    axes.legend()
    return Drawn("atari", "Agents in the order of the uniform rating, which is the same for two and for three players.", figure)
