"""Exported files are read back as the outcomes that the log held, each checked by the rules of the wire schema."""

import csv
import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratings_core.formats.errors import FormatError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.reading import FileReading
from ratings_core.formats.source import FileSource
from services.admin.export import COLUMNS
from services.admin.export_formats import Format, encoded
from services.archive.encode import rows
from services.archive.schema import fields
from services.log.protocol import Record
from services.wire import events
from tests.support.archive import mixed
from tests.support.files import outcomes_of

GAME: dict[str, Any] = {
    "offset": 1, "item": 0, "logged": 0, "kind": "game", "pool": "p", "id": "a", "time": 1.0, "weight": 1.0, "task": None,
    "agents": ["x", "y"], "sides": [0, 1], "places": [1, 2], "scores": None, "retracts": None, "meta": None, "tags": None,
}  # fmt: skip


SIDES = [{"agents": ['a "quoted", name', "null"], "place": -(2**31)}, {"agents": ["Åse", "[1]"], "place": 7}]
AWKWARD = [
    json.dumps({"v": 1, "id": "1,5", "pool": "games", "time": 0.1 + 0.2, "sides": SIDES, "task": "null", "weight": 0.001}).encode(),
    json.dumps({"v": 1, "id": '"', "pool": "games", "time": -1e-300, "sides": SIDES, "weight": 1000 / 3}).encode()[:-1]
    + b', "meta":{"a" :\r\n [1,\r"b\\u00e4,"\xc3\xa4"]}}',
    json.dumps({"v": 1, "id": "=1", "pool": "games", "time": 1e11, "retracts": "1,5", "meta": None}).encode(),
    json.dumps({"v": 1, "id": "s", "pool": "scores", "time": 5e-324, "task": ";", "scores": {"a": 5e-324, '"': -1e15, "é": 1}}).encode(),
]
"""Texts that a table could take apart, and numbers with all their digits."""


def exported(path: Path, found: pa.Table) -> Path:
    parts = encoded(iter([(found.slice(0, 7), 0), (found.slice(7), 0)]), Format(path.suffix[1:]), COLUMNS)
    path.write_bytes(b"".join(part.data for part in parts))
    return path


def written(path: Path, *found: dict[str, Any]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(found), fields(COLUMNS)), path)
    return path


def meaning(event: events.Event) -> dict[str, Any]:
    return {"weight": 1.0, **json.loads(events.encode([event]))}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_an_export_of_a_release_without_tags_is_read(tmp_path: Path, ending: str) -> None:
    sent = [Record(i, value, 1.7e9) for i, value in enumerate(AWKWARD)]
    columns = [name for name in COLUMNS if name != "tags"]
    parts = encoded(iter([(rows(sent), 0)]), Format(ending), columns)
    (path := tmp_path / f"games.{ending}").write_bytes(b"".join(part.data for part in parts))
    assert [event.id for event in outcomes_of(path, "games").events] == ["1,5", "=1"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pool", ["games", "scores"])
@pytest.mark.parametrize("form", [Format.PARQUET, Format.CSV])
def test_a_row_of_any_kind_is_the_outcome_that_was_sent(tmp_path: Path, pool: str, seed: int, form: Format) -> None:
    records = mixed(seed, 400) + [Record(10**6 + at, value, 0.0) for at, value in enumerate(AWKWARD)]
    table = rows(records)
    own = [name == pool for name in table["pool"].to_pylist()]
    path = exported(tmp_path / f"export.{form}", table.filter(pa.array(own)))
    found = outcomes_of(path, pool)
    sent = [event for event in events.decode([record.value for record in records]).events if event.pool == pool]
    assert {type(event) for event in sent} == {type(event) for event in found.events}
    assert list(map(meaning, found.events)) == list(map(meaning, sent))
    assert found.counts.bad == 0


CELLS = [
    ("time", "soon", "column 'time' must be a number"),
    ("time", "nan", "column 'time' must be a finite number"),
    ("weight", "1_0", "column 'weight' must be a finite number"),
    ("agents", "xy", "column 'agents' must be a list in JSON"),
    ("agents", '"xy"', r"must be a list in JSON \(Expected `array`, got `str`\)"),
    ("agents", "[1,2]", "must be a list in JSON"),
    ("sides", "[false,true]", "must be a list in JSON"),
    ("places", "[1,null]", "must be a list in JSON"),
    ("scores", "[[1]]", "must be a list in JSON"),
]


@pytest.mark.parametrize(("column", "cell", "rule"), CELLS)
def test_a_cell_that_is_no_value_of_its_column_refuses_the_file(tmp_path: Path, column: str, cell: str, rule: str) -> None:
    with exported(tmp_path / "e.csv", pa.Table.from_pylist([GAME], fields(COLUMNS))).open(newline="") as lines:
        header, row = csv.reader(lines)
    row[header.index(column)] = cell
    with (tmp_path / "e.csv").open("w", newline="") as lines:
        csv.writer(lines).writerows([header, row])
    with pytest.raises(FormatError, match=rule):
        outcomes_of(tmp_path / "e.csv", "p")


def test_a_row_of_a_table_that_is_no_outcome_is_refused_alone(tmp_path: Path) -> None:
    three = [GAME, GAME | {"id": "b", "agents": ["x", "x"]}, GAME | {"id": "c"}]
    found = outcomes_of(exported(tmp_path / "e.csv", pa.Table.from_pylist(three, fields(COLUMNS))), "p")
    assert [event.id for event in found.events] == ["a", "c"]
    assert [(one.row, one.column) for one in found.counts.first] == [(3, "$.sides[1].agents[0]")]


def test_a_table_without_all_columns_of_an_outcome_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text('"id","pool","kind","time"\n"a","p","game",1\n')
    with pytest.raises(FormatError, match="column 'weight' must be a column of the header"):
        outcomes_of(tmp_path / "e.csv", "p")


def test_an_export_is_told_from_battles_by_its_columns(tmp_path: Path) -> None:
    battles = pa.table({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    pq.write_table(battles, tmp_path / "battles.parquet")
    for name, kind in (("battles.parquet", FileKind.GAMES), (written(tmp_path / "e.parquet", GAME).name, FileKind.OUTCOMES)):
        with FileSource(tmp_path / name) as source:
            assert FileReading(source).kind is kind


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"kind": "unread"}, "$"),
        ({"time": float("nan")}, "$"),
        ({"time": None}, None),
        ({"agents": ["x"]}, "$"),
        ({"places": [1]}, "$"),
        ({"agents": ["x", "y", "z"], "sides": [0, 0, 1], "places": [1, 2, 2]}, "$"),
        ({"agents": ["x", "x"]}, "$.sides"),
        ({"weight": -1.0}, "$.weight"),
        ({"meta": b"{"}, "$"),
        ({"pool": "other"}, "$.pool"),
        ({"kind": "scores", "task": "t", "agents": ["x", "x"], "scores": [1.0, 2.0]}, "$"),
        ({"kind": "retraction"}, "$"),
    ],
)
def test_a_row_that_is_no_outcome_is_refused_alone(tmp_path: Path, change: dict[str, Any], path: str | None) -> None:
    found = outcomes_of(written(tmp_path / "e.parquet", GAME, GAME | {"id": "b"} | change, GAME | {"id": "c"}), "p")
    if path is None:  # without a time an outcome has that of the replay, as in JSON
        assert (found.events[1].id, found.events[1].time) == ("b", 0.0)
        return
    assert [event.id for event in found.events] == ["a", "c"]
    assert [(one.row, str(one.column).startswith(path)) for one in found.counts.first] == [(2, True)]


