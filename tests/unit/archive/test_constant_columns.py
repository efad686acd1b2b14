"""Columns that folds take from statistics have the cells that reading them gives, and statistics that say otherwise are found."""

import json
from typing import Any

import pyarrow as pa
import pytest

from services.archive import reader
from services.archive.compaction import compact
from services.archive.reader import ArchiveDamagedError, open_reader
from services.archive.schema import SCHEMA, STEADY
from services.log.protocol import Record
from tests.support.archive import fill, mixed


def duel(number: int, more: dict[str, Any]) -> dict[str, Any]:
    sides = [{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}]
    return {"v": 1, "id": f"g{number}", "pool": "games", "time": number, "sides": sides, **more}


def score(number: int, more: dict[str, Any]) -> dict[str, Any]:
    return {"v": 1, "id": f"s{number}", "pool": "games", "time": number, "task": "t", "scores": {"a": number / 2}, **more}


def records(*outcomes: dict[str, Any]) -> list[Record]:
    return [Record(number, json.dumps(one).encode(), 1.7e9 + number) for number, one in enumerate(outcomes)]


LONG = "t" * 200
OUTCOMES = {
    "duels": records(*(duel(number, {}) for number in range(300))),
    "scores": records(*(score(number, {}) for number in range(300))),
    "long tasks that differ at the end": records(*(duel(number, {"task": f"{LONG}{number % 2}"}) for number in range(300))),
    "one long task": records(*(duel(number, {"task": LONG}) for number in range(300))),
    "one weight after another": records(*(duel(number, {"weight": 1.0 + number // 150}) for number in range(300))),
    "one of them with a task": records(*(duel(number, {"task": "t"} if number == 299 else {}) for number in range(300))),
    "every kind": mixed(3, 300),
}


def columns(url: str, *, coded: bool) -> pa.Table:
    read = [table.cast(SCHEMA) for table in open_reader(url, 0).read(coded=coded)]
    return pa.concat_tables(read).combine_chunks()


@pytest.mark.parametrize("content", OUTCOMES)
@pytest.mark.parametrize("merged", [False, True])
def test_columns_from_statistics_are_those_that_reading_gives(url: str, content: str, merged: bool) -> None:
    fill(url, OUTCOMES[content], 70)
    if merged:
        compact(url, 0, open_files=2)
    assert columns(url, coded=True).equals(columns(url, coded=False))


@pytest.mark.parametrize(("content", "least"), [("duels", set(STEADY)), ("scores", set(STEADY) - {"scores"})])
def test_columns_of_one_value_are_not_read(url: str, monkeypatch: pytest.MonkeyPatch, content: str, least: set[str]) -> None:
    fill(url, OUTCOMES[content], 70)
    found: list[set[str]] = []
    constants = reader.constants
    monkeypatch.setattr(reader, "constants", lambda *given: found.append(set(made := constants(*given))) or made)
    list(open_reader(url, 0).read(coded=True))
    assert found == [least]


@pytest.mark.parametrize("lie", [{"weight": 2.0}, {"pool": "other"}, {"task": "t"}, {"id": None}])
def test_statistics_that_differ_from_the_rows_are_found(url: str, monkeypatch: pytest.MonkeyPatch, lie: dict[str, Any]) -> None:
    fill(url, OUTCOMES["duels"], 70)
    monkeypatch.setattr(reader, "constants", lambda *_: lie)
    with pytest.raises(ArchiveDamagedError, match="statistics of segment 0"):
        columns(url, coded=False)
