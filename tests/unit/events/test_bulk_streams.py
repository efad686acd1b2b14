"""Schema v1c: a stream means the JSON array of its rows, whatever is wrong with them; and what no stream may ask for."""

import json
import random
import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from ratings_core.arrays.arena import pack
from ratings_core.arrays.hashing import hash128
from ratings_core.columns.outcomes import NOT_USED
from services.wire import events
from services.wire.bulk.layout import MAX_BATCHES, MAX_TEXT_BYTES
from services.wire.bulk.stream import read
from services.wire.events import ArchivedText, Decoded, GameEvent, RetractEvent, ScoreEvent, Side
from services.wire.plain import plain_games
from services.wire.refusals import Reason, UnreadableError
from services.wire.rules import MAX_ITEMS, MAX_RECORD_BYTES
from tests.support.plain import assert_the_decoder_agrees
from tests.support.streams import TYPES, packed, row, stream, table

GAME = GameEvent(v=1, id="g", pool="p", time=-0.0, sides=[Side(["a", "b"], 1), Side(["c"], 3)], task="t", weight=0.5)
DUEL = GameEvent(v=1, id="d", pool="p", time=1.5, sides=[Side(["a"], 1), Side(["é"], 1)])
SCORES = ScoreEvent(v=1, id="s", pool="p", time=2.0, task="t", scores={"a": 1.0, "b": -2.5})
RETRACTION = RetractEvent(v=1, id="r", pool="p", time=3.0, retracts="g")
EVENTS = [GAME, DUEL, SCORES, RETRACTION]

NAMES = st.sampled_from(["a", "b", "c", "Curaçao", "e e", "x" * 256, 'q"\\'])
Both: TypeAlias = tuple[list[dict[str, Any]], list[dict[str, Any]]]
TAGS = st.just(UNSET) | st.dictionaries(st.sampled_from(["map", "k"]), st.sampled_from(["a", "Ελληνικά", 'q"']))
WRONG: Mapping[str, st.SearchStrategy[Any]] = {
    "id": st.sampled_from(["", " x", "x" * 257, "a\u0301", None]),
    "pool": st.sampled_from(["P", "q", None]),
    "time": st.sampled_from([1e12, None]),
    "weight": st.sampled_from([0.0, 1e4]),
    "task": st.sampled_from(["", "t "]),
    "retracts": st.sampled_from(["", "x"]),
    "tags": st.sampled_from(['{"b": "x", "a":"y"}', "{}", "null", "[]", '{"A":"b"}', '{"a":""}', '{"a":"\\ud800"}', '{"a":"b","a":"c"}']),
    "meta": st.sampled_from([b'{"a":[1,null]}', b'"' + b"m" * 5000 + b'"', b"[" * 40 + b"]" * 40, b'"\\ud800"', b"1e999"]),
}


@st.composite
def game(draw: st.DrawFn) -> GameEvent:
    agents = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    cuts = sorted(draw(st.sets(st.integers(1, len(agents) - 1), min_size=1)))
    sides = [Side(agents[a:b], draw(st.integers(-3, 3))) for a, b in zip([0, *cuts], [*cuts, len(agents)], strict=True)]
    time, weight = draw(st.floats(-1e11, 1e11)), draw(st.sampled_from([1.0, 0.001, 3.25]))
    return GameEvent(v=1, id=draw(NAMES), pool="p", time=time, sides=sides, task=draw(st.none() | NAMES), weight=weight, tags=draw(TAGS))


@st.composite
def score(draw: st.DrawFn) -> ScoreEvent:
    scores = draw(st.dictionaries(NAMES, st.floats(-1e15, 1e15), min_size=1, max_size=4))
    return ScoreEvent(v=1, id=draw(NAMES), pool="p", time=draw(st.floats(-1e11, 1e11)), task=draw(NAMES), scores=scores, tags=draw(TAGS))


@st.composite
def items(draw: st.DrawFn) -> Both:
    """Outcomes as JSON and as rows, some of them broken in the same way."""
    found = draw(st.lists(game() | score() | st.just(RETRACTION), min_size=1, max_size=6))
    objects = [json.loads(events.encode([event])) for event in found]
    rows = [row(event) for event in found]
    for item, cells in zip(objects, rows, strict=True):
        if draw(st.integers(0, 3)) == 0:
            _break(draw, item, cells)
    return objects, rows


