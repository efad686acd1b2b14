"""Records of details in the control log, and the details that they fold to.

A record holds the complete details of one or more agents, so the last record that has an agent counts. A change of one agent has a key of
its own in the log, so compaction removes the earlier changes. A load of many agents is split into records of many agents, because a process
that reads a million records to its start would start slowly. Processes that need no details skip these records by their key.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from sys import intern
from typing import Final

import msgspec

from ratings_core.errors import InputError
from services.control.details import NO_DETAILS, AgentDetails, DetailsChange, check_details
from services.control.erasures import ErasedName, NameMatcher

KEY_PREFIX: Final = "details/"
"""Begin of the keys of all records of details."""
_AGENTS_A_RECORD: Final = 1000
_BYTES_A_RECORD: Final = 512 << 10
"""Bytes of JSON at which a record of many agents ends. With the largest details of one more agent, it is below a record's limit."""


class DetailsWritten(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="details"):
    """Details of agents of a pool from now on.

    Attributes:
        pool: Name of the pool.
        time: Time of the change in seconds since 1970.
        agents: Agent -> its complete details; without a field where they were removed.
    """

    pool: str
    time: float
    agents: dict[str, AgentDetails]

    @property
    def key(self) -> str:
        """Key in the log. A record of one agent has the agent's key; the key of another one is that of its content.

        A record of many agents that is written twice has one key, so a repeated write does no harm.
        """
        if len(self.agents) == 1:
            return agent_key(self.pool, next(iter(self.agents)))
        return f"{KEY_PREFIX}{self.pool}/load/{blake2b(msgspec.json.encode(self), digest_size=16).hexdigest()}"


def agent_key(pool: str, agent: str) -> str:
    """Key of the records of one agent's details. It holds a hash of the name, because Kafka's tools print keys."""
    return f"{KEY_PREFIX}{pool}/agent/{blake2b(agent.encode(), digest_size=16).hexdigest()}"


class PoolDetails:
    """The details of a pool's agents. Thread-safe: a reader sees the state before or after a record.

    Attributes:
        version: Number of changes so far. Equal versions mean equal details.
    """

    def __init__(self) -> None:
        self.version = 0
        self._lock = threading.Lock()
        self._agents: dict[str, AgentDetails] = {}
        self._hidden: set[str] = set()

    def __len__(self) -> int:
        return len(self._agents)

    def get(self, agent: str) -> AgentDetails | None:
        """The details of an agent; None if nothing is known of it."""
        return self._agents.get(agent)

    def hidden(self) -> frozenset[str]:
        """Names of the hidden agents."""
        with self._lock:
            return frozenset(self._hidden)

    def is_hidden(self, agent: str) -> bool:
        """Whether an agent is hidden."""
        return agent in self._hidden

    def display_names(self, agents: Iterable[str]) -> dict[str, str]:
        """Agent -> its display name, for those of `agents` that have one."""
        known = ((agent, self._agents.get(agent)) for agent in agents)
        return {agent: details.display_name for agent, details in known if details is not None and details.display_name is not None}

    def items(self) -> list[tuple[str, AgentDetails]]:
        """All agents with their details, in the order of their first record."""
        with self._lock:
            return list(self._agents.items())

    def apply(self, agents: Mapping[str, AgentDetails]) -> None:
        """Take the details of a record."""
        with self._lock:
            for agent, details in agents.items():
                if details == NO_DETAILS:
                    self._agents.pop(agent, None)
                else:
                    self._agents[agent] = _shared(details)
                (self._hidden.add if details.hidden else self._hidden.discard)(agent)
            self.version += 1

    def erase(self, erased: NameMatcher) -> None:
        """Remove the details of erased names. It hashes each name that has details.

        Names that are hidden stay hidden: boards show a name until the generation without it serves.
        """
        with self._lock:
            for agent in [agent for agent in self._agents if erased.token(agent) is not None]:
                del self._agents[agent]
            self.version += 1


