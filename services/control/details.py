"""Details of agents: what boards, search and pages show beside an agent's name. They are no part of any fold.

A record holds the complete details of one or more agents, so the last record that has an agent counts. A change of one agent has a key of
its own in the log, so compaction removes the earlier changes. A load of many agents is split into records of many agents, because a process
that reads a million records to its start would start slowly. Processes that need no details skip these records by their key.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from sys import intern
from typing import Annotated, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from ratings_core.errors import InputError
from ratings_core.records.names import check_name, check_visible_name
from services.control.erasures import ErasedName, NameMatcher
from services.wire import schema

KEY_PREFIX: Final = "details/"
"""Begin of the keys of all records of details."""
MOST_TAGS: Final = 16
"""Largest number of tags of an agent."""
MOST_URL: Final = 1024
"""Largest number of characters of a URL."""
_AGENTS_A_RECORD: Final = 1000
_BYTES_A_RECORD: Final = 512 << 10
"""Bytes of JSON at which a record of many agents ends. With the largest details of one more agent, it is below a record's limit."""
_COUNTRY: Final = r"[A-Z]{2}"
_TAG_KEY: Final = r"[a-z][a-z0-9_-]{0,31}"
_URL: Final = r"https?://[!-~]+"
_TEXTS: Final = ("display_name", "organisation", "licence")
TEXT_FIELDS: Final = ("display_name", "country", "organisation", "licence", "url")
"""Fields of details that are texts."""

Text: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema=schema.new_name())]
Country: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": rf"^{_COUNTRY}(?!\n)$"})]
Url: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": rf"^{_URL}(?!\n)$", "maxLength": MOST_URL})]
_TAG_NAMES: Final = {"propertyNames": {"pattern": rf"^{_TAG_KEY}(?!\n)$"}, "maxProperties": MOST_TAGS}
Tags: TypeAlias = Annotated[dict[str, Text], msgspec.Meta(extra_json_schema=_TAG_NAMES)]
ChangedTags: TypeAlias = Annotated[dict[str, Text | None], msgspec.Meta(extra_json_schema=_TAG_NAMES)]


