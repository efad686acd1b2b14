"""Loads the kernels that reads of agents run: searches of names, and histories of outcomes. Each is compiled if no process did before."""

from typing import Final

import numpy as np

from ratings_core.arrays.arena import pack
from ratings_core.online.trace import RatingTrace
from ratings_core.records.name_search import TIERS, NameSearch
from ratings_core.records.names import are_names
from ratings_core.records.outcomes import WEIGHT_ONE
from ratings_core.records.roster import Roster
from services.checkpoints.segments import segment_in_memory
from services.state.history import TracedOutcomes

_NAMES: Final = [f"agent-{number}" for number in range(1000)]
"""More than a new table of names has room for."""


def warm_reads() -> None:
    """Search some names, and read the history of one outcome.

    Without compiled kernels it takes some ten seconds of processor time, with them a tenth of a second.
    """
    are_names(_NAMES)
    roster = Roster()
    roster.intern(_NAMES)
    Roster.from_arrays(roster.arrays()).lookup(_NAMES)
    search = NameSearch(pack(_NAMES), np.arange(len(_NAMES), dtype=np.int32))
    for tier in TIERS:
        search.find("agent", tier, 0, 1)
    search.nearest("agnet-1", len(_NAMES))  # so many that beginnings are compared, too
    window = _duel()
    segment = segment_in_memory(window)
    segment.rows(*segment.places_of(0))


def _duel() -> TracedOutcomes:
    """A duel of two agents, rated by one method."""
    trace = RatingTrace(before=np.zeros(2), after=np.zeros(2), expected=np.full(2, 0.5))
    ones = np.ones(2, np.int32)
    return TracedOutcomes(
        first=0,
        sides=np.full(1, 2, np.uint8),
        weight=np.full(1, WEIGHT_ONE, np.int32),
        time=np.zeros(1),
        members=ones,
        place=ones,
        agent=np.arange(2, dtype=np.int32),
        traces={"elo": trace},
    )
