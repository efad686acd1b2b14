"""Battles of arenas as they are published: FastChat's raw log, cleaned battles, the human-preference columns; four kinds of files."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratings_core.errors import InputError
from ratings_core.formats import Battle, FormatError, RowRules, Skipped, iter_battles, unpacked
from ratings_core.formats.json_items import json_values
from ratings_core.formats.parquet import python_rows
from ratings_core.formats.stream import MAX_LINE_BYTES

PREFERENCES = [
    {
        "id": f"0{i}",
        "model_a": a,
        "model_b": b,
        "winner": winner,
        "evaluation_session_id": "s",
        "evaluation_order": 1,
        "conversation_a": [{"role": "user", "content": [{"type": "text", "text": "hi\u2028\n", "image": None, "mimeType": None}]}],
        "conv_metadata": {"sum_user_tokens": 3},
        "language": "en",
        "is_code": False,
        "timestamp": datetime(2025, 5, 27, 12, 0, i, 500_000),  # noqa: DTZ001 - as pandas writes them
    }
    for i, (a, b, winner) in enumerate([("x", "y", "model_a"), ("y", "z", "model_b"), ("x", "z", "tie"), ("z", "x", "both_bad")])
]
PLACES = [("x", "y", (1, 2)), ("y", "z", (2, 1)), ("x", "z", (1, 1)), ("z", "x", (1, 1))]
TIMES = [1748347200.5 + i for i in range(4)]
STATES = [{"model_name": "a", "offset": 0, "messages": []}, {"model_name": "b", "offset": 0, "messages": []}]


def battles(data: bytes) -> list[Battle | Skipped]:
    return list(iter_battles(unpacked(io.BytesIO(data))))


@pytest.mark.parametrize("stream", [io.BytesIO(b"{}"), "battles.json", None])
def test_a_stream_that_was_not_unpacked_is_refused(stream: Any) -> None:
    for read in (iter_battles, json_values):
        with pytest.raises(InputError, match="stream must be a stream of bytes, as `unpacked` returns"):
            list(read(stream))


def parquet(rows: list[dict[str, Any]], **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out, **options)
    return out.getvalue()


def as_json(rows: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(row, default=datetime.isoformat, ensure_ascii=False) for row in rows]


def table(rows: list[dict[str, Any]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def array(rows: list[dict[str, Any]]) -> bytes:
    return b"[" + b",".join(lines(rows).splitlines()) + b"]"


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "\n".join(as_json(rows)).encode()


def vote(kind: str, models: Any, states: Any = STATES) -> bytes:
    return json.dumps({"tstamp": 1682351621.47, "type": kind, "models": models, "states": states, "ip": "127.0.0.1"}).encode()


@pytest.mark.parametrize("spelling", ["parquet", "array", "pretty", "lines", "csv", "gzip"])
def test_the_columns_of_the_human_preference_sets(spelling: str) -> None:
    data = {
        "parquet": lambda: parquet(PREFERENCES, row_group_size=2),
        "array": lambda: b"[" + ",".join(as_json(PREFERENCES)).encode() + b"]",
        "pretty": lambda: json.dumps([json.loads(row) for row in as_json(PREFERENCES)], indent=2).encode(),
        "lines": lambda: "\r\n".join(as_json(PREFERENCES)).encode(),
        "csv": lambda: table(PREFERENCES),
        "gzip": lambda: gzip.compress("\n".join(as_json(PREFERENCES)).encode()),
    }[spelling]()
    found = [one for one in battles(data) if isinstance(one, Battle)]
    assert [(one.model_a, one.model_b, one.places) for one in found] == PLACES
    assert [one.time for one in found] == TIMES


def test_a_row_is_the_same_row_in_json_and_parquet() -> None:
    """So its id is the same whichever of them is replayed."""
    assert [one.content for one in battles(parquet(PREFERENCES)) if isinstance(one, Battle)] == [
        one.content for one in battles("\n".join(as_json(PREFERENCES)).encode()) if isinstance(one, Battle)
    ]


@pytest.mark.parametrize("rules", [RowRules(task="tsk"), RowRules(slice_by="tsk"), RowRules(where=(("tsk", "en"),))])
@pytest.mark.parametrize("written", [table, parquet, array, lines])
def test_a_column_that_the_rules_name_has_to_be_there(written: Callable[[list[dict[str, Any]]], bytes], rules: RowRules) -> None:
    with pytest.raises(FormatError, match="tsk"):
        list(iter_battles(unpacked(io.BytesIO(written(PREFERENCES))), rules=rules))


def test_an_error_about_a_named_column_of_json_is_that_of_csv() -> None:
    errors = []
    for written in (table, array):
        with pytest.raises(FormatError) as refused:
            list(iter_battles(unpacked(io.BytesIO(written(PREFERENCES))), rules=RowRules(keep_bad=True, task="tsk")))
        errors.append(str(refused.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    "data", [b"[]", b'[{"model_a":"a","model_b":"b","winner":"tie"},{"model_a":"a","model_b":"b","winner":"tie","t":"x"}]']
)
def test_one_object_with_the_named_column_is_enough_and_so_is_none_at_all(data: bytes) -> None:
    found = list(iter_battles(unpacked(io.BytesIO(data)), rules=RowRules(task="t")))
    assert [one.task for one in found if isinstance(one, Battle)] in ([], [None, "x"])


@pytest.mark.parametrize(("kind", "places"), [("leftvote", (1, 2)), ("rightvote", (2, 1)), ("tievote", (1, 1)), ("bothbad_vote", (1, 1))])
@pytest.mark.parametrize("models", [["", ""], ["a", "b"], ["Model A", "Model B"], ["<h3>Model A: a</h3>\n", "<h3>Model B: b</h3>\n"]])
def test_votes_of_the_raw_log(kind: str, places: tuple[int, int], models: list[str]) -> None:
    (found,) = battles(vote(kind, models))
    assert isinstance(found, Battle)
    assert (found.model_a, found.model_b, found.places, found.time) == ("a", "b", places, 1682351621.47)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"tstamp": 1, "type": "chat", "model": "a", "state": {}}', "no verdict on two models"),
        (vote("share", ["", ""]), "no verdict on two models"),
        (vote("leftvote", [None, None]), "a model is not named"),
        (vote("leftvote", ["", "b"]), "a model is not named"),
        (vote("leftvote", ["", ""], [{}, {}]), "a model is not named"),
        (vote("leftvote", ["a", "c"]), "the displayed models differ from the models that answered"),
        (vote("leftvote", ["a", "a"], None), "one model against itself"),
    ],
)
def test_lines_of_the_raw_log_that_are_no_battle_are_left_out_and_said(line: bytes, why: str) -> None:
    assert battles(vote("leftvote", ["a", "b"]) + b"\n" + line)[1:] == [Skipped(2, why)]


@pytest.mark.parametrize("models", ["ab", None, ["a"], ["a", 3], ["a", "b", "c"], ["a", "b "]])
def test_a_vote_without_two_names_is_an_error(models: Any) -> None:
    with pytest.raises(FormatError, match=r"row 1, column 'models'"):
        battles(vote("leftvote", models, None))


@pytest.mark.parametrize("winner", ["model_c", "bothbad", "", None, 1, "Tie"])
@pytest.mark.parametrize("spelling", ["parquet", "lines"])
def test_another_winner_names_its_row(winner: Any, spelling: str) -> None:
    rows = [{**row, "winner": winner if i == 2 else "tie"} for i, row in enumerate(PREFERENCES)]
    if spelling == "parquet":
        rows = [{**row, "winner": None if row["winner"] is None else str(row["winner"])} for row in rows]
    data = parquet(rows) if spelling == "parquet" else "\n".join(as_json(rows)).encode()
    with pytest.raises(FormatError, match=r"row 3, column 'winner'.*model_a, model_b, tie"):
        battles(data)


def test_a_parquet_file_of_something_else_names_the_column() -> None:
    with pytest.raises(FormatError, match=r"column 'winner' must be a column"):
        battles(parquet([{"model_a": "x", "model_b": "y"}]))


@pytest.mark.parametrize("data", [parquet(PREFERENCES)[:-20], b"PAR1", b"PAR1" + bytes(40) + b"PAR1"])
def test_a_broken_parquet_file_is_said_to_be_one(data: bytes) -> None:
    with pytest.raises(InputError, match="Parquet"):
        battles(data)


@pytest.mark.parametrize("nested", [False, True])
def test_a_long_text_that_a_page_says_once_for_many_rows_is_not_unpacked(nested: bool) -> None:
    """A few kilobytes of file would be 2 GiB of texts."""
    text = "x" * (1 << 23)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 256, pa.int32()), pa.array([text]))
    column = pa.ListArray.from_arrays(pa.array([*range(257)], pa.int32()), texts) if nested else texts
    names = pa.array(["a"] * 256)
    found = pa.table({"model_a": names, "model_b": pa.array(["b"] * 256), "winner": names, "text": column})
    pq.write_table(found, out := io.BytesIO(), compression="zstd", store_schema=False)
    assert len(out.getvalue()) < 20_000
    before, rows = pa.total_allocated_bytes(), python_rows(out, ["text"])
    assert next(rows)[1]["text"] == ([text] if nested else text)
    assert pa.total_allocated_bytes() - before < 1 << 28


@pytest.mark.parametrize("repeats", [2, 3])
def test_a_row_of_parquet_has_a_limit(repeats: int) -> None:
    """The one that a line of text has."""
    cell = ["x" * (MAX_LINE_BYTES // 2)] * repeats
    pq.write_table(pa.table({"text": [["short"], cell]}), out := io.BytesIO(), compression="zstd")
    if repeats == 2:
        assert [row["text"] for _, row in python_rows(out, ["text"])] == [["short"], cell]
        return
    with pytest.raises(FormatError, match=f"row 2 must be a row of at most {MAX_LINE_BYTES} bytes, got {repeats * len(cell[0])}"):
        list(python_rows(out, ["text"]))


TYPES = {
    "json": pa.array(["{}", "1"], pa.json_()),
    "view": pa.array(["a", "b"], pa.string_view()),
    "list view": pa.array([["a"], ["b"]], pa.list_view(pa.string())),
    "map": pa.array([[("k", "v")], []], pa.map_(pa.string(), pa.string())),
    "fixed": pa.array([["a", "b"], ["c", None]], pa.list_(pa.string(), 2)),
    "struct": pa.array([{"a": "x", "b": [{"c": "y"}]}, None]),
    "dictionary": pa.array(["a", "b"], pa.large_string()).dictionary_encode(),
    "nulls": pa.nulls(2, pa.binary()),
    "decimal": pa.array([Decimal("1.5"), None]),
    "time": pa.array([1, 2], pa.timestamp("us")),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_value_of_any_type_is_read_as_arrow_reads_it(name: str) -> None:
    pq.write_table(pa.table({"cell": TYPES[name], "number": [1.5, 2.5]}), out := io.BytesIO())
    assert [row for _, row in python_rows(out, ["cell"])] == pq.read_table(out).to_pylist()


def test_parquet_in_gzip_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="must be a plain file"):
        battles(gzip.compress(parquet(PREFERENCES)))


def test_conversations_longer_than_a_cell_of_the_csv_module() -> None:
    found = battles(table([{"model_a": "x", "model_b": "y", "winner": "tie", "text": "long " * 50_000}]))
    assert len(found) == 1


# arrays, a piece at a time


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1 << 16])
def test_values_are_the_same_wherever_pieces_end(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.formats.json_items._PIECE", piece)
    items = [{"a": 'é\U0001f600\\"]}'}, 12, -3.5e7, "x", [[], {}], None, True]
    for text in (
        json.dumps(items),
        json.dumps(items, indent=3, ensure_ascii=False),
        "\ufeff " + json.dumps(items, ensure_ascii=False) + "\r\n",
    ):
        assert [value for _, value in json_values(unpacked(io.BytesIO(text.encode())))] == items
    several = " ".join(json.dumps({"n": i}, indent=2) for i in range(5))
    assert list(json_values(unpacked(io.BytesIO(several.encode())))) == [(i + 1, {"n": i}) for i in range(5)]
    assert list(json_values(unpacked(io.BytesIO(b" [ ] ")))) == []


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('[{"a":1},{"a":}]', 2),
        ('[{"a":1} {"a":2}]', 2),
        ('[{"a":1},]', 2),
        ('[{"a":1}', 2),
        ('[{"a":1}] x', 2),
        ('[{"a":"', 1),
        ("[" * 100_000, 1),
        ("[" + "9" * 5000 + "]", 1),
    ],
)
def test_a_broken_array_names_its_item(text: str, row: int) -> None:
    with pytest.raises(FormatError) as caught:
        list(json_values(unpacked(io.BytesIO(text.encode()))))
    assert caught.value.row == row


def test_a_broken_item_is_found_without_reading_on() -> None:
    read: list[int] = []

    class Endless(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            read.append(size or 0)
            return super().read(size)

    with pytest.raises(FormatError, match="row 1"):
        list(json_values(unpacked(Endless(b'[{"a" 1}, ' + b'"x",' * 1_000_000))))
    assert sum(read) < 1 << 18


def test_an_item_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.formats.json_items.MAX_LINE_BYTES", 1 << 17)
    with pytest.raises(FormatError, match="row 2"):
        list(json_values(unpacked(io.BytesIO(b'[1, "' + b"x" * (1 << 20) + b'"]'))))
