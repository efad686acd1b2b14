"""No text holds whoever reads it: the time to decode, refuse or explain it grows as its size does."""

import io
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count, product
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from services.control import records
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.batch import Batch
from services.wire.bulk.recognition import STREAM_START
from services.wire.events import decode, decode_request, item_texts
from services.wire.plain import plain_games
from tests.support.hostile import JSON_FAMILIES, MOST_BYTES, fitting, growth
from tests.support.streams import stream


def request(body: bytes) -> None:
    numbers = count()
    decode_request(body, now=0.0, new_id=lambda: str(next(numbers)), future_seconds=300.0)


def poll(value: bytes) -> None:
    """What a shard does with a record before it folds: columns, events, refusals, and the text of each in a dead letter."""
    Batch(0, TopicRecords([Record(0, value, 0.0)])).refuse_undecodable()


def control(value: bytes) -> None:
    with suppress(msgspec.DecodeError):
        records.decode(value)


READERS: dict[str, Callable[[bytes], object]] = {
    "a record": lambda value: decode([value]),
    "a record's items": item_texts,
    "a shard's poll": poll,
    "a request": request,
    "a control record": control,
}


def columns(rows: int, agents: Any, **others: Any) -> bytes:
    """A stream of `rows` games, all with the list of `agents`, unless `others` says otherwise."""
    lists = {"agents": agents, "sides": pa.array(range(len(agents)), pa.int32()), "places": pa.array([1] * len(agents), pa.int8())}
    offsets = {name: pa.array(np.linspace(0, len(values), rows + 1, dtype=np.int32)) for name, values in lists.items()}
    games = {name: pa.ListArray.from_arrays(offsets[name], values) for name, values in lists.items()}
    ids, pools = pa.array([f"g{row}" for row in range(rows)]), pa.array(["p"] * rows).dictionary_encode()
    return stream(pa.table({"id": ids, "pool": pools, "time": pa.array(np.zeros(rows)), **games, **others}))


def batches(size: int) -> bytes:
    sink = io.BytesIO()
    batch = pa.record_batch({"id": ["g"]})
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        for _ in range(size // 200):
            writer.write_batch(batch)
    return sink.getvalue()


STREAM_FAMILIES: dict[str, Callable[[int], bytes]] = {
    "games": lambda size: columns(size // 60, pa.array(["a", "b"] * (size // 60))),
    "one game of many agents": lambda size: columns(1, pa.array([f"a{i}" for i in range(size // 20)])),
    "one agent again and again": lambda size: columns(1, pa.array(["a"] * (size // 8)).dictionary_encode()),
    "a long name": lambda size: columns(1, pa.array(["a" * size, "b"])),
    "a name that a dictionary repeats": lambda size: columns(
        1, pa.DictionaryArray.from_arrays(pa.array([0] * (size // 8), pa.int8()), pa.array(["n" * 100]))
    ),
    "quotes in meta": lambda size: columns(1, pa.array(["a", "b"]), meta=pa.array([b'"' + b'\\"' * (size // 2)])),
    "brackets in meta": lambda size: columns(1, pa.array(["a", "b"]), meta=pa.array([b"[" * size])),
    "digits in meta": lambda size: columns(1, pa.array(["a", "b"]), meta=pa.array([b"9" * size])),
    "columns that are none": lambda size: stream(pa.table({f"c{i}": ["x"] for i in range(size // 300)})),
    "one column again and again": lambda size: stream(pa.table([pa.array(["x"])] * (size // 300), ["id"] * (size // 300))),
    "rows of nothing": lambda size: stream(pa.table({"id": pa.nulls(size, pa.null())})),
    "record batches": batches,
    "a stream that is cut off": lambda size: columns(size // 60, pa.array(["a", "b"] * (size // 60)))[: -size // 2],
}


@pytest.mark.parametrize("reader", [name for name in READERS if name != "a control record"])
@pytest.mark.parametrize("family", STREAM_FAMILIES)
def test_reading_a_stream_takes_time_linear_in_its_bytes(family: str, reader: str) -> None:
    made = fitting(STREAM_FAMILIES[family])
    assert made(1 << 16).startswith(STREAM_START)
    why = growth(made, READERS[reader])
    assert why is None, f"{reader} of {family}: {why}"


NOT_DECODED = ["outcomes"]
TAKEN = [
    "digits of a fraction",
    "zeros of a fraction",
    "zeros of an exponent",
    "scores",
    "scores of one agent",
    *NOT_DECODED,
    "retractions",
]
"""Families that a poll reads as columns, and families of which it refuses nothing. Of all others it decodes the record, and cuts it into
its items to explain what is wrong: readers that do only this would repeat it.
"""


def test_a_poll_decodes_and_explains_all_other_texts() -> None:
    texts = {family: fitting(make)(1 << 16) for family, make in JSON_FAMILIES.items()}
    assert [family for family, text in texts.items() if not plain_games([text]).rest] == NOT_DECODED
    assert [family for family, text in texts.items() if not decode([text]).refusals] == TAKEN


PARTS = ("a record", "a record's items")


@pytest.mark.parametrize(
    ("reader", "family"),
    [
        *product([name for name in READERS if name not in PARTS], JSON_FAMILIES),
        *(("a record", family) for family in NOT_DECODED),
        *(("a record's items", family) for family in TAKEN),
    ],
)
def test_reading_takes_time_linear_in_the_text(reader: str, family: str) -> None:
    why = growth(fitting(JSON_FAMILIES[family]), READERS[reader])
    assert why is None, f"{reader} of {family}: {why}"


def test_the_measure_finds_a_quadratic_reader() -> None:
    def quadratic(data: bytes) -> None:
        until = time.thread_time() + 0.2 * (len(data) / MOST_BYTES) ** 2
        while time.thread_time() < until:
            pass

    assert growth(bytes, quadratic) is not None
