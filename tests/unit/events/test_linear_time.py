"""No text holds whoever reads it: the time to decode, refuse or explain it grows as its size does."""

from collections.abc import Callable
from contextlib import suppress
from itertools import count

import msgspec
import pytest

from services.control import records
from services.log.protocol import Record
from services.shard.batch import Batch
from services.wire import rules
from services.wire.events import decode, decode_request, item_texts
from tests.support.hostile import JSON_FAMILIES, fitting, growth


def request(body: bytes) -> None:
    numbers = count()
    decode_request(body, now=0.0, new_id=lambda: str(next(numbers)), future_seconds=300.0)


def poll(value: bytes) -> None:
    """What a shard does with a record before it folds: columns, events, refusals, and the text of each in a dead letter."""
    Batch(0, [Record(0, value, 0.0)]).refuse_unread()


def control(value: bytes) -> None:
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        records.decode(value)


READERS: dict[str, Callable[[bytes], object]] = {
    "a record": lambda value: decode([value]),
    "a record's items": item_texts,
    "a shard's poll": poll,
    "a request": request,
    "a control record": control,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("family", JSON_FAMILIES)
def test_reading_takes_time_linear_in_the_text(family: str, reader: str) -> None:
    why = growth(fitting(JSON_FAMILIES[family]), READERS[reader])
    assert why is None, f"{reader} of {family}: {why}"


def test_the_measure_finds_a_quadratic_reader() -> None:
    def quadratic(data: bytes) -> int:
        return sum(data.count(b"a") for _ in range(len(data) // 64))

    assert growth(lambda size: b"a" * size, quadratic) is not None


@pytest.mark.parametrize("items", [rules.MAX_ITEMS + 1, 349_000])
def test_no_id_is_made_for_items_that_are_too_many(items: int) -> None:
    made = count()
    found = decode_request(b"[" + b",".join([b"{}"] * items) + b"]", now=0.0, new_id=lambda: str(next(made)), future_seconds=1.0)
    assert [one.rule for one in found.refusals] == [f"must hold at most {rules.MAX_ITEMS} outcomes, not {items}"]
    assert next(made) == 0