def _break(draw: st.DrawFn, item: dict[str, Any], cells: dict[str, Any]) -> None:
    field = draw(st.sampled_from([*WRONG, "agents", "places", "scores"]))
    if field in WRONG:
        value = draw(WRONG[field])
        cells[field], cells["kind"] = value, None
        item.pop(field, None)
        if value is not None:
            item[field] = value
    elif "sides" in item:
        first, size = item["sides"][0], cells["sides"].count(0)
        if field == "agents":
            first["agents"] = [None, *first["agents"][1:]]
            cells["agents"] = [None, *cells["agents"][1:]]
        else:
            first["place"] = None
            cells["places"] = [None] * size + cells["places"][size:]
    elif "scores" in item:
        agent = next(iter(item["scores"]))
        item["scores"][agent] = 1e16
        cells["scores"] = [1e16, *cells["scores"][1:]]


def _json(objects: list[dict[str, Any]]) -> bytes:
    """The array, with `meta` and broken tags as they were written."""
    texts = []
    for item in objects:
        meta, tags = item.pop("meta", None), item.get("tags")
        if isinstance(tags, str):
            del item["tags"]
        text = json.dumps(item, ensure_ascii=False).encode()
        text = text[:-1] + b',"tags":' + tags.encode() + b"}" if isinstance(tags, str) else text
        texts.append(text if meta is None else text[:-1] + b',"meta":' + meta + b"}")
    return b"[" + b",".join(texts) + b"]"


@given(items(), st.none() | st.integers(1, 3))
def test_rows_are_taken_and_refused_as_items_of_an_array_are(both: Both, cut: int | None) -> None:
    objects, rows = both
    assert events.decode([stream(table(rows), cut)]) == events.decode([_json(objects)])


@given(st.lists(st.lists(game(), min_size=1, max_size=4), min_size=1, max_size=5), st.data())
def test_streams_of_sound_games_are_read_as_the_columns_that_the_decoder_gives(groups: list[list[GameEvent]], data: st.DataObject) -> None:
    groups = [[msgspec.structs.replace(one, time=one.time + 0.0) for one in group] for group in groups]  # -0.0 is left to the decoder
    values = [packed(group) if data.draw(st.booleans()) else events.encode(group) for group in groups]
    found = plain_games(values)
    assert found.rest == []
    assert_the_decoder_agrees(values, found)


@given(items())
def test_what_is_read_as_columns_is_what_the_decoder_takes(both: Both) -> None:
    values = [packed([DUEL]), stream(table(both[1])), events.encode([GAME])]
    assert_the_decoder_agrees(values, plain_games(values))


def _with_names(codes: list[int], names: list[str]) -> bytes:
    """A game whose agents are `codes` of a dictionary, one a side."""
    agents = pa.ListArray.from_arrays(
        pa.array([0, len(codes)], pa.int32()), pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(names))
    )
    game = msgspec.structs.replace(DUEL, sides=[Side([f"agent {i}"], i + 1) for i in range(len(codes))])
    columns = table([row(game)])
    return stream(columns.set_column(columns.column_names.index("agents"), "agents", agents))


@pytest.mark.parametrize(
    ("codes", "names", "reason"), [([0, 1], ["a", "a"], Reason.BAD_FIELD), ([2, 1], ["a", "b", "a"], None), ([0, 1], ["a", "b", "a"], None)]
)
def test_a_dictionary_may_hold_a_text_twice_and_no_agent_plays_a_game_twice(
    codes: list[int], names: list[str], reason: Reason | None
) -> None:
    values = [_with_names(codes, names)]
    assert_the_decoder_agrees(values, plain_games(values))
    assert [refused.reason for refused in events.decode(values).refusals] == ([] if reason is None else [reason])


@pytest.mark.parametrize("agents", [2, 8, 9, 64])
@pytest.mark.parametrize("twice", [None, "code", "text"])
def test_no_agent_plays_a_game_of_few_or_of_many_twice(agents: int, twice: str | None) -> None:
    codes, names = list(range(agents)), [f"agent {i}" for i in range(agents)]
    if twice == "code":
        codes[-1] = 0
    if twice == "text":
        names[-1] = names[0]
    values = [_with_names(codes, names)]
    found = plain_games(values)
    assert (len(found.rest) == 0) is (twice is None)
    assert_the_decoder_agrees(values, found)
    assert [refused.reason for refused in events.decode(values).refusals] == ([] if twice is None else [Reason.BAD_FIELD])


