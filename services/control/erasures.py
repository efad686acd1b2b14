"""Erasures: an agent's name is replaced by an opaque token. A salted hash recognizes the name in later records.

The log keeps the name until its retention removes the records, and producers may send the name again. So every reader of the log replaces
the name before using it. The control records of an erasure contain the hash and never the name. Earlier control records keep a name in
their aliases, bans or initial ratings; the next generation has the token there.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec

from services.log.partition import partition_of

_HASH_BYTES: Final = 16
_TOKEN_BYTES: Final = 8
_PREFIX: Final = "erased-"
_STRING: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"')


class ErasedName(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An erased name: its token, and a hash that recognizes the name in later records.

    Attributes:
        token: The agent's new name.
        salt: Key of the hash, hexadecimal, at most 64 bytes.
        name_hash: BLAKE2b hash of the UTF-8 name with this key.
    """

    token: str
    salt: Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{2}){1,64}\Z")]
    name_hash: str


class ErasureRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="erasure"):
    """An operator's decision to replace an agent's name everywhere. by: who asked for it; time: seconds since 1970."""

    pool: str
    name: ErasedName
    by: str
    time: float


class ErasureDone(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="erased"):
    """An erasure is complete: the name is removed from everything except the log. Fields that earlier releases wrote are ignored."""

    pool: str
    token: str
    time: float


@dataclass(slots=True)
class ErasureRecords:
    """The erasures in the control log.

    Attributes:
        requests: Requests in log order. Only the first request for a name in a pool is kept.
        done: Completed erasures by pool and token.
    """

    requests: list[ErasureRequest] = field(default_factory=list)
    done: dict[tuple[str, str], ErasureDone] = field(default_factory=dict)

    def apply(self, record: ErasureRequest | ErasureDone) -> None:
        """Fold one record."""
        if isinstance(record, ErasureDone):
            self.done.setdefault((record.pool, record.token), record)
        elif all((known.name.salt, known.name.name_hash) != (record.name.salt, record.name.name_hash) for known in self.of(record.pool)):
            self.requests.append(record)

    def of(self, pool: str) -> list[ErasureRequest]:
        """The erasures of a pool."""
        return [request for request in self.requests if request.pool == pool]

    def is_done(self, request: ErasureRequest) -> bool:
        """Whether the erasure is complete: the name is removed from everything except the log."""
        return (request.pool, request.name.token) in self.done

    def names(self, pool: str) -> tuple[ErasedName, ...]:
        """The erased names of a pool."""
        return tuple(request.name for request in self.of(pool))

    def find(self, pool: str, name: str) -> ErasureRequest | None:
        """The erasure of a name or of the name behind a token; None if the pool has no such erasure. name: a name or a token."""
        token = NameMatcher(self.names(pool)).replaced(name)
        return next((request for request in self.of(pool) if request.name.token == token), None)


class NameMatcher:
    """Recognizes erased names. A lookup computes one hash for each distinct salt; usually all erasures of a pool have the same salt."""

    def __init__(self, erased: Iterable[ErasedName]) -> None:
        self._by_salt: dict[bytes, dict[str, str]] = {}
        for name in erased:
            self._by_salt.setdefault(bytes.fromhex(name.salt), {})[name.name_hash] = name.token

    def __bool__(self) -> bool:
        return bool(self._by_salt)

    def token(self, name: str | bytes) -> str | None:
        """The token that replaces `name`; None if the name is not erased."""
        data = name.encode() if isinstance(name, str) else name
        for salt, tokens in self._by_salt.items():
            if (token := tokens.get(_hash(salt, data))) is not None:
                return token
        return None

    def in_text(self, text: bytes) -> bytes:
        """Copy of a JSON text in which each string that is an erased name is replaced by its token. Invalid JSON is accepted too."""
        return _STRING.sub(self._replace_string, text)

    def _replace_string(self, match: re.Match[bytes]) -> bytes:
        name = match[1]
        if b"\\" in name:
            try:
                name = json.loads(match[0]).encode()
            except ValueError:  # invalid JSON, or half a surrogate pair: no outcome has such a name
                return match[0]
        token = self.token(name)
        return match[0] if token is None else f'"{token}"'.encode()

    def replaced(self, name: str) -> str:
        """The token that replaces `name`, or `name` if it is not erased."""
        return self.token(name) or name


def parted(requests: Iterable[ErasureRequest], partition: int, partitions: int) -> tuple[list[ErasureRequest], list[ErasureRequest]]:
    """The erasures of a partition's pools, and those of other pools."""
    own: list[ErasureRequest] = []
    elsewhere: list[ErasureRequest] = []
    for request in requests:
        (own if partition_of(request.pool, partitions) == partition else elsewhere).append(request)
    return own, elsewhere


def matchers(requests: Iterable[ErasureRequest]) -> Mapping[str, NameMatcher]:
    """A `NameMatcher` for each pool with erasures."""
    names: dict[str, list[ErasedName]] = {}
    for request in requests:
        names.setdefault(request.pool, []).append(request.name)
    return {pool: NameMatcher(erased) for pool, erased in names.items()}


def erased_name(name: str, others: Sequence[ErasedName]) -> ErasedName:
    """Make a new token for `name`.

    Args:
        name: The name to erase.
        others: Erased names of the pool. The new one gets the salt of the first, so that a fold computes only one hash a name.
    """
    salt = others[0].salt if others else secrets.token_hex(_HASH_BYTES)
    token = f"{_PREFIX}{secrets.token_hex(_TOKEN_BYTES)}"
    return ErasedName(token=token, salt=salt, name_hash=_hash(bytes.fromhex(salt), name.encode()))


def _hash(salt: bytes, name: bytes) -> str:
    return hashlib.blake2b(name, key=salt, digest_size=_HASH_BYTES).hexdigest()
