"""Games of OpenSpiel as arrays: payoffs between behavioural policies, and best responses to a distribution over their combinations."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.items import NotRunError
from ratings_core.solution import Floats

Ints = NDArray[np.int64]
_ROOT: Final = 0


@dataclass(frozen=True, slots=True)
class Seat:
    """One player's sequences: its information sets with an action each; sequence 0 is empty.

    start: (sets + 1,), set k has the sequences start[k] to start[k + 1] - 1; parent: (sets,), the sequence that leads to a set, always a
    smaller number than the set's own ones; last: (terminals,), the player's sequence at each terminal.
    """

    start: Ints
    parent: Ints
    last: Ints

    def random_policy(self, rng: np.random.Generator) -> Floats:
        """Probability of each sequence (sequences,) of a policy with uniform weights of the actions in each information set."""
        weight = rng.uniform(size=int(self.start[-1]))
        reach = np.ones(int(self.start[-1]))
        for (low, high), parent in zip(pairwise(self.start.tolist()), self.parent.tolist(), strict=True):
            reach[low:high] = reach[parent] * weight[low:high] / weight[low:high].sum()
        return reach

    def best_value(self, gains: Floats) -> float:
        """Value of the best response. gains: (sequences,), what each sequence gains at the terminals where it is the last one."""
        value = gains.copy()
        for k in reversed(range(len(self.parent))):
            value[self.parent[k]] += value[self.start[k] : self.start[k + 1]].max()
        return float(value[_ROOT])


@dataclass(frozen=True, slots=True)
class GameTree:
    """chance: (terminals,), probability of chance's moves; returns: (players, terminals); seats: one for each player."""

    chance: Floats
    returns: Floats
    seats: tuple[Seat, ...]

    @classmethod
    def load(cls, name: str) -> "GameTree":
        """Compile a game of OpenSpiel, such as `kuhn_poker(players=3)`. Raises `NotRunError` if OpenSpiel is not installed."""
        try:
            game = import_module("pyspiel").load_game(name)
        except ImportError as missing:
            raise NotRunError("the package open-spiel (scripts/bootstrap installs it)") from missing
        return _Compiler(game.num_players()).tree(game.new_initial_state())

    def payoffs(self, policies: Sequence[Floats]) -> list[Floats]:
        """For each player, the tensor of its expected returns. policies: of each player (policies, sequences)."""
        at = [own[:, seat.last] for own, seat in zip(policies, self.seats, strict=True)]
        letters = "abcdefgh"[: len(at)]
        formula = ",".join(f"{letter}z" for letter in letters) + f",z->{letters}"
        return [np.einsum(formula, *at, self.chance * own, optimize=True) for own in self.returns]

    def gap(self, policies: Sequence[Floats], play: Floats) -> float:
        """CCE gap in the whole game: the sum over players of the best response's value minus the own value.

        play: distribution over the combinations of the policies, a tensor with one axis for each player.
        """
        at = [own[:, seat.last] for own, seat in zip(policies, self.seats, strict=True)]
        total = 0.0
        for player, (seat, own) in enumerate(zip(self.seats, self.payoffs(policies), strict=True)):
            others = [p for p in range(len(at)) if p != player]
            letters = "abcdefgh"[: len(others)]
            formula = letters + "," + ",".join(f"{letter}z" for letter in letters) + "->z"
            reach = np.einsum(formula, play.sum(axis=player), *(at[p] for p in others), optimize=True)
            gains = np.zeros(int(seat.start[-1]))
            np.add.at(gains, seat.last, self.chance * reach * self.returns[player])
            total += seat.best_value(gains) - float((play * own).sum())
        return total


class _Compiler:
    """Walks a game's tree once. Parents are numbered before children, because a set is numbered when it is first reached."""

    def __init__(self, players: int) -> None:
        self._sets: list[dict[str, int]] = [{} for _ in range(players)]
        self._start: list[list[int]] = [[1] for _ in range(players)]
        self._parent: list[list[int]] = [[] for _ in range(players)]
        self._last: list[list[int]] = [[] for _ in range(players)]
        self._chance: list[float] = []
        self._returns: list[list[float]] = []

    def tree(self, state: Any) -> GameTree:
        """The tree below a state."""
        self._walk(state, 1.0, [_ROOT] * len(self._sets))
        seats = zip(self._start, self._parent, self._last, strict=True)
        return GameTree(
            np.array(self._chance),
            np.array(self._returns).T,
            tuple(Seat(np.array(start), np.array(parent, np.int64), np.array(last)) for start, parent, last in seats),
        )

    def _walk(self, state: Any, chance: float, last: list[int]) -> None:
        if state.is_terminal():
            self._chance.append(chance)
            self._returns.append(state.returns())
            for own, sequence in zip(self._last, last, strict=True):
                own.append(sequence)
        elif state.is_chance_node():
            for action, probability in state.chance_outcomes():
                self._walk(state.child(action), chance * probability, last)
        else:
            player, actions = state.current_player(), state.legal_actions()
            first = self._first(player, state.information_state_string(player), len(actions), last[player])
            for place, action in enumerate(actions):
                self._walk(state.child(action), chance, [*last[:player], first + place, *last[player + 1 :]])

    def _first(self, player: int, name: str, actions: int, parent: int) -> int:
        """Number of the first sequence of an information set."""
        if name not in self._sets[player]:
            self._sets[player][name] = self._start[player][-1]
            self._parent[player].append(parent)
            self._start[player].append(self._start[player][-1] + actions)
        return self._sets[player][name]
