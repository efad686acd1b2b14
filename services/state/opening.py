"""The first state of a season, from the final state of the season before: a soft reset of ratings, and the known ids of outcomes.

It is a function of the two generations and of the final state alone, so a season that is folded again from the log begins equally.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.online import Rater
from ratings_core.online.state import OnlineState
from ratings_core.records.roster import Roster
from services.control.erasures import NameMatcher
from services.control.generations import make_raters
from services.control.records import Generation
from services.state.dedupe import DedupeWindow
from services.state.edits import NONE, Retracted
from services.state.parts import part
from services.wire.pools import Kind

FINAL_ARRAYS: Final = ("agents.", "online.", "dedupe.", "edits.retracted")
"""Beginnings of the names of the arrays that a season takes from the final state of the season before."""


@dataclass(frozen=True, slots=True)
class FinalState:
    """What a season takes from the season before.

    Attributes:
        names: Names of the agents by id.
        raters: Online methods of the generation that folded the state.
        online: State of each of these methods.
        dedupe: Arrays of the dedupe window.
        retracted: Retractions that the state applied. The outcomes that they name never entered the window.
    """

    names: list[str]
    raters: Mapping[str, Rater[Any]]
    online: Mapping[str, OnlineState]
    dedupe: Arrays
    retracted: Retracted = NONE

    @classmethod
    def of(cls, kind: Kind, generation: Generation, arrays: Arrays) -> "FinalState":
        """The final state from the arrays of a pool's content. generation: the one that folded it. Raises as `PoolContent.from_arrays`."""
        raters = make_raters(kind, generation.fold)
        online = {name: type(rater.init(0)).from_arrays(part(arrays, f"online.{name}")) for name, rater in raters.items()}
        retracted = Retracted(part(arrays, "edits").get("retracted", NONE.ids))
        return cls(Roster.from_arrays(part(arrays, "agents")).names(), raters, online, part(arrays, "dedupe"), retracted)

    def carried(self, generation: Generation) -> "Carried":
        """The agents whose ratings the season of `generation` takes over, with their names in it.

        There are none if it keeps nothing, or if the season before had no online method: pools of scores have no ratings to carry over.

        Erased names become tokens. A banned agent is left out. An alias counts for its agent: it is left out if the agent has a rating
        itself, and otherwise gives its rating to the agent (the first of several aliases does).
        """
        if generation.opening is None or not generation.opening.keep or not self.online:
            return Carried([], np.zeros(0, np.int64))
        erased = NameMatcher(generation.erased)
        names = list(map(erased.replaced, self.names)) if erased else self.names
        return carried_names(names, generation)

    def reset(self, method: str, rater: Rater[Any], agents: NDArray[np.int64], keep: float) -> OnlineState | None:
        """The state of a method after the soft reset, for the agents `agents`, ids (k,).

        None if the season before did not have the method.
        """
        if method not in self.online:
            return None
        before = self.online[method].selected(agents)
        reset: OnlineState = rater.soft_reset(before, keep, self.raters[method])
        return reset

    def window(self, generation: Generation) -> DedupeWindow:
        """The dedupe window of the season of `generation`. It knows the newest ids of the season before, and those retracted in it.

        A retraction leaves out every outcome with its id, also later ones. Their ids were not in the window, so without this a retry of a
        retracted outcome would count in the next season. It counts as a conflict.

        Hashes of bodies cover names. A generation with erased names gets none of them, because they depend on whether the outcomes were
        read before or after the erasure of the archive: for it, a repeated id of the season before counts as a conflict.
        """
        capacity = generation.fold.dedupe_window
        newest = {name: array[-capacity:] for name, array in self._known().items()}
        return DedupeWindow.from_arrays(without_bodies(newest) if generation.erased else newest, capacity)

    def _known(self) -> Arrays:
        """Arrays of a dedupe window with the retracted ids as the newest ones."""
        ids, bodies, retracted = self.dedupe["ids"], self.dedupe["bodies"], self.retracted.ids
        if not len(retracted):
            return self.dedupe
        others, no_bodies = ~self.retracted.among(ids), np.zeros(len(retracted), bodies.dtype)
        return {"ids": np.concatenate([ids[others], retracted]), "bodies": np.concatenate([bodies[others], no_bodies])}


@dataclass(frozen=True, slots=True)
class Carried:
    """Agents that keep a rating. names: their names in the new generation. ids: their ids in the state that they come from, int64 (k,)."""

    names: list[str]
    ids: NDArray[np.int64]


def without_bodies(dedupe: Arrays) -> Arrays:
    """Arrays of a dedupe window with 0 for each hash of a body."""
    return {**dedupe, "bodies": np.zeros_like(dedupe["bodies"])}


def carried_names(names: list[str], generation: Generation) -> Carried:
    """The agents of `names` that a generation rates: bans leave agents out, and an alias stands for its agent if that has no rating."""
    own, banned, taken = set(names), set(generation.bans), set[str]()
    kept, ids = list[str](), list[int]()
    for i, name in enumerate(names):
        agent = generation.aliases.get(name, name)
        if agent in banned or agent in taken or (agent != name and agent in own):
            continue
        taken.add(agent)
        kept.append(agent)
        ids.append(i)
    return Carried(kept, np.array(ids, np.int64))


def rated_initial(generation: Generation) -> dict[str, dict[str, float]]:
    """The initial ratings of a generation by method and agent, without banned agents, and with aliases as their agents."""
    rated: dict[str, dict[str, float]] = {}
    for method, ratings in generation.initial.items():
        names = sorted(ratings)
        carried = carried_names(names, generation)
        rated[method] = {agent: ratings[names[i]] for agent, i in zip(carried.names, carried.ids.tolist(), strict=True)}
    return rated


def initial_agents(generation: Generation, agents: Roster) -> dict[str, NDArray[np.int32]]:
    """Ids of the agents with an initial rating, by method. agents: The agents of the pool."""
    ids = {method: agents.lookup(list(ratings)) for method, ratings in rated_initial(generation).items()}
    return {method: some[some >= 0] for method, some in ids.items()}


def rated_agents(
    generation: Generation, method: str, activity: NDArray[np.int64], initial: Mapping[str, NDArray[np.int32]]
) -> NDArray[np.bool_] | None:  # fmt: skip
    """Which agents have a rating of an online method: bool (n,); None if all have one.

    These are the agents with an outcome, and those that begin with a rating: an initial one, or one of the season before. The others have
    only the start value, so boards have no row of them.

    Args:
        generation: The generation.
        method: Name of the method.
        activity: Number of outcomes of each agent, int64 (n,).
        initial: Result of `initial_agents`.
    """
    opening = generation.opening
    if opening is not None:
        return None if not opening.keep or method in opening.methods else activity > 0
    if not generation.initial:
        return None
    rated = activity > 0
    rated[initial.get(method, np.zeros(0, np.int32))] = True
    return rated
