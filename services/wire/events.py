"""Decoder and encoder of the wire schema, version 1: the content of a record of the outcome log.

A record is one JSON object (an outcome), a JSON array of outcomes of one pool, or the columns of such an array (`services.wire.bulk`). The
typed decoder reads all records of a poll together. A second, slower reading (`services.wire.rules`) explains each refusal: it names the
path of the field in the sender's JSON and the rule that the field breaks. The verdict on a record depends only on the bytes of this
record, never on other records of the poll.

Rules where the JSON standard leaves a choice: if an object has a key twice, the last value counts, as in most readers. Numbers are doubles.
Integers must be written without fraction or exponent. A byte order mark is refused. A record nested deeper than `rules.MAX_DEPTH` is
refused.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from ratings_core.errors import InputError
from ratings_core.records.names import MAX_NAME_BYTES, are_names
from ratings_core.records.outcomes import MAX_AGENTS, MAX_SCORE, MAX_SIDES, MAX_TIME, MAX_WEIGHT, MIN_WEIGHT
from ratings_core.records.tag_keys import MAX_TAG_BYTES, TAG_KEY
from ratings_core.records.tags import MAX_TAGS, broken_tag
from services.wire import rules
from services.wire.bulk.recognition import is_stream
from services.wire.pools import Kind, is_pool_name
from services.wire.refusals import Reason, Refusal, UnreadableError
from services.wire.rules import MAX_PLACE, MAX_RECORD_BYTES, MIN_PLACE

FUTURE_SECONDS: Final = 300.0
"""Largest number of seconds by which the time of an accepted outcome can be in the future."""
RECORD_OUTCOMES: Final = 500
"""Default of the maximal number of outcomes that `encode_records` puts into one record."""
_GROWTH: Final = 2
"""Upper bound of the growth of an outcome's JSON by decoding and encoding, which writes integers as doubles: `"a":1,` as `"a":1.0,`."""
_RUN_BYTES: Final = 1 << 18
"""Bytes of records that are decoded and checked together. Objects of a longer run would leave the processor's cache before the check."""

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_BYTES)]
Time: TypeAlias = Annotated[float, Meta(ge=-MAX_TIME, le=MAX_TIME)]
Weight: TypeAlias = Annotated[float, Meta(ge=MIN_WEIGHT, le=MAX_WEIGHT)]
TagKey: TypeAlias = Annotated[str, Meta(pattern=rf"^{TAG_KEY}(?!\n)$")]
TagValue: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_TAG_BYTES)]
Tags: TypeAlias = Annotated[dict[TagKey, TagValue], Meta(max_length=MAX_TAGS)]
Score: TypeAlias = Annotated[float, Meta(ge=-MAX_SCORE, le=MAX_SCORE)]