HASHED_TO_0 = "J%l7{0%y]:yw%+Iw"
"""Found by turning the hash backwards: `name_hashes` gives 0 for it, which also stands for a text that no name has."""


def test_a_name_whose_hash_is_0_cannot_play_against_itself() -> None:
    arena = pack([HASHED_TO_0])
    assert hash128(arena.bytes, arena.start)[0, 0] == NOT_USED
    values = [_with_names([0, 1], [HASHED_TO_0, HASHED_TO_0])]
    assert_the_decoder_agrees(values, plain_games(values))
    assert [refused.reason for refused in events.decode(values).refusals] == [Reason.BAD_FIELD]


@pytest.mark.parametrize("codes", [[0, 0], [1, 1], [0, 1]], ids=["all null", "none null", "one null"])
@pytest.mark.parametrize("name", ["id", "pool", "kind", "task"])
def test_a_null_in_a_dictionary_is_a_null_of_its_rows(name: str, codes: list[int]) -> None:
    """Arrow's `null_count` of a column does not count it."""
    columns = table([row(DUEL) | {"task": "t"}] * 2)
    text = columns[name][0].as_py()
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array([None, text]))
    value = stream(columns.set_column(columns.column_names.index(name), name, coded))
    rows = [row(DUEL) | {"task": "t", name: [None, text][code]} for code in codes]
    assert events.decode([value]) == events.decode([stream(table(rows, TYPES))])
    assert_the_decoder_agrees([value], plain_games([value]))


def test_a_measurement_names_each_agent_once() -> None:
    twice = row(SCORES) | {"agents": ["a", "b", "a"], "scores": [1.0, 2.0, 3.0]}
    found = events.decode([stream(table([twice, row(SCORES)]))])
    assert found.events == [SCORES]
    assert [(one.item, one.reason, one.path) for one in found.refusals] == [(0, Reason.BAD_FIELD, "$[0].agents")]


def test_texts_that_a_stream_does_not_use_may_be_equal() -> None:
    found = plain_games([_with_names([0, 1], ["a", "b", "x", "x"])])
    assert found.rest == []
    assert_the_decoder_agrees([_with_names([0, 1], ["a", "b", "x", "x"])], found)


def test_every_kind_of_outcome_comes_back() -> None:
    found = events.decode([events.encode(EVENTS), packed(EVENTS), events.encode([DUEL])])
    assert found == Decoded([*EVENTS, *EVENTS, DUEL], [0] * 4 + [1] * 4 + [2], [0, 1, 2, 3, 0, 1, 2, 3, 0])
    assert list(events.item_texts(packed(EVENTS))) == [events.encode([event]) for event in EVENTS]


PLAIN_TYPES = TYPES | {
    "id": pa.large_string(),
    "pool": pa.large_string(),
    "time": pa.int64(),
    "kind": pa.string(),
    "weight": pa.float32(),
    "task": pa.null(),
    "agents": pa.large_list(pa.large_string()),
    "sides": pa.list_(pa.int64()),
    "places": pa.large_list(pa.uint8()),
    "meta": pa.string(),
}


def test_other_types_of_the_same_values_mean_the_same() -> None:
    rows = [row(DUEL) | {"time": 5, "weight": 0.5, "task": None}, row(DUEL) | {"time": 7, "meta": None}]
    values = [stream(table(rows, PLAIN_TYPES))]
    found = events.decode(values)
    assert [(event.time, event.weight, event.id) for event in found.events if isinstance(event, GameEvent)] == [(5, 0.5, "d"), (7, 1, "d")]
    assert_the_decoder_agrees(values, plain_games(values))
    assert plain_games(values).rest == []


