"""What changed an agent's ratings besides outcomes: the generations of its pool, by the control log."""

from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from services.control.records import ControlState, Generation

MOST_EVENTS: Final = 100
"""Largest number of events of an answer. Each one compares two generations, which can have thousands of aliases and initial ratings."""


class Change(StrEnum):
    """What differs from the generation before."""

    SEASON = "season"
    """It begins a season."""
    START = "start"
    """It counts outcomes from another position of the log, within the season."""
    SETTINGS = "settings"
    """Its settings: online methods, their parameters, windows or limits."""
    INITIAL = "initial"
    """Initial ratings of agents."""
    RETRACTIONS = "retractions"
    """Retractions up to a later position of the log apply. There may be none."""
    ALIASES = "aliases"
    """Names whose outcomes count for other agents."""
    BANS = "bans"
    """Banned agents."""
    ERASURES = "erasures"
    """Names that were replaced by tokens. No rating changes."""
    VERSION = "version"
    """The version of the fold."""


class OwnChange(StrEnum):
    """What differs for one agent."""

    BANNED = "banned"
    UNBANNED = "unbanned"
    ALIASES = "aliases"
    """The names whose outcomes count for it."""
    INITIAL = "initial"
    """Its initial rating by a method."""


class AgentEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A generation of the pool: all outcomes were counted again by other rules, or a season began.

    Attributes:
        time: When the generation was made, in seconds since 1970. Readers see it once its outcomes are counted, mostly seconds later.
        generation: Number of the generation.
        changes: What differs from the generation that readers saw before; empty if it counts the outcomes again by the same rules.
        season: Name of the season that it begins. Absent if it continues one.
        own: What differs for this agent; absent if nothing does. Which outcomes were retracted is known for the pool alone.
    """

    time: float
    generation: int
    changes: list[Change]
    season: str | None = None
    own: list[OwnChange] = []


class AgentEvents(NamedTuple):
    """Events of an agent.

    total: Number of all events in the requested time. newest: The newest ones of them, at most `MOST_EVENTS`, oldest first.
    """

    total: int
    newest: list[AgentEvent]


def agent_events(control: ControlState, pool: str, agent: str, since: float | None = None, until: float | None = None) -> AgentEvents:
    """The events of an agent.

    The first generation of a pool is no event, and neither is one that readers have not seen. An erased agent has no own changes from
    before the erasure, because its earlier name is not known.

    Args:
        control: State of the control log.
        pool: Name of the pool.
        agent: Name of the agent.
        since: Only events at or after this time, in seconds since 1970; None for all.
        until: Only events before this time.
    """
    pairs = [
        (before, after)
        for before, after in pairwise(control.all_served(pool))
        if (since is None or after.time >= since) and (until is None or after.time < until)
    ]
    return AgentEvents(len(pairs), [_event(before, after, agent) for before, after in pairs[-MOST_EVENTS:]])


def _event(before: Generation, after: Generation, agent: str) -> AgentEvent:
    begins = after.season != before.season
    differs = {
        Change.SEASON: begins,
        Change.START: after.start != before.start and not begins,
        Change.SETTINGS: after.fold != before.fold,
        Change.INITIAL: after.initial != before.initial,
        Change.RETRACTIONS: after.retraction_horizon > before.retraction_horizon,
        Change.ALIASES: after.aliases != before.aliases,
        Change.BANS: set(after.bans) != set(before.bans),
        Change.ERASURES: after.erased != before.erased,
        Change.VERSION: after.fold_version != before.fold_version,
    }
    changes = [change for change, holds in differs.items() if holds]
    own = {
        OwnChange.BANNED: agent in after.bans and agent not in before.bans,
        OwnChange.UNBANNED: agent in before.bans and agent not in after.bans,
        OwnChange.ALIASES: differs[Change.ALIASES] and _aliases(after, agent) != _aliases(before, agent),
        OwnChange.INITIAL: differs[Change.INITIAL] and _initial(after, agent) != _initial(before, agent),
    }
    return AgentEvent(
        time=after.time,
        generation=after.number,
        changes=changes,
        season=after.season if begins else None,
        own=[change for change, holds in own.items() if holds],
    )


def _aliases(generation: Generation, agent: str) -> set[str]:
    return {name for name, target in generation.aliases.items() if target == agent}


def _initial(generation: Generation, agent: str) -> dict[str, float]:
    return {method: ratings[agent] for method, ratings in generation.initial.items() if agent in ratings}
