"""Games in normal form: N players, named strategies, a payoff of each player for every joint, and the gains of deviations.

A joint has one strategy of each player and is stored as an id per player. A joint distribution is stored sparsely, because equilibria found
by linear programs have few joints. The deviation gain of strategy a' of player p under a distribution s is the sum over joints a of s(a)
(G_p(a', a_-p) - G_p(a)); s is a coarse correlated equilibrium if no gain is positive (Moulin and Vial 1978).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.solution import Floats

Joints: TypeAlias = NDArray[np.int64]
Names: TypeAlias = tuple[str, ...]

_MOST_STRATEGIES: Final = 2**31
LARGEST: Final = 1e150
"""Largest absolute payoff; products of larger payoffs overflow."""
SUM_TOLERANCE: Final = 1e-9
"""Largest accepted distance of a sum of probabilities from 1. Accepted probabilities are divided by their sum."""


class Game(Protocol):
    """A game of N players that may be too large to store.

    Laws: shape[p] = len(strategies[p]) >= 1; payoffs and deviations agree: deviations_at(a)[p][k, a_p] is payoffs_at(a)[k, p]; calls have
    no side effects.
    """

    @property
    def players(self) -> Names:
        """Names of the players."""

    @property
    def strategies(self) -> tuple[Names, ...]:
        """Names of each player's strategies."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of strategies of each player."""

    def payoffs_at(self, joints: Joints) -> Floats:
        """Payoff of each player at each joint: joints (k, N) to payoffs (k, N)."""

    def deviations_at(self, joints: Joints) -> Iterator[Floats]:
        """For each player, the payoffs of all its strategies against the other players' strategies in each joint, (k, shape[p])."""

    def payoffs_against(self, mixes: Sequence[Floats]) -> tuple[Floats, ...]:
        """For each player, the expected payoff of each of its strategies while the other players mix independently, (shape[p],)."""


@dataclass(frozen=True, slots=True)
class JointDistribution:
    """A distribution with few joints. joints: int64 (k, N), distinct; probability: (k,), positive, sums to 1."""

    joints: Joints
    probability: Floats

    @classmethod
    def of(cls, joints: ArrayLike, probability: ArrayLike, shape: tuple[int, ...]) -> "JointDistribution":
        """Build a distribution for a game's shape. Equal joints are added up, joints of probability 0 left out, ids sorted. Raises
        `InputError`.
        """
        sizes = accepted_shape(shape)
        ids = _ids_of("joints", joints, sizes)
        shares = checks.finite("probability", probability)
        if shares.shape != (len(ids),):
            raise InputError("probability", shares.shape, f"must have a number for each of the {len(ids)} joints")
        _check_probabilities("probability", shares)
        flat, place = np.unique(np.ravel_multi_index(tuple(ids.T), sizes), return_inverse=True)
        total = np.asarray(np.bincount(place.ravel(), shares / shares.sum()), np.float64)
        return cls(_unravelled(flat[total > 0], sizes), total[total > 0])

    @classmethod
    def from_dense(cls, probability: ArrayLike) -> "JointDistribution":
        """Build a distribution from a tensor of the game's shape, with a probability for every joint. Raises `InputError`."""
        dense = checks.finite("probability", probability)
        if dense.ndim < 2 or not dense.size:
            raise InputError("probability", dense.shape, "must have an axis for each of at least two players")
        _check_probabilities("probability", dense)
        flat = np.flatnonzero(dense)
        return cls(_unravelled(flat, dense.shape), dense.ravel()[flat] / dense.sum())

    def marginal(self, player: int, strategies: int) -> Floats:
        """Probability of each of the player's strategies, (strategies,)."""
        return np.asarray(np.bincount(self.joints[:, player], self.probability, minlength=strategies), np.float64)