class Side(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """One side of a game: an agent or a team, and its place. Only the order of places counts: the lowest is best, equal places tie."""

    agents: Annotated[list[Name], Meta(min_length=1, max_length=MAX_AGENTS)]
    place: Annotated[int, Meta(ge=MIN_PLACE, le=MAX_PLACE)]


class GameEvent(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """A finished game.

    Attributes:
        kind: Kind of the pools that take this outcome.
        time: Seconds since 1970.
        task: What was played, if the producer distinguishes tasks.
        tags: Texts by key that divide a pool's outcomes into slices, such as the language.
        meta: JSON that the schema does not interpret. A pool can read numbers in it as features.
    """

    kind: ClassVar[Kind] = Kind.GAMES
    v: Literal[1]
    id: Name
    pool: str
    time: Time
    sides: Annotated[list[Side], Meta(min_length=2, max_length=MAX_SIDES)]
    task: Name | None = None
    weight: Weight = 1.0
    tags: Tags | UnsetType = UNSET
    meta: Raw | UnsetType = UNSET


class ScoreEvent(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """Scores of agents on one task. Higher scores are better. tags: As in `GameEvent`."""

    kind: ClassVar[Kind] = Kind.SCORES
    v: Literal[1]
    id: Name
    pool: str
    time: Time
    task: Name
    scores: Annotated[dict[Name, Score], Meta(min_length=1)]
    weight: Weight = 1.0
    tags: Tags | UnsetType = UNSET
    meta: Raw | UnsetType = UNSET


class RetractEvent(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """A retraction: the outcome with the id `retracts` of this pool is not to count. kind: None, because pools of both kinds take it."""

    kind: ClassVar[None] = None
    v: Literal[1]
    id: Name
    pool: str
    time: Time
    retracts: Name
    meta: Raw | UnsetType = UNSET


Event: TypeAlias = GameEvent | ScoreEvent | RetractEvent


class ArchivedText(bytes):
    """A record that the archive wrote as JSON. It may be longer than the record in the log, so the limit of length does not apply to it."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded outcomes of a poll.

    Attributes:
        events: Accepted outcomes, in order.
        record: Index of the record of each outcome in the poll.
        item: Index of each outcome in its record.
        refusals: Refused outcomes and records, ordered by record, then item.
    """

    events: list[Event] = field(default_factory=list)
    record: list[int] = field(default_factory=list)
    item: list[int] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    def take(self, record: int, events: Sequence[Event], items: Sequence[int]) -> None:
        """Add outcomes of one record. items: index of each outcome in the record."""
        self.events.extend(events)
        self.record.extend([record] * len(events))
        self.item.extend(items)

    def extend(self, other: "Decoded") -> None:
        """Append the results of later records."""
        self.events.extend(other.events)
        self.record.extend(other.record)
        self.item.extend(other.item)
        self.refusals.extend(other.refusals)


def decode(values: Sequence[bytes], limit: int = MAX_RECORD_BYTES) -> Decoded:
    """Decode the records of a poll. No content of a record raises an exception: each outcome is accepted or refused.

    A large share of the time is spent in Python's cyclic garbage collector, which scans the lists of outcomes although they have no
    cycles. A process that decodes continuously should raise the collector's threshold: ``gc.set_threshold(100_000)`` gives about 1.5 times
    the throughput.

    Args:
        values: The records.
        limit: Maximal length of a record in bytes.
    """
    decoded = Decoded()
    for start, run in _runs(values):
        _decode_run(decoded, start, run, limit)
    return decoded


def decode_request(body: bytes, *, now: float, new_id: Callable[[], str], future_seconds: float) -> Decoded:
    """Decode the outcomes of a request. A request is a record in which outcomes may omit `id` and `time`.

    Every accepted outcome fits into a record of the log.

    Args:
        body: The body of the request.
        now: Seconds since 1970; the time of outcomes without a time.
        new_id: Makes an id for an outcome without an id.
        future_seconds: Outcomes with a time later than `now` plus this many seconds are refused.
    """
    latest = now + future_seconds
    decoded, size = _decode_fast(body), len(body)
    if decoded is None:
        try:
            filled = _fill_in(body, now, new_id)
        except UnreadableError as error:
            return Decoded(refusals=[_refusal(0, error)])
        decoded, size = decode([filled], len(filled)), len(filled)
    if _fits(size, decoded.events, latest):
        return decoded
    return _refuse_unsendable(decoded, latest, single=not is_array(body))


def is_array(value: bytes) -> bool:
    """Whether a readable record is an array or a stream, so that paths begin with an index. value: a record that `decode` can read."""
    return is_stream(value) or value.lstrip().startswith(b"[")


def item_texts(value: bytes) -> Sequence[bytes]:
    """JSON text of each outcome of a readable record, which is a single outcome, an array or a stream."""
    try:
        return [bytes(raw) for _, _, raw in _items(value, len(value))]
    except UnreadableError:
        return [value]


def encode(events: Sequence[Event]) -> bytes:
    """Encode outcomes as one record: an object for one outcome, an array for several.

    Raises:
        InputError: No outcomes, outcomes of several pools, or a record above 1 MiB.
    """
    if len({event.pool for event in events}) != 1:
        raise InputError("events", len(events), "must be one or more outcomes of one pool")
    record = _encoder.encode(events[0] if len(events) == 1 else list(events))
    if len(record) > MAX_RECORD_BYTES:
        raise InputError("events", len(record), f"must fit into {MAX_RECORD_BYTES} bytes")
    return record


def encode_records(events: Sequence[Event], most: int = RECORD_OUTCOMES) -> list[bytes]:
    """Encode outcomes of one pool as records of at most `most` outcomes and 1 MiB each, in order.

    Raises:
        InputError: Outcomes of several pools, or an outcome above 1 MiB.
    """
    return [record for record, _ in sized_records(events, most)]


def sized_records(events: Sequence[Event], most: int = RECORD_OUTCOMES) -> list[tuple[bytes, int]]:
    """`encode_records`, and the number of outcomes in each record."""
    records = []
    for start in range(0, len(events), most):
        records += _split(events[start : start + most])
    return records


def _split(events: Sequence[Event]) -> list[tuple[bytes, int]]:
    try:
        return [(encode(events), len(events))]
    except InputError:
        if len(events) == 1 or len({event.pool for event in events}) != 1:
            raise
    half = len(events) // 2
    return _split(events[:half]) + _split(events[half:])


_encoder = msgspec.json.Encoder()
_items_decoder: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])
_fields_decoder: msgspec.json.Decoder[dict[str, Raw]] = msgspec.json.Decoder(dict[str, Raw])
_E = TypeVar("_E", bound=Event)
_Decoder: TypeAlias = msgspec.json.Decoder[Event | list[Event]]


def _decoder(kind: type[_E]) -> Any:
    return msgspec.json.Decoder(kind | list[kind])  # type: ignore[valid-type]


_DECODERS: Final[tuple[_Decoder, ...]] = tuple(_decoder(kind) for kind in (GameEvent, ScoreEvent, RetractEvent))


_NOT_TAKEN: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def _runs(values: Sequence[bytes]) -> Iterator[tuple[int, Sequence[bytes]]]:
    """Divide `values` into runs of about `_RUN_BYTES`, each with the index of its first record. Streams and archived texts stand alone."""
    start = size = 0
    for i, value in enumerate(values):
        if (alone := isinstance(value, ArchivedText) or is_stream(value)) and start < i:
            yield start, values[start:i]
            start, size = i, 0
        size += len(value)
        if size >= _RUN_BYTES or alone:
            yield start, values[start : i + 1]
            start, size = i + 1, 0
    if start < len(values):
        yield start, values[start:]


def _decode_run(decoded: Decoded, first: int, values: Sequence[bytes], limit: int) -> None:
    """Decode the records `values` and add the results to `decoded`. first: index of the first of these records in the poll."""
    if isinstance(values[0], ArchivedText) or is_stream(values[0]):
        try:
            text = _text(values[0], limit)
        except UnreadableError as error:
            decoded.refusals.append(_refusal(first, error))
        else:
            _decode_run(decoded, first, [text], len(text))
        return
    read = _decode_typed(values, limit)
    flat = _flatten(read, first)
    if flat is not None and _sound(flat.events):
        decoded.extend(flat)
        return
    for record, content in enumerate(read):
        group = content if isinstance(content, list) else [content] if content is not None else None
        if group is not None and _of_one_pool(group) and _sound(group):
            decoded.take(first + record, group, range(len(group)))
        else:
            _decode_with_reasons(decoded, first + record, values[record], limit)


def _decode_typed(values: Sequence[bytes], limit: int) -> list[Event | list[Event] | None]:
    """Decode each record with the typed decoders; None for a record that they refuse or that is too long, which needs the slow reading."""
    if max(map(len, values), default=0) <= limit:
        for decoder in _DECODERS:  # almost all polls hold outcomes of one kind
            try:
                return list(map(decoder.decode, values))
            except _NOT_TAKEN:
                continue
    return list(_decode_each_typed(values, limit))


def _decode_each_typed(values: Sequence[bytes], limit: int) -> Iterator[Event | list[Event] | None]:
    likely = _DECODERS[0]
    for value in values:
        events: Event | list[Event] | None = None
        if len(value) <= limit:
            for decoder in (likely, *_DECODERS):
                try:
                    events, likely = decoder.decode(value), decoder
                    break
                except _NOT_TAKEN:
                    continue
        yield events


def _flatten(read: list[Event | list[Event] | None], first: int) -> Decoded | None:
    """All outcomes as `Decoded`; None if a record is None or has outcomes of several pools. first: index of the first record."""
    kinds = set(map(type, read))
    if type(None) in kinds:
        return None
    if list not in kinds:
        return Decoded(cast("list[Event]", read), list(range(first, first + len(read))), [0] * len(read))
    decoded = Decoded()
    for record, content in enumerate(read, first):
        group = content if isinstance(content, list) else [cast("Event", content)]
        if not _of_one_pool(group):
            return None
        decoded.take(record, group, range(len(group)))
    return decoded


def _of_one_pool(events: Sequence[Event]) -> bool:
    return len({event.pool for event in events}) == 1


def _sound(events: Sequence[Event]) -> bool:
    """Whether typed events keep the rules that the types do not express."""
    if set(map(type, events)) <= {GameEvent}:
        games, others = cast("Sequence[GameEvent]", events), []
    else:
        games, others = [event for event in events if type(event) is GameEvent], [event for event in events if type(event) is not GameEvent]
    return _sound_texts(events) and _sound_games(games) and _sound_others(others) and _sound_rest(events)


def _sound_rest(events: Sequence[Event]) -> bool:
    """Whether `meta` and tags keep their rules."""
    metas = (event.meta for event in events if event.meta is not UNSET)
    tagged = (event.tags for event in events if not isinstance(event, RetractEvent) and event.tags is not UNSET)
    return all(rules.meta_rule(meta) is None for meta in metas) and all(broken_tag(tags) is None for tags in tagged)


def _sound_texts(events: Sequence[Event]) -> bool:
    return are_names([event.id for event in events]) and all(map(is_pool_name, {event.pool for event in events}))


def _sound_games(games: Sequence[GameEvent]) -> bool:
    sides = chain.from_iterable([game.sides for game in games])
    agents = list(chain.from_iterable([side.agents for side in sides]))
    tasks = {game.task for game in games}
    return _met_once(games, agents) and are_names(agents) and are_names([task for task in tasks if task is not None])


def _met_once(games: Sequence[GameEvent], agents: list[str]) -> bool:
    if len(agents) == 2 * len(games):  # every game is one agent against one
        return not any(map(str.__eq__, agents[::2], agents[1::2]))
    for game in games:
        met = [agent for side in game.sides for agent in side.agents]
        if len(met) > MAX_AGENTS or len(set(met)) < len(met):
            return False
    return True


def _sound_others(events: Sequence[Event]) -> bool:
    scores = [event for event in events if type(event) is ScoreEvent]
    retracted = [event.retracts for event in events if type(event) is RetractEvent]
    agents = [agent for event in scores for agent in event.scores]
    return are_names(retracted) and are_names(list({event.task for event in scores})) and are_names(agents)


def _decode_with_reasons(decoded: Decoded, record: int, value: bytes, limit: int) -> None:
    """Decode one record with the slow reading: add its valid outcomes, and a refusal with its reason for each other one."""
    try:
        items = _items(value, limit)
    except UnreadableError as error:
        decoded.refusals.append(_refusal(record, error))
        return
    pool: str | None = None
    for item, (path, parsed, raw) in enumerate(items):
        event = _decode_item(parsed, raw)
        if event is None:
            broken = rules.broken_rule(parsed, raw, path) or rules.Broken(path, "must be an outcome of the wire schema")
            decoded.refusals.append(Refusal(record, item, Reason.BAD_FIELD, *broken))
        elif event.pool != (pool := pool or event.pool):
            rule = f"must be the pool of the array's first outcome ({pool})"
            decoded.refusals.append(Refusal(record, item, Reason.MIXED_POOLS, f"{path}.pool", rule))
        else:
            decoded.take(record, [event], [item])


def _decode_fast(body: bytes) -> Decoded | None:
    """Fast path: the outcomes of a request that is already a valid record, as most are. None if the request needs the slow path."""
    decoded = _flatten(_decode_typed([body], MAX_RECORD_BYTES), 0)
    return decoded if decoded is not None and _sound(decoded.events) else None


def _fits(size: int, events: Sequence[Event], latest: float) -> bool:
    """Whether each of `events`, decoded from a text of `size` bytes, certainly fits into a record, and none is later than `latest`."""
    return size * _GROWTH <= MAX_RECORD_BYTES and all(event.time <= latest for event in events)


def _refusal(record: int, error: UnreadableError) -> Refusal:
    return Refusal(record, -1, error.reason, error.path, error.rule)


def _text(value: bytes, limit: int) -> bytes:
    """JSON text of a record of at most `limit` bytes. For a stream, the JSON array of its rows. Raises `UnreadableError`."""
    if isinstance(value, ArchivedText):
        return bytes(value)
    if len(value) > limit:
        raise UnreadableError(Reason.TOO_LARGE, f"must be at most {limit} bytes, not {len(value)}")
    if not is_stream(value):
        return value
    from services.wire.bulk import stream, texts  # noqa: PLC0415 - loads pyarrow, which JSON does not need

    return texts.array(stream.read(value))


def _items(value: bytes, limit: int) -> list[tuple[str, Any, Raw]]:
    """Path, parsed value and JSON text of each outcome of a record. Raises `UnreadableError`."""
    text = _text(value, limit)
    if rules.too_deep(text):
        raise UnreadableError(Reason.TOO_DEEP, f"must not nest deeper than {rules.MAX_DEPTH}")
    try:
        parsed = rules.parse(text)
        if not isinstance(parsed, list):
            return [("$", parsed, Raw(text))]
    except rules.UnparsableError as error:
        raise UnreadableError(Reason.UNPARSABLE, str(error)) from error
    if (rule := rules.items_rule(parsed)) is not None:
        raise UnreadableError(Reason.BAD_FIELD, rule)
    return [(f"$[{i}]", *parsed_and_raw) for i, parsed_and_raw in enumerate(zip(parsed, _texts(text), strict=True))]


def _texts(value: bytes) -> list[Raw]:
    """JSON text of each item of an array."""
    try:
        return _items_decoder.decode(value)
    except msgspec.DecodeError:  # an item has half a surrogate pair; only this item must be refused
        return [Raw(text.encode()) for text in rules.item_texts(value.decode())]


def _decode_item(parsed: Any, raw: Raw) -> Event | None:
    event = _decode_typed([bytes(raw)], len(raw))[0] if isinstance(parsed, dict) else None
    return event if isinstance(event, Event) and _sound([event]) else None


def _fill_in(body: bytes, now: float, new_id: Callable[[], str]) -> bytes:
    """The request as a record in which every outcome has an id and a time. Raises `UnreadableError`."""
    try:
        text = _text(body, MAX_RECORD_BYTES)
        text.decode()  # values are not decoded below, and their bytes have other positions in the record
        if not is_array(text):
            return _encoder.encode(_with_id_and_time(Raw(text), now, new_id))
        items = _items_decoder.decode(text)
        if rules.items_rule(items) is None:  # otherwise too many or no items: no ids are made for them
            return _encoder.encode([_with_id_and_time(item, now, new_id) for item in items])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # the slow reading names the rule
    _items(body, MAX_RECORD_BYTES)
    raise UnreadableError(Reason.BAD_FIELD, "must hold whole Unicode characters, no half of a surrogate pair")


def _with_id_and_time(item: Raw, now: float, new_id: Callable[[], str]) -> Raw | dict[str, Any]:
    """Fields of an item of a request, with an id and a time. Their values stay JSON text. An item that is no object stays as it is."""
    if not bytes(item).lstrip().startswith(b"{"):
        return item
    fields: dict[str, Any] = _fields_decoder.decode(item)
    fields.setdefault("time", now)
    if "id" not in fields:
        fields["id"] = new_id()
    return fields


def _refuse_unsendable(decoded: Decoded, latest: float, *, single: bool) -> Decoded:
    """Copy of `decoded` in which outcomes later than `latest`, and outcomes too long for a record, are refused."""
    kept = Decoded(refusals=list(decoded.refusals))
    for event, item in zip(decoded.events, decoded.item, strict=True):
        path = "$" if single else f"$[{item}]"
        if event.time > latest:
            kept.refusals.append(Refusal(0, item, Reason.FUTURE_TIME, f"{path}.time", f"must be at most {latest:.3f}, shortly after now"))
        elif len(_encoder.encode(event)) > MAX_RECORD_BYTES:
            kept.refusals.append(Refusal(0, item, Reason.TOO_LARGE, path, f"must fit into {MAX_RECORD_BYTES} bytes"))
        else:
            kept.take(0, [event], [item])
    kept.refusals.sort(key=lambda refusal: refusal.item)
    return kept