LISTS = {
    "sides that begin at 1": {"sides": [1, 2]},
    "sides that go back": {"agents": ["a", "b", "c"], "sides": [0, 1, 0], "places": [1, 2, 1]},
    "sides that leave one out": {"sides": [0, 2]},
    "a side with two places": {"sides": [0, 0]},
    "a list that is shorter": {"places": [1]},
    "no places": {"places": None},
    "sides and scores": {"scores": [1.0, 2.0]},
    "no agents": {"agents": [], "sides": [], "places": []},
    "a kind that is not the row's": {"kind": "scores"},
    "meta that is no JSON": {"meta": b"{},"},
    "meta that opens more than it closes": {"meta": b'{"a":1}},{"v":1'},
    "meta of nothing": {"meta": b""},
    "meta that nests too deep": {"meta": b"[" * 900 + b"]" * 900},
}


@pytest.mark.parametrize("cells", LISTS.values(), ids=LISTS)
def test_what_no_json_can_say_refuses_its_row_alone(cells: dict[str, Any]) -> None:
    bad = row(DUEL) | {"places": [1, 2]} | cells
    value = stream(table([row(DUEL), bad, row(GAME)]))
    found = events.decode([value])
    assert (found.events, found.item) == ([DUEL, GAME], [0, 2])
    assert [(one.item, one.reason, one.path[:4]) for one in found.refusals] == [(1, Reason.BAD_FIELD, "$[1]")]
    text = events.item_texts(value)[1]
    assert len(events.decode([text]).refusals) == 1, "its text is refused as well: the archive keeps it, and dead letters send it"
    assert plain_games([value]).rest == [0]


def _compressed_bomb() -> bytes:
    """A stream whose only buffer says that it unpacks to 2**60 bytes."""
    value = stream(table([row(DUEL)] * 100), compression="lz4")
    at = value.index(struct.pack("<q", 100 * 8))  # the length of the times, before their bytes
    return value[:at] + struct.pack("<q", 1 << 60) + value[at + 8 :]


def _deltas() -> bytes:
    code = pa.array([0], pa.int8())
    first, second = (pa.table({"pool": pa.DictionaryArray.from_arrays(code, pa.array(names))}) for names in (["p"], ["p", "q"]))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, first.schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
        writer.write_table(first)
        writer.write_table(second)
    return sink.getvalue().to_pybytes()


def _tensor() -> bytes:
    sink = pa.BufferOutputStream()
    pa.ipc.write_tensor(pa.Tensor.from_numpy(np.zeros(3)), sink)
    return bytes(sink.getvalue().to_pybytes()) + b"\xff\xff\xff\xff\0\0\0\0"


def _amplified() -> bytes:
    """A name of 200 bytes in a dictionary, for one byte an agent."""
    names = pa.DictionaryArray.from_arrays(pa.array([0] * 30_000, pa.int8()), pa.array(["n" * 200]))
    offsets = pa.array([0, 30_000], pa.int32())
    return stream(table([row(DUEL)]).drop_columns("agents").append_column("agents", pa.ListArray.from_arrays(offsets, names)))


def _cut(columns: Mapping[str, Any]) -> bytes:
    return stream(pa.table(columns))


