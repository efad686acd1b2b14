"""King of the hill: a prompt player looks for prompts that separate a king from a rebel (Liu et al. 2025, sec. 3.1).

u(t, a, b) is the lead of model a over model b on prompt t; it is antisymmetric in the models. The king gets u(t, king, rebel), the prompt
player |u| and the rebel -u. The rebel gets -`penalty` if it plays the king's model. Otherwise both players could settle on one model, and
all prompts would be equally good. The penalty also applies to copies of the king's model (models with equal u on every prompt). Otherwise a
copy would let the rebel avoid the penalty and would change the game.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.clones import clone_classes
from ratings_core.games.normal_form import LARGEST, Joints, Names, NormalForm, names_or_numbers
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class KingOfTheHill:
    """The game of players ``prompt``, ``king`` and ``rebel``. One tensor is stored for all three.

    ahead: u, float64 (prompts, models, models), antisymmetric in the models; same: bool (models, models), True where two models are equal
    on every prompt; penalty: the rebel's loss at such pairs.
    """

    ahead: Floats
    same: NDArray[np.bool_]
    penalty: float
    prompts: Names
    models: Names

    @classmethod
    def of(
        cls,
        ahead: ArrayLike,
        *,
        penalty: float = 1.0,
        prompts: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
    ) -> "KingOfTheHill":
        """Build the game from preferences within +-1e150. Names are by default the numbers from 0.

        penalty: the paper has 1, for preferences within +-1. Raises `InputError`.
        """
        u = _preferences(ahead)
        n = u.shape[1]
        member = clone_classes(np.moveaxis(u, 1, 0).reshape(n, -1)).member
        return cls(
            u,
            np.asarray(member[:, None] == member, bool),
            checks.number("penalty", penalty, low=0.0, high=LARGEST),
            names_or_numbers("prompts", prompts, len(u)),
            names_or_numbers("models", models, n),
        )

    @property
    def players(self) -> Names:
        """Names of the players."""
        return ("prompt", "king", "rebel")

    @property
    def strategies(self) -> tuple[Names, ...]:
        """Names of each player's strategies."""
        return (self.prompts, self.models, self.models)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of strategies of each player."""
        prompts, models, _ = self.ahead.shape
        return prompts, models, models

    def payoffs_at(self, joints: Joints) -> Floats:
        """Payoff of each player at each joint, (k, 3)."""
        prompt, king, rebel = joints.T
        ahead = self.ahead[prompt, king, rebel]
        return np.column_stack([np.abs(ahead), ahead, -ahead - self.penalty * self.same[king, rebel]])

    def deviations_at(self, joints: Joints) -> Iterator[Floats]:
        """For each player, the payoffs of all its strategies against the other players' strategies in each joint, (k, shape[p])."""
        prompt, king, rebel = joints.T
        yield np.abs(self.ahead[:, king, rebel].T)
        yield -self.ahead[prompt, rebel]
        yield -self.ahead[prompt, king] - self.penalty * self.same[king]

    def payoffs_against(self, mixes: Sequence[Floats]) -> tuple[Floats, ...]:
        """For each player, the expected payoff of each of its strategies while the other players mix independently."""
        prompt, king, rebel = mixes
        models = len(king)
        mean = (prompt @ self.ahead.reshape(len(prompt), -1)).reshape(models, models)
        apart = np.array([king @ np.abs(on_prompt) @ rebel for on_prompt in self.ahead])
        return apart, mean @ rebel, -(king @ mean) - self.penalty * (king @ self.same)

    def normal_form(self) -> NormalForm:
        """The same game with its three payoff tensors stored, for small games and for comparisons."""
        rebel = -self.ahead - self.penalty * self.same
        return NormalForm.of((np.abs(self.ahead), self.ahead, rebel), self.strategies, self.players)


def _preferences(ahead: ArrayLike) -> Floats:
    u = checks.finite("ahead", ahead)
    if u.ndim != 3 or u.shape[1] != u.shape[2] or not u.size:
        raise InputError("ahead", u.shape, "must be prompts x models x models with at least one of each")
    if (bad := np.argwhere(np.abs(u) > LARGEST)).size:
        raise _wrong(u, bad, f"must be within +-{LARGEST:g}")
    if (bad := np.argwhere(u != -u.transpose(0, 2, 1))).size:
        raise _wrong(u, bad, "must be minus its transpose on every prompt")
    return np.ascontiguousarray(u)


def _wrong(u: Floats, bad: NDArray[np.int64], rule: str) -> InputError:
    place = tuple(int(i) for i in bad[0])
    return InputError(f"ahead[{', '.join(map(str, place))}]", u[place].item(), rule)
