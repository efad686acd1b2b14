"""Erasures: an agent's name is replaced by an opaque token, and recognized from then on by a salted hash.

The log keeps the name for as long as its retention says, and producers may send it again. So whatever reads the log replaces the name
before it uses it. The records of an erasure hold the hash and never the name.
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
    """What replaces a name, and how the name is recognized.

    token: the agent's name from now on. salt: hexadecimal key of the hash, of 64 bytes at most. name_hash: BLAKE2b of the name in UTF-8
    under that key.
    """

    token: str
    salt: Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{2}){1,64}\Z")]
    name_hash: str


class ErasureRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="erasure"):
    """An operator's word that an agent's name is to be replaced everywhere. by: who asked; time: when, seconds since 1970."""

    pool: str
    name: ErasedName
    by: str
    time: float


class ArchiveRewrite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an erasure changed in the archive: rows, and the last link of the hash chain before and after it.

    covered: rows that the two links cover. Between two erasures a link of the same row never changes. before: empty where it is not
    known any more, after a crash. links are hexadecimal.
    """

    rows: int
    covered: int
    before: str
    after: str


class ErasureDone(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="erased"):
    """Nothing that is kept beside the log holds the name any more.

    archive: what changed in the archive of the pool's partition; None where no row of it held the name. elsewhere: in those of other
    partitions, by number.
    """

    pool: str
    token: str
    time: float
    archive: ArchiveRewrite | None = None
    elsewhere: dict[int, ArchiveRewrite] = {}

    def change(self, partition: int, home: int) -> ArchiveRewrite | None:
        """What changed in the archive of a partition. home: the partition of the pool."""
        return self.archive if partition == home else self.elsewhere.get(partition)


@dataclass(slots=True)
class ErasureRecords:
    """What the control log says of erasures.

    requests: in the order of the log; of requests for one name in a pool the first one counts. done: by pool and token. notes: all that
    was noted as done, in the order of the log.
    """

    requests: list[ErasureRequest] = field(default_factory=list)
    done: dict[tuple[str, str], ErasureDone] = field(default_factory=dict)
    notes: list[ErasureDone] = field(default_factory=list)

    def apply(self, record: ErasureRequest | ErasureDone) -> None:
        """Fold one record."""
        if isinstance(record, ErasureDone):
            self.done.setdefault((record.pool, record.token), record)
            self.notes.append(record)
        elif all((one.name.salt, one.name.name_hash) != (record.name.salt, record.name.name_hash) for one in self.of(record.pool)):
            self.requests.append(record)

    def of(self, pool: str) -> list[ErasureRequest]:
        """The erasures of a pool."""
        return [one for one in self.requests if one.pool == pool]

    def is_done(self, request: ErasureRequest) -> bool:
        """Whether nothing that is kept beside the log holds the name any more."""
        return (request.pool, request.name.token) in self.done

    def names(self, pool: str) -> tuple[ErasedName, ...]:
        """The erased names of a pool."""
        return tuple(one.name for one in self.of(pool))

    def find(self, pool: str, name: str) -> ErasureRequest | None:
        """The erasure of a name, or the one that a token stands for, if there is one."""
        token = NameMatcher(self.names(pool)).replaced(name)
        return next((one for one in self.of(pool) if one.name.token == token), None)


class NameMatcher:
    """Recognizes erased names. Takes one hash for each different salt; the erasures of a pool share one salt as a rule."""

    def __init__(self, erased: Iterable[ErasedName]) -> None:
        self._by_salt: dict[bytes, dict[str, str]] = {}
        for one in erased:
            self._by_salt.setdefault(bytes.fromhex(one.salt), {})[one.name_hash] = one.token

    def __bool__(self) -> bool:
        return bool(self._by_salt)

    def token(self, name: str | bytes) -> str | None:
        """What replaces `name`; None where it is not erased."""
        data = name.encode() if isinstance(name, str) else name
        for salt, tokens in self._by_salt.items():
            if (token := tokens.get(_hash(salt, data))) is not None:
                return token
        return None

    def in_text(self, text: bytes) -> bytes:
        """JSON text, or what was to be JSON, with the token in place of each string that is an erased name."""
        return _STRING.sub(self._string, text)

    def _string(self, found: re.Match[bytes]) -> bytes:
        name = found[1]
        if b"\\" in name:
            try:
                name = json.loads(found[0]).encode()
            except ValueError:  # no JSON, or half of a character: no outcome has such a name
                return found[0]
        token = self.token(name)
        return found[0] if token is None else f'"{token}"'.encode()

    def replaced(self, name: str) -> str:
        """`name`, or what replaces it."""
        return self.token(name) or name


def parted(requests: Iterable[ErasureRequest], partition: int, partitions: int) -> tuple[list[ErasureRequest], list[ErasureRequest]]:
    """The erasures of a partition's pools, and those of other pools."""
    own: list[ErasureRequest] = []
    elsewhere: list[ErasureRequest] = []
    for one in requests:
        (own if partition_of(one.pool, partitions) == partition else elsewhere).append(one)
    return own, elsewhere


def matchers(requests: Iterable[ErasureRequest]) -> Mapping[str, NameMatcher]:
    """What recognizes the erased names of each pool."""
    names: dict[str, list[ErasedName]] = {}
    for one in requests:
        names.setdefault(one.pool, []).append(one.name)
    return {pool: NameMatcher(found) for pool, found in names.items()}


def erased_name(name: str, others: Sequence[ErasedName]) -> ErasedName:
    """A new token for `name`. others: the erased names of the pool, whose salt is used again, so that folds take one hash of a name."""
    salt = others[0].salt if others else secrets.token_hex(_HASH_BYTES)
    token = f"{_PREFIX}{secrets.token_hex(_TOKEN_BYTES)}"
    return ErasedName(token=token, salt=salt, name_hash=_hash(bytes.fromhex(salt), name.encode()))


def _hash(salt: bytes, name: bytes) -> str:
    return hashlib.blake2b(name, key=salt, digest_size=_HASH_BYTES).hexdigest()