class AgentDetails(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What is known of an agent besides its games. Absent fields are not known.

    Attributes:
        display_name: Name to show in place of the agent's name. Several agents may have one.
        country: ISO 3166-1 alpha-2 code, such as `DE`.
        organisation: Organisation behind the agent.
        tags: Key -> value, at most 16. A key is a-z 0-9 _ -, starting with a letter, at most 32 characters.
        licence: Licence of the agent, such as `Apache-2.0`.
        url: Address of a page about the agent: http or https.
        hidden: Whether boards, search and streams leave the agent out. Its ranks and those of others do not change.
    """

    display_name: Text | None = None
    country: Country | None = None
    organisation: Text | None = None
    tags: Tags = {}
    licence: Text | None = None
    url: Url | None = None
    hidden: bool = False


NO_DETAILS: Final = AgentDetails()
"""The details of an agent of which nothing is known."""


class DetailsChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A change of an agent's details: an absent field stays as it is, null removes its value.

    Attributes:
        display_name: As in `AgentDetails`.
        country: As in `AgentDetails`.
        organisation: As in `AgentDetails`.
        tags: Key -> value, or null to remove the tag. Tags that are not named stay. Null in place of the object removes all tags.
        licence: As in `AgentDetails`.
        url: As in `AgentDetails`.
        hidden: As in `AgentDetails`; null is false.
    """

    display_name: Text | UnsetType | None = UNSET
    country: Country | UnsetType | None = UNSET
    organisation: Text | UnsetType | None = UNSET
    tags: ChangedTags | UnsetType | None = UNSET
    licence: Text | UnsetType | None = UNSET
    url: Url | UnsetType | None = UNSET
    hidden: bool | UnsetType | None = UNSET

    def of(self, details: AgentDetails) -> AgentDetails:
        """Return `details` with this change."""
        given = {name: value for name in TEXT_FIELDS if (value := getattr(self, name)) is not UNSET}
        tags = details.tags
        if self.tags is None:
            tags = {}
        elif self.tags is not UNSET:
            merged: dict[str, str | None] = {**tags, **self.tags}
            tags = {key: value for key, value in sorted(merged.items()) if value is not None}
        hidden = details.hidden if self.hidden is UNSET else bool(self.hidden)
        return msgspec.structs.replace(details, **given, tags=tags, hidden=hidden)


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


def check_details(agent: str, details: AgentDetails) -> None:
    """Raise `InputError` if a value breaks its rule.

    Texts have the rules of names of new outcomes: 1 to 256 bytes of UTF-8 in NFC, no white space at either end, no control characters, and
    no characters that are not displayed.
    """
    check_name(agent, "agent")
    for name in _TEXTS:
        if (text := getattr(details, name)) is not None:
            check_visible_name(text, name)
    if details.country is not None and not re.fullmatch(_COUNTRY, details.country):
        raise InputError("country", details.country, "must be two capital letters, an ISO 3166-1 alpha-2 code such as DE")
    if details.url is not None:
        _check_url(details.url)
    if len(details.tags) > MOST_TAGS:
        raise InputError("tags", len(details.tags), f"must be at most {MOST_TAGS} for an agent")
    for key, value in details.tags.items():
        check_tag_key(key)
        check_visible_name(value, f"tags.{key}")


def check_tag_key(key: str) -> str:
    """Return `key` if it is a valid key of a tag. Raises `InputError`."""
    if not re.fullmatch(_TAG_KEY, key):
        raise InputError("tags", key, "must have keys of a-z 0-9 _ -, starting with a letter, of at most 32 characters")
    return key


def _check_url(url: str) -> None:
    try:
        valid = bool(re.fullmatch(_URL, url) and len(url) <= MOST_URL and urlsplit(url).hostname)
    except ValueError:
        valid = False
    if not valid:
        raise InputError("url", url, f"must be an http or https address of at most {MOST_URL} printable ASCII characters, without spaces")


class AgentFilter(NamedTuple):
    """Which agents an answer has. Several conditions must all hold.

    Attributes:
        country: Only agents with this country.
        organisation: Only agents with this organisation.
        tags: Key and value of tags that an agent must all have.
        min_games: Least number of games; None for no limit.
        hidden: Whether hidden agents are included.
    """

    country: str | None = None
    organisation: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    min_games: int | None = None
    hidden: bool = False

    @property
    def of_details(self) -> bool:
        """Whether a condition is one of details."""
        return self.country is not None or self.organisation is not None or bool(self.tags)

    @property
    def selects(self) -> bool:
        """Whether there is a condition besides `hidden`."""
        return self.of_details or self.min_games is not None

    def accepts(self, details: AgentDetails) -> bool:
        """Whether the conditions of details hold."""
        return (
            (self.country is None or details.country == self.country)
            and (self.organisation is None or details.organisation == self.organisation)
            and all(details.tags.get(key) == value for key, value in self.tags)
            and (self.hidden or not details.hidden)
        )


VISIBLE: Final = AgentFilter()
"""All agents that are not hidden."""


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
        """Remove the details of erased names. It hashes each name that has details."""
        with self._lock:
            for agent in [agent for agent in self._agents if erased.token(agent) is not None]:
                del self._agents[agent]
                self._hidden.discard(agent)
            self.version += 1


def _shared(details: AgentDetails) -> AgentDetails:
    """Copy of `details` whose values are in memory once, because many agents have the same."""
    country, organisation, licence = (
        None if text is None else intern(text) for text in (details.country, details.organisation, details.licence)
    )
    tags = {intern(key): intern(value) for key, value in details.tags.items()}
    return msgspec.structs.replace(details, country=country, organisation=organisation, licence=licence, tags=tags)


def changed_details(
    known: PoolDetails, changes: Mapping[str, DetailsChange], *, most_agents: int, erased: Sequence[ErasedName] = (), named: bool = True
) -> dict[str, AgentDetails]:
    """The complete details of the agents that changes really change.

    Args:
        known: Present details of the pool.
        changes: Agent -> change.
        most_agents: Largest number of agents with details in the pool.
        erased: Erased names of the pool.
        named: Whether an error names the agent, because the request has several.

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
            if not named or error.argument == "agent":
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
