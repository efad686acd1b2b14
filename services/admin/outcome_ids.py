"""Ids of an agent's outcomes, from archive and log: the history of outcomes keeps none.

Outcomes are found by what the history does keep: time, weight, sides and places. Equal outcomes with different ids cannot be told apart.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import inf, nextafter
from operator import itemgetter
from typing import Any, Final, TypeAlias

import msgspec

from ratings_core.records.outcomes import WEIGHT_ONE
from services.admin.export import Wanted, tables
from services.admin.pool_range import PoolRange
from services.boards.agent_history import AgentOutcome, AgentOutcomes
from services.control.records import ControlState
from services.log.partition import partition_of
from services.log.protocol import Log

_Sides: TypeAlias = tuple[tuple[int, tuple[str, ...]], ...]
"""Place and agents of each side, sorted. Places are 1 + the number of better sides."""
_Content: TypeAlias = tuple[float, int, _Sides]
"""Time, weight in units of 1 / `WEIGHT_ONE`, and sides."""
_COLUMNS: Final = ("id", "time", "weight", "agents", "sides", "places")
_GAME: Final = "game"


def with_ids(log: Log, control: ControlState, answer: AgentOutcomes) -> AgentOutcomes:
    """The outcomes with the ids by which they were sent. All records of the generation up to the answer's position are read.

    Args:
        log: The log, with its archive.
        control: State of the control log.
        answer: An agent's outcomes.

    Raises:
        MissingExtraError: The extra `archive` is not installed.
        LogError: The log or the archive cannot be read.
    """
    if not answer.outcomes:
        return answer
    made = control.generations.get(answer.pool, {}).get(answer.generation)
    start, aliases = (0, {}) if made is None else (made.start, made.aliases)
    begin = max(start, log.history.begin(partition_of(answer.pool, log.outcomes.partitions)))
    times = [one.time for one in answer.outcomes]
    names = (answer.agent, *(name for name, agent in aliases.items() if agent == answer.agent))
    asked = PoolRange(answer.pool, begin, max(begin, answer.position), min(times), nextafter(max(times), inf))
    ids: defaultdict[_Content, dict[str, None]] = defaultdict(dict)
    for table, _ in tables(log, control, Wanted(asked, names, kind=_GAME)):
        for row in table.select(_COLUMNS).to_pylist():
            ids[_content_of(row, aliases)][row["id"]] = None
    outcomes = [msgspec.structs.replace(one, ids=list(ids.get(_content(answer.agent, one), ()))) for one in answer.outcomes]
    return msgspec.structs.replace(answer, outcomes=outcomes)


def _content(agent: str, outcome: AgentOutcome) -> _Content:
    own = (outcome.place, [agent, *outcome.team])
    others = ((side.place, side.agents) for side in outcome.opponents)
    return outcome.time, round(outcome.weight * WEIGHT_ONE), _sorted([own, *others])


def _content_of(row: Mapping[str, Any], aliases: Mapping[str, str]) -> _Content:
    """The content of a row of the archive, with the agents that its names count for."""
    members = zip(row["sides"], row["places"], (aliases.get(name, name) for name in row["agents"]), strict=True)
    sides = [(place, [name for _, _, name in side]) for (_, place), side in groupby(members, key=itemgetter(0, 1))]
    places = [place for place, _ in sides]
    ranked = [(1 + sum(other < place for other in places), agents) for place, agents in sides]
    return row["time"], round(row["weight"] * WEIGHT_ONE), _sorted(ranked)


def _sorted(sides: Sequence[tuple[int, Sequence[str]]]) -> _Sides:
    return tuple(sorted((place, tuple(sorted(agents))) for place, agents in sides))
