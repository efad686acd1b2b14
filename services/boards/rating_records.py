"""Records of the ratings topic, version 1: their keys, their values, and the JSON Schema of the values.

A key is a JSON array without spaces: the pool and the agent for online ratings, the pool, the agent and the method for a row of a solved
board. A head says which state the rows of a pool are at; its key has no agent. All records of a pool are in the pool's partition. The last
record of a key is valid, and a record without a value removes the key.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from services.boards.result import AgentRow, CertificateRow
from services.runtime.docstrings import docstring_texts

VERSION: Final = 1
"""Version of the schema."""

KeyedRecord: TypeAlias = tuple[bytes, bytes | None]
"""Key and value of a record; without a value, it removes the key."""

_encode = msgspec.json.Encoder().encode


class OnlineRating(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent's rating by one online method.

    Attributes:
        rating: Rating of the agent.
        deviation: Standard deviation of the method's belief about the agent, directly after its last outcome. Absent if the method holds no
            beliefs.
    """

    rating: float
    deviation: float | None = None


class AgentRatings(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="ratings"):
    """An agent's ratings by all online methods of its pool. Key: pool, agent.

    Attributes:
        v: Version of the schema.
        pool: Name of the pool.
        agent: Name of the agent.
        ratings: Online method -> rating. A method is absent while it has no rating of the agent.
        outcomes: Number of outcomes in which the agent took part.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted.
        epoch: Epoch of the shard that wrote the record.
    """

    v: int = VERSION
    pool: str
    agent: str
    ratings: dict[str, OnlineRating]
    outcomes: int
    generation: int
    position: int
    epoch: int


class NewestRows(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the newest rows.

    Attributes:
        outcomes: Number of outcomes counted.
        position: Log offset up to which outcomes were counted.
        record: SHA-256 of the last record before the position; None if unknown.
    """

    outcomes: int
    position: int
    record: str | None = None


class RatingsHead(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="ratings_head"):
    """The state of a pool's online ratings. All rows up to this state were written before it. Key: pool.

    Attributes:
        v: Version of the schema.
        pool: Name of the pool.
        methods: Names of the online methods.
        agents: Number of agents.
        outcomes: Number of outcomes counted.
        pool_time: Latest `time` of the outcomes counted, in seconds since 1970; None before the first one.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted.
        partition: Partition of the outcome log that holds the pool.
        epoch: Epoch of the shard that wrote the record.
        newest: State of the newest rows. It can be ahead of the head, because rows are copied after their board was written. Shards use it.
    """

    v: int = VERSION
    pool: str
    methods: list[str]
    agents: int
    outcomes: int
    pool_time: float | None
    generation: int
    position: int
    partition: int
    epoch: int
    newest: NewestRows


class SolvedRow(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="solved", omit_defaults=True):
    """An agent's row of a solved board. Key: pool, agent, method.

    Attributes:
        v: Version of the schema.
        pool: Name of the pool.
        method: Name of the solved method.
        agent: Name of the agent.
        rating: Rating of the agent; None if the method cannot rate it.
        rank: Rank of the agent among the settled ones. 1 is best, and equal ratings share a rank. None if the agent is provisional: it has
            too little evidence for a rank.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted.
        sequence: Number of the solve. Later solves have higher numbers.
        epoch: Epoch of the shard that wrote the record.
        low: Lower end of the rating's interval, if one was computed.
        high: Upper end of this interval.
        rank_low: Best rank in the rank's interval, if one was computed. It holds together with those of all other
            agents of the board.
        rank_high: Worst rank in this interval.
    """

    v: int
    pool: str
    method: str
    agent: str
    rating: float | None
    rank: int | None
    generation: int
    position: int
    sequence: int
    epoch: int
    low: float | None = None
    high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None


class SolvedHead(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="solved_head"):
    """The state of a solved board. All of its rows were written before it. Key: pool, null, method.

    Attributes:
        v: Version of the schema.
        pool: Name of the pool.
        method: Name of the solved method.
        agents: Number of rows.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted.
        sequence: Number of the solve. Later solves have higher numbers.
        epoch: Epoch of the shard that wrote the record.
        solved_at: Time of the solve in seconds since 1970.
        status: How the solve ended.
        certificate: Proof of the result's quality.
        version: Identifies the board in the store; equal versions mean equal boards. Shards use it.
    """

    v: int = VERSION
    pool: str
    method: str
    agents: int
    generation: int
    position: int
    sequence: int
    epoch: int
    solved_at: float
    status: str
    certificate: CertificateRow
    version: str


RatingRecord: TypeAlias = AgentRatings | RatingsHead | SolvedRow | SolvedHead
"""The value of a record, by its `type`."""

decode_record: Final = msgspec.json.Decoder(RatingRecord).decode


class RecordKey(NamedTuple):
    """A key. agent: None in the key of a head. method: None in keys of online ratings."""

    pool: str
    agent: str | None
    method: str | None

    def encode(self) -> bytes:
        """The key as bytes."""
        if self.method is not None:
            return _encode((self.pool, self.agent, self.method))
        return _encode((self.pool,) if self.agent is None else (self.pool, self.agent))


_decode_key = msgspec.json.Decoder(list[str | None]).decode
_PARTS: Final = 3


def decode_key(key: bytes | None) -> RecordKey | None:
    """The key from its bytes; None for a key of another form, which another program wrote."""
    try:
        parts = _decode_key(key or b"")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not 1 <= len(parts) <= _PARTS or "" in parts:
        return None
    pool, agent, method = (*parts, None, None)[:_PARTS]
    return None if pool is None else RecordKey(pool, agent, method)


def keyed(record: RatingRecord) -> KeyedRecord:
    """A record with its key."""
    key = RecordKey(record.pool, getattr(record, "agent", None), getattr(record, "method", None))
    return key.encode(), _encode(record)


def removal(pool: str, agent: str | None, method: str | None = None) -> KeyedRecord:
    """The record that removes a key."""
    return RecordKey(pool, agent, method).encode(), None


def solved_rows(head: SolvedHead, rows: list[AgentRow]) -> Iterator[KeyedRecord]:
    """Yield the records of a solved board's rows."""
    for row in rows:
        yield keyed(
            SolvedRow(
                v=VERSION,
                pool=head.pool,
                method=head.method,
                agent=row.agent,
                rating=row.rating,
                rank=row.rank,
                generation=head.generation,
                position=head.position,
                sequence=head.sequence,
                epoch=head.epoch,
                low=row.low,
                high=row.high,
                rank_low=row.rank_low,
                rank_high=row.rank_high,
            )
        )


def rating_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the values. `scripts/reference` writes it to docs/schema."""
    (one,), parts = msgspec.json.schema_components([RatingRecord], ref_template="#/$defs/{name}")
    for kind in (OnlineRating, AgentRatings, RatingsHead, NewestRows, SolvedRow, SolvedHead, CertificateRow):
        part = parts[kind.__name__]
        part["description"], meanings = docstring_texts(kind)
        for name, meaning in meanings.items():
            part["properties"][name]["description"] = meaning
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Equirank rating record, version 1",
        "description": "The value of a record of the ratings topic. Its key is the JSON array [pool, agent] for `ratings`, [pool] for "
        "`ratings_head`, [pool, agent, method] for `solved` and [pool, null, method] for `solved_head`, without spaces, in UTF-8. A record "
        "without a value removes its key. Later releases may add fields.",
        **one,
        "$defs": parts,
    }