def test_a_file_without_all_columns_of_an_outcome_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([GAME], fields(COLUMNS)).drop_columns(["weight"])
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(FormatError, match="weight"):
        outcomes_of(tmp_path / "e.parquet", "p")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("sides", pa.array([[0.0, 0.0]])),
        ("sides", pa.array([1])),
        ("sides", pa.array([[False, True]])),
        ("agents", pa.array(["xy"])),
        ("agents", pa.array([[b"x", b"y"]])),
        ("agents", pa.array([[dt.date(2026, 1, 1), dt.date(2026, 1, 2)]])),
        ("id", pa.array([b"a"])),
        ("id", pa.array([Decimal("1.5")])),
        ("task", pa.array([b"a"])),
        ("meta", pa.array([1])),
        ("meta", pa.array([{"a": 1}])),
        ("meta", pa.array([[1]])),
        ("time", pa.array([0], pa.timestamp("us"))),
        ("weight", pa.array([Decimal("1.5")])),
    ],
    ids=str,
)
def test_a_column_of_another_type_refuses_the_file_before_a_value_becomes_another(tmp_path: Path, column: str, values: pa.Array) -> None:
    table = pa.Table.from_pylist([GAME], fields(COLUMNS))
    pq.write_table(table.set_column(COLUMNS.index(column), column, values), tmp_path / "e.parquet")
    with pytest.raises(FormatError, match=f"column '{column}' must be "):
        outcomes_of(tmp_path / "e.parquet", "p")


def test_a_column_that_is_there_twice_refuses_the_file(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([GAME], fields(COLUMNS)).append_column("id", pa.array(["b"]))
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(FormatError, match="column 'id' must be the header of only one column"):
        outcomes_of(tmp_path / "e.parquet", "p")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("id", pa.large_string()),
        ("pool", pa.dictionary(pa.int8(), pa.string())),
        ("agents", pa.large_list(pa.large_string())),
        ("sides", pa.list_(pa.uint8())),
        ("places", pa.large_list(pa.int64())),
        ("weight", pa.int64()),
        ("time", pa.float32()),
        ("task", pa.null()),
    ],
    ids=str,
)
def test_a_column_may_have_any_type_that_streams_may_have(tmp_path: Path, column: str, kind: pa.DataType) -> None:
    table = pa.Table.from_pylist([GAME], fields(COLUMNS))
    pq.write_table(table.set_column(COLUMNS.index(column), column, pa.array([GAME[column]], kind)), tmp_path / "e.parquet")
    assert list(map(meaning, outcomes_of(tmp_path / "e.parquet", "p").events)) == list(
        map(meaning, outcomes_of(written(tmp_path / "twin.parquet", GAME), "p").events)
    )
