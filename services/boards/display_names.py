"""Search of agents by their display names. Agents whose own name matches are found before, by `AgentIndex`."""

from typing import Final

import numpy as np

from ratings_core.arrays.arena import pack
from ratings_core.records.name_search import TIERS, NameSearch, folded
from ratings_core.records.roster import UNKNOWN
from services.boards.agent_index import AgentIndex, Place
from services.control.details_records import PoolDetails

_FIRST_TIER: Final = len(TIERS)
"""Tiers of display names follow those of names."""
_PLACES_AT_ONCE: Final = 64


class DisplayNames:
    """Display names of the agents of an index. Thread-safe, because nothing changes after construction.

    It does not hold the index, so that an index that was dropped or replaced is freed.

    Args:
        details: Details of the pool's agents.
        index: The agents. Display names of others are left out.
    """

    def __init__(self, details: PoolDetails, index: AgentIndex) -> None:
        named = [(agent, known.display_name) for agent, known in details.items() if known.display_name is not None]
        ids = index.ids([agent for agent, _ in named])
        known = np.flatnonzero(ids != UNKNOWN)
        ids = ids[known]
        order = np.lexsort((ids, -index.outcomes_of(ids)))
        self._search = NameSearch(pack([named[at][1] for at in known.tolist()]), order)
        self._ids = ids[order]

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._search.nbytes + self._ids.nbytes

    def search(self, index: AgentIndex, query: str, after: Place | None, count: int) -> list[Place]:
        """The first `count` matches of a query that are no matches by name: equal, then prefixes, then others; see `AgentIndex.search`.

        index: The index that the display names were made for, or another load of the same checkpoint.
        """
        found: list[Place] = []
        for tier in TIERS if query else ():
            number = _FIRST_TIER + tier
            if after is None or number >= after.tier:
                begin = self._begin(index, after) if after is not None and number == after.tier else 0
                found += self._of_tier(index, query, tier, begin, count - len(found))
        return found

    def _of_tier(self, index: AgentIndex, query: str, tier: int, begin: int, count: int) -> list[Place]:
        found: list[Place] = []
        sought = folded(query)
        while len(found) < count:
            places = self._search.find(query, tier, begin, _PLACES_AT_ONCE)
            others = [agent for agent in map(int, self._ids[places]) if sought not in folded(index.name(agent))]
            found += [Place(_FIRST_TIER + tier, index.outcomes(agent), agent) for agent in others]
            if len(places) < _PLACES_AT_ONCE:
                break
            begin = places[-1] + 1
        return found[:count]

    def _begin(self, index: AgentIndex, after: Place) -> int:
        """First place in the order of answers after `after`."""
        outcomes = index.outcomes_of(self._ids)
        before = (outcomes > after.outcomes) | ((outcomes == after.outcomes) & (self._ids <= after.agent))
        return int(np.count_nonzero(before))


def search(index: AgentIndex, display: DisplayNames | None, query: str, after: Place | None, count: int) -> list[Place]:
    """The first `count` matches of a query, by names and then by display names. Arguments as of `AgentIndex.search`."""
    found = index.search(query, after, count)
    return found if display is None or len(found) >= count else found + display.search(index, query, after, count - len(found))
