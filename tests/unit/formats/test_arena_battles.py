"""Battles of arenas as they are published: FastChat's raw log, cleaned battles, the human-preference columns; four kinds of files."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.json_items import json_values
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parquet import python_rows
from ratings_core.formats.roles import Roles
from ratings_core.formats.stream import MAX_LINE_BYTES, unpacked
from tests.support.files import part_of_file, rows_of

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
GAMES = [(("x", "y"), (1, 2)), (("y", "z"), (2, 1)), (("x", "z"), (1, 1)), (("z", "x"), (1, 1))]
TIMES = [1748347200.5 + i for i in range(4)]
STATES = [{"model_name": "a", "offset": 0, "messages": []}, {"model_name": "b", "offset": 0, "messages": []}]


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


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "\n".join(as_json(rows)).encode()


def array(rows: list[dict[str, Any]]) -> bytes:
    return b"[" + ",".join(as_json(rows)).encode() + b"]"


def battles(tmp_path: Path, data: bytes, **options: Any) -> Any:
    path = tmp_path / "battles"
    path.write_bytes(data)
    return part_of_file(path, ReadOptions(**options), hashed=True)


def vote(kind: str, models: Any, states: Any = STATES) -> bytes:
    return json.dumps({"tstamp": 1682351621.47, "type": kind, "models": models, "states": states, "ip": "127.0.0.1"}).encode()


@pytest.mark.parametrize("spelling", ["parquet", "array", "pretty", "lines", "csv", "gzip"])
def test_the_columns_of_the_human_preference_sets(tmp_path: Path, spelling: str) -> None:
    data = {
        "parquet": lambda: parquet(PREFERENCES, row_group_size=2),
        "array": lambda: array(PREFERENCES),
        "pretty": lambda: json.dumps([json.loads(row) for row in as_json(PREFERENCES)], indent=2).encode(),
        "lines": lambda: "\r\n".join(as_json(PREFERENCES)).encode(),
        "csv": lambda: table(PREFERENCES),
        "gzip": lambda: gzip.compress("\n".join(as_json(PREFERENCES)).encode()),
    }[spelling]()
    part, counts = battles(tmp_path, data)
    assert [row[1:] for row in rows_of(part)] == GAMES
    assert part.columns.time.tolist() == TIMES
    assert not counts.bad
    assert len({row.tobytes() for row in part.hashes}) == 4


@pytest.mark.parametrize(
    "options", [{"roles": Roles(task="tsk")}, {"slice_by": "tsk"}, {"where": (("tsk", "en"),)}], ids=["task", "slice", "where"]
)
@pytest.mark.parametrize("written", [table, parquet, array, lines])
def test_a_column_that_the_options_name_has_to_be_there(
    tmp_path: Path, written: Callable[[list[dict[str, Any]]], bytes], options: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="tsk"):
        battles(tmp_path, written(PREFERENCES), **options)


@pytest.mark.parametrize("data", [array, lines])
def test_one_object_with_the_named_column_is_enough(tmp_path: Path, data: Callable[[list[dict[str, Any]]], bytes]) -> None:
    battle = {"model_a": "a", "model_b": "b", "winner": "tie"}
    part, _ = battles(tmp_path, data([battle, battle | {"t": "x"}]), roles=Roles(task="t"))
    assert part.columns.task_of.tolist() == [-1, 0]


@pytest.mark.parametrize(("kind", "places"), [("leftvote", (1, 2)), ("rightvote", (2, 1)), ("tievote", (1, 1)), ("bothbad_vote", (1, 1))])
@pytest.mark.parametrize("models", [["", ""], ["a", "b"], ["Model A", "Model B"], ["<h3>Model A: a</h3>\n", "<h3>Model B: b</h3>\n"]])
def test_votes_of_the_raw_log(tmp_path: Path, kind: str, places: tuple[int, int], models: list[str]) -> None:
    for data in (vote(kind, models), b"[" + vote(kind, models) + b"]"):
        part, _ = battles(tmp_path, data)
        assert rows_of(part) == [(1, ("a", "b"), places)]
        assert part.columns.time.tolist() == [1682351621.47]


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
def test_lines_of_the_raw_log_that_are_no_battle_are_left_out_and_said(tmp_path: Path, line: bytes, why: str) -> None:
    part, counts = battles(tmp_path, vote("leftvote", ["a", "b"]) + b"\n" + line)
    assert (len(part), counts.left_out, counts.bad) == (1, {why: 1}, 0)


@pytest.mark.parametrize("models", ["ab", None, ["a"], ["a", 3], ["a", "b", "c"], ["a", "b "]])
def test_a_vote_without_two_names_is_an_error(tmp_path: Path, models: Any) -> None:
    _, counts = battles(tmp_path, vote("leftvote", models, None))
    assert [error.row for error in counts.first] == [1]


@pytest.mark.parametrize("winner", ["model_c", "draws", "winner"])
@pytest.mark.parametrize("written", [parquet, lines, table])
def test_another_winner_names_its_row(tmp_path: Path, winner: str, written: Callable[[list[dict[str, Any]]], bytes]) -> None:
    rows = [{**row, "winner": winner if i == 2 else "tie"} for i, row in enumerate(PREFERENCES)]
    _, counts = battles(tmp_path, written(rows))
    (error,) = counts.first
    assert (error.row, error.column, error.value) == (4 if written is table else 3, "winner", winner)


def test_a_parquet_file_of_something_else_names_its_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model_a = 'x', model_b = 'y'.*--column"):
        battles(tmp_path, parquet([{"model_a": "x", "model_b": "y"}]))
    with pytest.raises(InputError, match="must determine games"):
        battles(tmp_path, parquet([{"model_a": "x", "model_b": "y"}]), kind=FileKind.GAMES)


@pytest.mark.parametrize("data", [parquet(PREFERENCES)[:-20], b"PAR1", b"PAR1" + bytes(40) + b"PAR1"])
def test_a_broken_parquet_file_is_said_to_be_one(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match="Parquet"):
        battles(tmp_path, data)


@pytest.mark.parametrize("nested", [False, True])
def test_a_long_text_that_a_page_says_once_for_many_rows_is_not_unpacked(tmp_path: Path, nested: bool) -> None:
    """A few kilobytes of file would be 512 MiB of texts."""
    text, count = "x" * (1 << 23), 64
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))
    column = pa.ListArray.from_arrays(pa.array([*range(count + 1)], pa.int32()), texts) if nested else texts
    names = pa.array(["a"] * count)
    found = pa.table({"model_a": names, "model_b": pa.array(["b"] * count), "winner": names, "text": column})
    pq.write_table(found, out := io.BytesIO(), compression="zstd", store_schema=False)
    assert len(out.getvalue()) < 20_000
    before, rows = pa.total_allocated_bytes(), python_rows(out, ["text"])
    assert next(rows)[1]["text"] == ([text] if nested else text)
    assert pa.total_allocated_bytes() - before < 1 << 28
    part, _ = battles(tmp_path, out.getvalue())
    assert len(part) == count


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
def test_a_column_of_any_type_can_stand_beside_the_games(tmp_path: Path, name: str) -> None:
    try:
        pq.write_table(pa.table({"cell": TYPES[name], "number": [1.5, 2.5]}), out := io.BytesIO())
    except pa.ArrowNotImplementedError as error:
        pytest.skip(f"pyarrow {pa.__version__} writes no such file: {error}")
    assert [row for _, row in python_rows(out, ["cell"])] == pq.read_table(out).to_pylist()
    games = {"model_a": ["a", "a"], "model_b": ["b", "b"], "winner": ["tie", "tie"], "cell": TYPES[name]}
    pq.write_table(pa.table(games), out := io.BytesIO())
    part, counts = battles(tmp_path, out.getvalue())
    assert (len(part), counts.bad) == (2, 0)


def test_parquet_in_gzip_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a plain file"):
        battles(tmp_path, gzip.compress(parquet(PREFERENCES)))


def test_conversations_longer_than_a_cell_of_the_csv_module(tmp_path: Path) -> None:
    part, _ = battles(tmp_path, table([{"model_a": "x", "model_b": "y", "winner": "tie", "text": "long " * 50_000}]))
    assert len(part) == 1


@pytest.mark.parametrize("inside", ["\u2028", "\x85", "\u2029"])
def test_lines_of_json_end_where_editors_end_them(tmp_path: Path, inside: str) -> None:
    """Conversations hold characters that some call line breaks; JSON does not escape them."""
    line = json.dumps({"model_a": "x", "model_b": "y", "winner": "tie", "text": f"a{inside}b"}, ensure_ascii=False)
    part, counts = battles(tmp_path, f"{line}\r\n\n{line}\n  \n[3]\n{line}".encode())
    assert part.rows.tolist() == [1, 3, 6]
    assert [(error.row, error.rule) for error in counts.first] == [(5, "must be an object")]


def test_a_broken_line_of_json_is_a_bad_row(tmp_path: Path) -> None:
    line = json.dumps({"model_a": "x", "model_b": "y", "winner": "tie"})
    part, counts = battles(tmp_path, f'{line}\n{line}{line}\n{{"model_a":\n{line[:-1]},"n":NaN}}\n{line}\n'.encode())
    assert part.rows.tolist() == [1, 5]
    assert [error.row for error in counts.first] == [2, 3, 4]


def test_lines_have_the_same_numbers_wherever_pieces_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.formats.tables.json_table._PIECE", 100)
    rows = [json.dumps({"model_a": f"é{i}", "model_b": "y", "winner": "tie"}) if i % 7 else ("" if i % 2 else "{") for i in range(50)]
    part, counts = battles(tmp_path, ("\n".join(rows)).encode(), kind=FileKind.GAMES)
    assert part.rows.tolist() == [i + 1 for i in range(50) if i % 7]
    assert [error.row for error in counts.first] == [i + 1 for i in range(0, 50, 14)]


# arrays, a piece at a time


@pytest.mark.parametrize("stream", [io.BytesIO(b"{}"), "battles.json", None])
def test_a_stream_that_was_not_unpacked_is_refused(stream: Any) -> None:
    with pytest.raises(InputError, match="stream must be a stream of bytes, as `unpacked` returns"):
        list(json_values(stream))


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
