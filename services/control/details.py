"""Details of agents: what boards, search and pages show beside an agent's name. They are no part of any fold."""

import re
from typing import Annotated, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from ratings_core.errors import InputError
from ratings_core.records.names import check_name, check_visible_name
from services.wire import schema

MOST_TAGS: Final = 16
"""Largest number of tags of an agent."""
MOST_URL: Final = 1024
"""Largest number of characters of a URL."""
_COUNTRY: Final = r"[A-Z]{2}"
COUNTRY_PATTERN: Final = rf"^{_COUNTRY}(?!\n)$"
"""Pattern of a country in JSON schemas."""
_TAG_KEY: Final = r"[a-z][a-z0-9_-]{0,31}"
_URL: Final = r"https?://[!-~]+"
_TEXTS: Final = ("display_name", "organisation", "licence")
TEXT_FIELDS: Final = ("display_name", "country", "organisation", "licence", "url")
"""Fields of details that are texts."""

Text: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema=schema.new_name())]
Country: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": COUNTRY_PATTERN})]
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


def check_details(agent: str, details: AgentDetails) -> None:
    """Raise `InputError` if a value breaks its rule.

    Texts have the rules of names of new outcomes: 1 to 256 bytes of UTF-8 in NFC, no white space at either end, no control characters, and
    no characters that are not displayed.
    """
    check_name(agent, "agent")
    for name in _TEXTS:
        if (text := getattr(details, name)) is not None:
            check_visible_name(text, name)
    if details.country is not None:
        check_country(details.country)
    if details.url is not None:
        _check_url(details.url)
    if len(details.tags) > MOST_TAGS:
        raise InputError("tags", len(details.tags), f"must be at most {MOST_TAGS} for an agent")
    for key, value in details.tags.items():
        check_tag_key(key)
        check_visible_name(value, f"tags.{key}")


def check_country(country: str) -> str:
    """Return `country` if it has the form of a code of a country. Raises `InputError`."""
    if not re.fullmatch(_COUNTRY, country):
        raise InputError("country", country, "must be two capital letters, an ISO 3166-1 alpha-2 code such as DE")
    return country


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
