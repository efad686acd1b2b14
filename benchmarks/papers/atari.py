"""Scores on Atari games that several papers use; data/SOURCE.md says where they are from."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.papers.items import DATA, GOLDEN
from ratings_core.solution import Floats


@dataclass(frozen=True)
class ScoreTable:
    """scores: (agents, games)."""

    agents: tuple[str, ...]
    games: tuple[str, ...]
    scores: Floats

    def first(self, agents: int) -> "ScoreTable":
        """The table of the first agents."""
        return ScoreTable(self.agents[:agents], self.games, self.scores[:agents])

    def normalised(self) -> Floats:
        """Scores of each game moved and scaled to 0..1, (agents, games)."""
        least = self.scores.min(axis=0)
        return np.asarray((self.scores - least) / (self.scores.max(axis=0) - least))


def ten_agents() -> ScoreTable:
    """Mean scores of ten agents on 54 games, among them a human and a random agent. The data of VasE, section 4.1."""
    return read_scores(DATA / "atari_10_agents.csv")


def twenty_agents() -> ScoreTable:
    """Scores of 20 agents on 53 games, normalised per game (Marris et al., table 3)."""
    return read_scores(GOLDEN / "deviation" / "atari_table3.csv")


def read_scores(path: Path) -> ScoreTable:
    """The table in a CSV file with a row for each game and a column for each agent."""
    with path.open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return ScoreTable(tuple(head[1:]), tuple(row[0] for row in rows), np.array([[float(cell) for cell in row[1:]] for row in rows]).T)