def _shared(details: AgentDetails) -> AgentDetails:
    """Copy of `details` whose values are in memory once, because many agents have the same."""
    country, organisation, licence = (
        None if text is None else intern(text) for text in (details.country, details.organisation, details.licence)
    )
    tags = {intern(key): intern(value) for key, value in details.tags.items()}
    return msgspec.structs.replace(details, country=country, organisation=organisation, licence=licence, tags=tags)


def changed_details(
    known: PoolDetails, changes: Mapping[str, DetailsChange], *, most_agents: int, erased: Sequence[ErasedName] = ()
) -> dict[str, AgentDetails]:
    """The complete details of the agents that changes really change.

    Args:
        known: Present details of the pool.
        changes: Agent -> change.
        most_agents: Largest number of agents with details in the pool.
        erased: Erased names of the pool.

    Raises:
        InputError: A value breaks its rule, a name was erased, or too many agents would have details.
    """
    matcher, wanted = NameMatcher(erased), dict[str, AgentDetails]()
    for agent, change in changes.items():
        before = known.get(agent) or NO_DETAILS
        details = change.of(before)
        try:
            check_details(agent, details)
        except InputError as error:
            if error.argument == "agent":
                raise
            raise InputError(f"{agent}: {error.argument}", error.value, error.rule) from error
        if matcher and matcher.token(agent) is not None:
            raise InputError("agent", agent, "must not be a name that was erased")
        if details != before:
            wanted[agent] = details
    new = sum(details != NO_DETAILS and known.get(agent) is None for agent, details in wanted.items())
    if new and len(known) + new > most_agents:
        raise InputError("agents", len(known) + new, f"must be at most {most_agents} with details in a pool")
    return wanted


def records_of(pool: str, agents: Mapping[str, AgentDetails], time: float) -> Iterator[DetailsWritten]:
    """The records that write the details of agents, each below the limits of a record. time: seconds since 1970."""
    part, size = dict[str, AgentDetails](), 0
    for agent, details in agents.items():
        length = len(msgspec.json.encode((agent, details)))
        if part and (len(part) == _AGENTS_A_RECORD or size + length > _BYTES_A_RECORD):
            yield DetailsWritten(pool=pool, time=time, agents=part)
            part, size = {}, 0
        part[agent] = details
        size += length
    if part:
        yield DetailsWritten(pool=pool, time=time, agents=part)


class DetailsRecords:
    """The details of all pools."""

    def __init__(self) -> None:
        self._pools: dict[str, PoolDetails] = {}
        self._erased: dict[str, Sequence[ErasedName]] = {}
        """Pool -> its erased names."""
        self._unerased: set[str] = set()
        """Pools whose details may hold a name that was erased after it had them."""

    def of(self, pool: str) -> PoolDetails:
        """The details of a pool's agents, now and after later records. An empty object for a pool that no record is about."""
        known = self._pools.get(pool)
        return PoolDetails() if known is None else known

    def apply(self, record: DetailsWritten) -> None:
        """Fold one record. Erased names are left out."""
        agents: Mapping[str, AgentDetails] = record.agents
        if record.pool in self._erased:
            erased = NameMatcher(self._erased[record.pool])
            agents = {agent: details for agent, details in agents.items() if erased.token(agent) is None}
        self._pools.setdefault(record.pool, PoolDetails()).apply(agents)

    def note_erased(self, pool: str, erased: Sequence[ErasedName]) -> None:
        """Fold an erasure. erased: all erased names of the pool."""
        known = self._erased.get(pool, ())
        self._erased[pool] = erased
        if pool in self._pools and len(erased) > len(known):
            self._unerased.add(pool)

    def erase(self) -> None:
        """Remove the details of erased names: once after many records, because it hashes all names with details of a pool."""
        while self._unerased:
            pool = self._unerased.pop()
            self._pools[pool].erase(NameMatcher(self._erased[pool]))
