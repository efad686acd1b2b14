"""Requests of the API: as records, but ids and times are filled in and the future is refused."""

import json
from itertools import count
from typing import Any

import pytest

from services.wire import events, rules
from services.wire.events import Decoded
from services.wire.refusals import Reason

NOW = 1_764_547_200.0
BARE: dict[str, Any] = {"v": 1, "pool": "blitz", "sides": [{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}]}


def request(body: Any, future: float = 300.0) -> Decoded:
    numbers = count()
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return events.decode_request(raw, now=NOW, new_id=lambda: f"new-{next(numbers)}", future_seconds=future)


def test_ids_and_times_are_filled_in_where_they_lack() -> None:
    found = request([BARE, {**BARE, "id": "mine", "time": 5}, BARE])
    assert [(event.id, event.time) for event in found.events] == [("new-0", NOW), ("mine", 5.0), ("new-1", NOW)]


def test_a_null_id_is_not_filled_in() -> None:
    assert [one.path for one in request({**BARE, "id": None}).refusals] == ["$.id"]


def test_the_future_is_refused_beyond_the_given_seconds() -> None:
    assert request({**BARE, "time": NOW + 300}).refusals == []
    found = request([BARE, {**BARE, "time": NOW + 301}, 7])
    assert found.item == [0]
    assert [(one.item, one.reason, one.path) for one in found.refusals] == [
        (1, Reason.FUTURE_TIME, "$[1].time"),
        (2, Reason.BAD_FIELD, "$[2]"),
    ]
    assert [one.path for one in request({**BARE, "time": NOW + 301}).refusals] == ["$.time"]


def test_whole_bodies_that_cannot_be_read() -> None:
    cases = {b"{": Reason.UNPARSABLE, b"[]": Reason.BAD_FIELD, b" " * (1 << 21): Reason.TOO_LARGE, b"[" * 200: Reason.TOO_DEEP}
    cases |= {b"[" * 70 + b"]" * 70: Reason.TOO_DEEP, b'{"v":"\\ud800"}': Reason.BAD_FIELD}
    for body, reason in cases.items():
        found = request(body)
        assert [(one.item, one.reason) for one in found.refusals] == [(-1, reason)], body[:20]
        assert found.events == []


@pytest.mark.parametrize("before", [b'{ "v" : 1, "task" : "', b'[ {"v": 1, "pool": "blitz"}, { "v" : 1, "task" : "'])
def test_a_byte_that_is_not_utf8_is_counted_in_the_body_of_the_sender(before: bytes) -> None:
    found = request(before + b"\xff" + (b'"} ]' if before.startswith(b"[") else b'"}'))
    assert [(one.item, one.reason, one.rule) for one in found.refusals] == [
        (-1, Reason.UNPARSABLE, f"must be UTF-8 (byte {len(before)} is not)")
    ]


def test_a_number_that_no_double_holds_is_refused_alone() -> None:
    body = json.dumps([BARE, {**BARE, "weight": "HUGE"}, BARE]).replace('"HUGE"', "1e999").encode()
    found = request(body)
    assert found.item == [0, 2]
    assert [(one.item, one.reason, one.path) for one in found.refusals] == [(1, Reason.BAD_FIELD, "$[1].weight")]


def test_what_is_taken_fits_a_record() -> None:
    scores = {f"{k:0200}": 1e15 for k in range(4900)}  # numbers grow when they are written again
    body = json.dumps({"v": 1, "pool": "p", "task": "t", "scores": scores}, separators=(",", ":")).replace("1000000000000000.0", "1e15")
    assert len(body) <= 1 << 20
    found = request(body.encode())
    assert [one.reason for one in found.refusals] == [Reason.TOO_LARGE]
    many = request(json.dumps([BARE] * 7000, separators=(",", ":")).encode())
    assert len(many.events) == 7000
    assert max(map(len, events.encode_records(many.events))) <= 1 << 20


def test_an_outcome_that_no_record_holds_with_its_numbers_as_doubles_is_refused_alone() -> None:
    whole = {"v": 1, "pool": "blitz", "task": "t", "scores": {f"{number:x}": 1 for number in range(95_000)}}
    small = {**whole, "scores": {"a": 1}}
    body = json.dumps([small, whole, small], separators=(",", ":")).encode()
    assert len(body) < 900_000
    found = request(body)
    assert found.item == [0, 2]
    assert [(one.item, one.reason, one.path) for one in found.refusals] == [(1, Reason.TOO_LARGE, "$[1]")]


METAS = (b"1e999", b'{"a":1e999}', b'{"a":1,"a":2}', rb'"\ud800"', b'{ "a" : 1.0e3 }', b"[" * 40 + b"]" * 40, b"[nan]", b'"\x01"', b"null")


@pytest.mark.parametrize("meta", METAS)
def test_a_request_with_ids_and_times_is_taken_as_the_record_that_it_is(meta: bytes) -> None:
    whole = json.dumps({**BARE, "id": "mine", "time": 5}).encode()[:-1] + b',"meta":' + meta + b"}"
    found, record = request(whole), events.decode([whole])
    assert found.events == record.events
    assert bool(found.refusals) is bool(record.refusals)
    filled = request(whole.replace(b'"id": "mine", ', b""))
    assert len(filled.events) == len(found.events)


@pytest.mark.parametrize("items", [rules.MAX_ITEMS + 1, 349_000])
def test_no_id_is_made_for_items_that_are_too_many(items: int) -> None:
    made = count()
    found = events.decode_request(b"[" + b",".join([b"{}"] * items) + b"]", now=0.0, new_id=lambda: str(next(made)), future_seconds=1.0)
    assert [one.rule for one in found.refusals] == [f"must hold at most {rules.MAX_ITEMS} outcomes, not {items}"]
    assert next(made) == 0