@dataclass(frozen=True, slots=True)
class NormalForm:
    """A game with stored payoffs. payoffs: for each player a float64 tensor with an axis per player, higher is better."""

    payoffs: tuple[Floats, ...]
    strategies: tuple[Names, ...]
    players: Names

    @classmethod
    def of(
        cls, payoffs: Sequence[ArrayLike], strategies: Sequence[Sequence[str]] | None = None, players: Sequence[str] | None = None
    ) -> "NormalForm":
        """A game of at least two players from one payoff tensor each, all of one shape, finite, within +-1e150.

        strategies, players: names, by default numbers from 0. Raises `InputError`.
        """
        given = checks.sequence("payoffs", payoffs)
        tensors = tuple(_tensor(f"payoffs[{p}]", tensor, len(given)) for p, tensor in enumerate(given))
        if len(tensors) < 2:
            raise InputError("payoffs", len(tensors), "must contain a tensor for each of at least two players")
        for p, tensor in enumerate(tensors):
            if tensor.shape != tensors[0].shape:
                raise InputError(f"payoffs[{p}]", tensor.shape, f"must have the shape of payoffs[0], {tensors[0].shape}")
        shape = tensors[0].shape
        named = _all_names(strategies, shape)
        return cls(tensors, named, names_or_numbers("players", players, len(shape)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of strategies of each player."""
        return self.payoffs[0].shape

    def payoffs_at(self, joints: Joints) -> Floats:
        """Payoff of each player at each joint, (k, N)."""
        return np.column_stack([tensor[tuple(joints.T)] for tensor in self.payoffs])

    def deviations_at(self, joints: Joints) -> Iterator[Floats]:
        """For each player, the payoffs of all its strategies against the other players' strategies in each joint, (k, shape[p])."""
        for p, tensor in enumerate(self.payoffs):
            others = tuple(np.delete(joints, p, axis=1).T)
            yield np.asarray(np.moveaxis(tensor, p, -1)[others], np.float64)

    def payoffs_against(self, mixes: Sequence[Floats]) -> tuple[Floats, ...]:
        """For each player, the expected payoff of each of its strategies while the other players mix independently."""
        return tuple(_contracted(tensor, mixes, p) for p, tensor in enumerate(self.payoffs))


def accepted_game(game: object) -> Game:
    """Return `game` if it is a `Game`. Raises `InputError`."""
    if isinstance(game, type) or not hasattr(game, "payoffs_against"):
        raise InputError("game", type(game).__name__, "must be a Game, such as a NormalForm")
    return cast("Game", game)


def accepted_play(game: Game, play: object) -> JointDistribution:
    """Return `play` if it is a distribution over joints of `game`. Raises `InputError`."""
    given = checks.instance("play", play, JointDistribution)
    _ids_of("joints", given.joints, game.shape)
    return given


def deviation_gains(game: Game, play: JointDistribution) -> tuple[Floats, ...]:
    """For each player, the gain of each strategy if the player always deviates to it, (shape[p],). Raises `InputError`."""
    game, play = accepted_game(game), accepted_play(game, play)
    here = play.probability @ game.payoffs_at(play.joints)
    return tuple(play.probability @ there - here[p] for p, there in enumerate(game.deviations_at(play.joints)))


def expected_payoffs(game: Game, play: JointDistribution) -> Floats:
    """Expected payoff of each player, (N,). Raises `InputError`."""
    game, play = accepted_game(game), accepted_play(game, play)
    return np.asarray(play.probability @ game.payoffs_at(play.joints), np.float64)


def regrets(game: Game, play: JointDistribution) -> Floats:
    """For each player, the best deviation gain, at least 0, (N,)."""
    return np.array([max(0.0, float(gains.max())) for gains in deviation_gains(game, play)])


def cce_gap(game: Game, play: JointDistribution) -> float:
    """Sum of the players' regrets: 0 exactly in coarse correlated equilibria (Marris et al., sec. 5.3)."""
    return float(regrets(game, play).sum())


def mix_regrets(game: Game, mixes: Sequence[ArrayLike]) -> Floats:
    """For each player, the best deviation gain while all players mix independently, (N,). All are 0 exactly in Nash equilibria."""
    accepted = accepted_mixes(mixes, accepted_game(game).shape)
    against = game.payoffs_against(accepted)
    return np.array([max(0.0, float(worth.max() - mix @ worth)) for worth, mix in zip(against, accepted, strict=True)])


def uniform_mixes(shape: tuple[int, ...]) -> tuple[Floats, ...]:
    """The uniform mix of each player. Payoffs against these mixes are the uniform ratings. Raises `InputError`."""
    return tuple(np.full(n, 1.0 / n) for n in accepted_shape(shape))


def accepted_shape(shape: object) -> tuple[int, ...]:
    """Number of strategies of each player, of at least two players. Raises `InputError`."""
    sizes = checks.sequence("shape", shape)
    if len(sizes) < 2:
        raise InputError("shape", shape, "must have a number of strategies for each of at least two players")
    return tuple(checks.count(f"shape[{p}]", n, low=1, high=_MOST_STRATEGIES) for p, n in enumerate(sizes))


def accepted_mixes(mixes: Sequence[ArrayLike], shape: tuple[int, ...]) -> tuple[Floats, ...]:
    """A distribution over each player's strategies, divided by its sum. Raises `InputError`."""
    mixes = checks.sequence("mixes", mixes)
    if len(mixes) != len(shape):
        raise InputError("mixes", len(mixes), f"must contain a mix for each of the {len(shape)} players")
    given = tuple(checks.finite(f"mixes[{p}]", mix) for p, mix in enumerate(mixes))
    for p, mix in enumerate(given):
        if mix.shape != (shape[p],):
            raise InputError(f"mixes[{p}]", mix.shape, f"must have a number for each of the player's {shape[p]} strategies")
        _check_probabilities(f"mixes[{p}]", mix)
    return tuple(mix / mix.sum() for mix in given)


def names_or_numbers(argument: str, names: Sequence[str] | None, n: int) -> Names:
    """`names`, checked to be n different texts, or the numbers from 0 if `names` is None. Raises `InputError`."""
    if names is None:
        return tuple(map(str, range(n)))
    given = [name.item() if isinstance(name, np.generic) else name for name in checks.sequence(argument, names)]
    if len(given) != n:
        raise InputError(argument, len(given), f"must contain {n} names")
    for place, name in enumerate(given):
        if not isinstance(name, str):
            raise InputError(f"{argument}[{place}]", name, "must be a name, as text")
    if len(set(given)) != n:
        raise InputError(argument, next(name for name in given if given.count(name) > 1), "must be unique")
    return tuple(given)


def _all_names(strategies: Sequence[Sequence[str]] | None, shape: tuple[int, ...]) -> tuple[Names, ...]:
    given = [None] * len(shape) if strategies is None else checks.sequence("strategies", strategies)
    if len(given) != len(shape):
        raise InputError("strategies", len(given), f"must be a list of names for each of the {len(shape)} players")
    return tuple(names_or_numbers(f"strategies[{p}]", names, shape[p]) for p, names in enumerate(given))


def _tensor(argument: str, values: ArrayLike, players: int) -> Floats:
    tensor = checks.finite(argument, values)
    if tensor.ndim != players or not tensor.size:
        raise InputError(argument, tensor.shape, f"must have an axis of at least one strategy for each of the {players} players")
    if (beyond := np.argwhere(np.abs(tensor) > LARGEST)).size:
        place = tuple(int(i) for i in beyond[0])
        raise InputError(f"{argument}{list(place)}", tensor[place].item(), f"must be within +-{LARGEST:g}")
    return tensor


def _ids_of(argument: str, joints: ArrayLike, shape: tuple[int, ...]) -> Joints:
    ids = checks.integers(argument, joints)
    if ids.ndim != 2 or ids.shape[1] != len(shape) or not len(ids):
        raise InputError(argument, ids.shape, f"must be at least one row of {len(shape)} ids, one for each player")
    if (bad := np.argwhere((ids < 0) | (ids >= shape))).size:
        row, p = (int(i) for i in bad[0])
        raise InputError(f"{argument}[{row}, {p}]", int(ids[row, p]), f"must be one of the player's {shape[p]} strategies")
    return ids.astype(np.int64)


def _check_probabilities(argument: str, shares: Floats) -> None:
    if (shares < 0).any() or abs(float(shares.sum()) - 1) > SUM_TOLERANCE:
        raise InputError(argument, shares, "must be nonnegative with sum 1")


def _unravelled(flat: NDArray[np.int64], shape: tuple[int, ...]) -> Joints:
    return np.column_stack(np.unravel_index(flat, shape)).astype(np.int64)


def _contracted(tensor: Floats, mixes: Sequence[Floats], player: int) -> Floats:
    for q in reversed(range(tensor.ndim)):
        if q != player:
            tensor = np.asarray(np.tensordot(tensor, mixes[q], axes=(q, 0)), np.float64)
    return tensor
