"""Scores on Atari games that several papers use; data/SOURCE.md says where they are from."""

import csv
from dataclasses import dataclass

import numpy as np

from benchmarks.papers.items import DATA
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


def atari(name: str) -> ScoreTable:
    """The table in data/NAME.csv: one row for each game, one column for each agent."""
    with DATA.joinpath(f"{name}.csv").open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return ScoreTable(tuple(head[1:]), tuple(row[0] for row in rows), np.array([[float(cell) for cell in row[1:]] for row in rows]).T)