WHOLE = stream(table([row(DUEL)] * 3))
MANY = {"id": pa.array(["d"] * (MAX_ITEMS + 1)).dictionary_encode()}
UNPARSABLE: Mapping[str, tuple[bytes, str]] = {
    "compressed buffers": (stream(table([row(DUEL)]), compression="zstd"), "must not compress"),
    "a length that would take all memory": (_compressed_bomb(), "must not compress"),
    "a dictionary in parts": (_deltas(), "must send each dictionary once"),
    "too many batches": (packed([DUEL] * (MAX_BATCHES + 1), 1), "at most 64 record batches, not 65"),
    "no end": (WHOLE[:-8], "end-of-stream marker"),
    "more after the end": (WHOLE + b"{}", "end-of-stream marker"),
    "half of it": (WHOLE[: len(WHOLE) // 2], "whole Arrow IPC stream"),
    "nothing after its first bytes": (WHOLE[:4], "whole Arrow IPC stream"),
    "a tensor": (_tensor(), "must hold a schema, dictionaries and record batches only, not a tensor"),
    "bytes that are no UTF-8": (WHOLE.replace("é".encode(), b"\xc3\x28"), "UTF8"),
}
COLUMNS: Mapping[str, tuple[bytes, str, str]] = {
    "an unknown column": (_cut({"agent": ["a"]}), "$.agent", "is no column of an outcome; the columns are id,"),
    "a column twice": (stream(pa.table([pa.array(["a"])] * 2, ["id", "id"])), "$.id", "one column, not several"),
    "a type that is no text": (_cut({"id": [1]}), "$.id", "must be text: string, large_string"),
    "a time stamp": (_cut({"time": pa.array([0], pa.timestamp("s"))}), "$.time", "seconds since 1970), not timestamp[s]"),
    "places that are no whole numbers": (_cut({"places": [[1.0]]}), "$.places", "whole numbers"),
    "no lists": (_cut({"agents": ["a"]}), "$.agents", "must be lists"),
    "lists of lists": (_cut({"sides": [[[0]]]}), "$.sides", "must be lists"),
    "a dictionary of numbers": (_cut({"id": pa.array([7]).dictionary_encode()}), "$.id", "must be text"),
    "too many rows": (_cut(MANY), "$", f"at most {MAX_ITEMS} outcomes, not {MAX_ITEMS + 1}"),
    "no row": (stream(table([row(DUEL)]).slice(0, 0)), "$", "at least one outcome"),
}
TOO_LARGE: Mapping[str, tuple[bytes, str]] = {
    "texts written out": (_amplified(), f"at most {MAX_TEXT_BYTES} bytes of text, not 6000"),
    "too many bytes": (packed([DUEL] * 20_000), "must be at most 1048576 bytes"),
}
REFUSED: Mapping[str, tuple[bytes, Reason, str, str]] = {
    **{name: (value, Reason.UNPARSABLE, "$", rule) for name, (value, rule) in UNPARSABLE.items()},
    **{name: (value, Reason.BAD_FIELD, path, rule) for name, (value, path, rule) in COLUMNS.items()},
    **{name: (value, Reason.TOO_LARGE, "$", rule) for name, (value, rule) in TOO_LARGE.items()},
}


@pytest.mark.parametrize(("value", "reason", "path", "rule"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_stream_of_outcomes_is_refused_as_a_whole(value: bytes, reason: Reason, path: str, rule: str) -> None:
    found = events.decode([packed([DUEL]), value, packed([GAME])])
    assert (found.events, found.record) == ([DUEL, GAME], [0, 2])
    [refusal] = found.refusals
    assert (refusal.record, refusal.item, refusal.reason, refusal.path) == (1, -1, reason, path)
    assert rule in refusal.rule
    assert plain_games([value]).rest == [0]
    assert len(value) > MAX_RECORD_BYTES or list(events.item_texts(value)) == [value]


def test_a_row_without_required_columns_says_which() -> None:
    found = events.decode([stream(table([{"id": "x"}]))])
    assert [(one.item, one.path, one.rule[:30]) for one in found.refusals] == [(0, "$[0]", "must have exactly one of sides")]


def test_damaged_bytes_are_taken_or_refused_and_the_two_readings_agree() -> None:
    """Seeded; each stream is damaged at a few places."""
    rng = random.Random(5)
    sound = [packed([GAME, DUEL] * 3), packed(EVENTS), stream(table([row(DUEL)] * 9, PLAIN_TYPES | {"time": pa.float64()}))]
    taken = 0
    for _ in range(800):
        value = bytearray(rng.choice(sound))
        for _ in range(rng.randrange(1, 4)):
            value[rng.randrange(4, len(value))] = rng.choice([0, 1, 2, 4, 8, 127, 128, 255, rng.randrange(256)])
        values = [bytes(value)]
        taken += bool(events.decode(values).events)
        assert_the_decoder_agrees(values, plain_games(values))
    assert taken > 50


def test_what_the_archive_gives_back_is_not_limited_in_length_again() -> None:
    text = b"[" + b",".join([events.encode([DUEL])] * 20_000) + b"]"
    assert [one.reason for one in events.decode([text]).refusals] == [Reason.TOO_LARGE]
    assert len(events.decode([events.encode([GAME]), ArchivedText(text), packed([DUEL])]).events) == 20_002
    assert plain_games([ArchivedText(text)]).rest == [0]


def test_a_stream_error_says_where() -> None:
    with pytest.raises(UnreadableError, match=r"^\$\.agent is no column of an outcome"):
        read(stream(pa.table({"agent": ["a"]})))
