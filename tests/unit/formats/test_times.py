"""Columns of times in all their spellings."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.arrays.arena import pack
from ratings_core.errors import InputError
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.roles import Roles
from ratings_core.formats.tables.block import Block
from ratings_core.formats.tables.cells import Cells
from ratings_core.formats.times import Times
from tests.support.files import part_of_file

JAN_5 = 1767571200.0


@pytest.mark.parametrize(
    ("texts", "form", "times"),
    [
        (["2026-01-05", "1969-12-31"], None, [JAN_5, -86400.0]),
        (["2026-01-05T00:00:01", "2026-01-05 00:00:00.5"], None, [JAN_5 + 1, JAN_5 + 0.5]),
        (["2026-01-05T01:00:00+01:00", "2026-01-05T00:00:00Z"], None, [JAN_5, JAN_5]),
        (["12.5", "1612010191230"], None, [12.5, 1612010191230.0]),
        (["20260105", "20260106"], None, [JAN_5, JAN_5 + 86400]),
        (["Mon Jan 5 2026", "Jan 5, 2026", "5 January 2026"], None, [JAN_5] * 3),
        (["05.01.2026", "6.1.26"], None, [JAN_5, JAN_5 + 86400]),
        (["05/01/2026", "25/12/2025"], None, [JAN_5, JAN_5 - 11 * 86400]),
        (["01/05/2026", "12/25/2025"], None, [JAN_5, JAN_5 - 11 * 86400]),
        (["05/01/26 13:30", "25/12/25 00:00"], None, [JAN_5 + 48600, JAN_5 - 11 * 86400]),
        (["2026/01/05"], None, [JAN_5]),
        (["05|01|2026", "x"], "%d|%m|%Y", [JAN_5, np.nan]),
        (["soon", "+5.478", "", "nan", "inf", "2026-13-01", "1_0"], None, [np.nan] * 7),
    ],
)
def test_times(texts: list[str], form: str | None, times: list[float]) -> None:
    np.testing.assert_array_equal(Times("date", form).read(pack(texts)), times)


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.uint32()])
@given(
    st.lists(st.integers(0, 2**32 - 1) | st.integers(9_999_990, 10_000_010) | st.none(), min_size=1, max_size=8), st.sampled_from([1, 4])
)
def test_times_of_numbers_are_those_of_their_texts(kind: pa.DataType, values: list[int | None], parts: int) -> None:
    divided = [None if value is None else value / parts if kind == pa.float64() else value // parts for value in values]
    cells = Cells(Block(pa.RecordBatch.from_arrays([pa.array(divided, kind)], names=["t"]), np.arange(len(values))))
    coded, numbers = cells.coded("t"), cells.wide_numbers("t")
    assert numbers is not None
    of_texts, of_numbers = Times("t").read(coded.texts)[coded.code], Times("t").of_numbers(numbers)
    if of_numbers is None:
        assert ((numbers >= 1e7) & (numbers < 1e8)).any()
    else:
        np.testing.assert_array_equal(of_numbers, of_texts)


def test_texts_of_numbers_are_read_with_a_format_and_for_eight_digits() -> None:
    assert Times("t", "%Y").of_numbers(np.array([2026.0])) is None
    assert Times("t").of_numbers(np.array([1.6e9, 20260105.0])) is None
    np.testing.assert_array_equal(Times("t").of_numbers(np.array([1.6e9, np.nan, np.inf, -0.5])), [1.6e9, np.nan, np.nan, -0.5])


def times_of(path: Path, **options: Any) -> tuple[list[float], RowCounts]:
    part, counts = part_of_file(path, ReadOptions(**options))
    return [] if part is None else part.columns.time.tolist(), counts


def games(path: Path, times: list[Any], cups: list[str] | None = None, column: str = "date") -> Path:
    rows = zip(times, cups or ["x"] * len(times), strict=True)
    path.write_text(f"{column},winner,loser,cup\n" + "".join(f"{time},a,b,{cup}\n" for time, cup in rows))
    return path


@pytest.mark.parametrize("texts", [["05/06/2026", "01/02/2026"], ["25/12/2026", "12/25/2026"]])
def test_days_that_can_be_read_in_two_ways_are_refused(texts: list[str]) -> None:
    with pytest.raises(InputError, match="--time-format"):
        Times("date").read(pack(texts))


def test_the_order_of_day_and_month_holds_for_the_whole_column() -> None:
    times = Times("date")
    times.read(pack(["25/12/2025"]))
    np.testing.assert_array_equal(times.read(pack(["05/01/2026"])), [JAN_5])


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.formats.tables.csv_table._BLOCK", 1 << 7)


def test_a_later_block_can_show_the_order_of_day_and_month(tmp_path: Path, small_blocks: None) -> None:
    days = ["05/01/2026"] * 30
    assert set(times_of(games(tmp_path / "g.csv", [*days, "25/12/2025"]))[0]) == {JAN_5, JAN_5 - 11 * 86400}
    assert set(times_of(games(tmp_path / "g.csv", ["01/05/2026"] * 30 + ["12/25/2025"]))[0]) == {JAN_5, JAN_5 - 11 * 86400}
    table = pa.table({"date": [*days, "25/12/2025"], "winner": ["a"] * 31, "loser": ["b"] * 31})
    pq.write_table(table, tmp_path / "g.parquet", row_group_size=10)
    assert times_of(tmp_path / "g.parquet")[0][0] == JAN_5


@pytest.mark.parametrize("first", ["25/12/2025", "12/25/2025"])
def test_a_column_with_both_orders_is_refused_wherever_they_are(tmp_path: Path, small_blocks: None, first: str) -> None:
    other = "12/25/2025" if first.startswith("25") else "25/12/2025"
    with pytest.raises(InputError, match="--time-format"):
        times_of(games(tmp_path / "g.csv", [first, *["05/01/2026"] * 30, other]))


def test_rows_that_are_not_chosen_do_not_show_the_order(tmp_path: Path, small_blocks: None) -> None:
    path = games(tmp_path / "g.csv", ["05/01/2026"] * 30 + ["12/25/2025", "25/12/2025"], ["x"] * 30 + ["y", "z"])
    with pytest.raises(InputError, match="--time-format"):
        times_of(path, where=(("cup", "x"),))
    assert times_of(path, where=(("cup", "z"),))[0] == [JAN_5 - 11 * 86400]
    again = games(tmp_path / "h.csv", ["12/25/2025", "25/12/2025", "05/01/2026"], ["y", "x", "x"])
    assert times_of(again, where=(("cup", "x"),))[0] == [JAN_5 - 11 * 86400, JAN_5]


def test_times_in_milliseconds_are_bad_rows_that_say_so(tmp_path: Path) -> None:
    found, counts = times_of(games(tmp_path / "g.csv", [1767571200, 1767571200000, -2e11]))
    assert found == [JAN_5]
    assert [error.row for error in counts.first] == [3, 4]
    assert "milliseconds: divide by 1000" in counts.first[0].rule


@pytest.mark.parametrize("years", [["2019", "2020"], ["2019", "soon"], [2019, 2020], [2019.0, None]])
def test_years_are_refused_until_the_format_names_them(tmp_path: Path, years: list[Any]) -> None:
    path, roles = tmp_path / "g.parquet", Roles(time="year")
    pd.DataFrame({"year": years, "winner": "a", "loser": "b"}).to_parquet(path)
    with pytest.raises(InputError, match="years are read with --time-format %Y"):
        times_of(path, roles=roles)
    assert times_of(path, roles=roles, time_format="%Y")[0][0] == 1546300800.0


def test_seconds_that_are_no_years_are_times(tmp_path: Path, small_blocks: None) -> None:
    assert times_of(games(tmp_path / "g.csv", ["2019", "2020.5"]))[0] == [2019, 2020.5]
    for times in ([*range(1000, 1060), 3000], [0, *range(1000, 1060)], [*range(1000, 1030), 500, *range(1000, 1030)]):
        assert times_of(games(tmp_path / "g.csv", times))[0] == times
    with pytest.raises(InputError, match="years are read"):
        times_of(games(tmp_path / "g.csv", [*range(1000, 1060)]))


def test_a_guessed_column_without_any_time_is_not_used(tmp_path: Path, small_blocks: None) -> None:
    laps = ["1:34:50.616", "+5.478", "\\N"] * 20
    found, counts = times_of(games(tmp_path / "g.csv", laps, column="time"))
    assert (found, counts.bad) == ([0.0] * 60, 0)
    assert counts.remarks == {"time": "not used: none of its cells is a time (another format: --time-format)"}
    part, _ = part_of_file(tmp_path / "g.csv")
    assert part is not None
    assert part.timed is not None
    assert not part.timed.any()
    assert times_of(tmp_path / "g.csv", roles=Roles(time="time"))[1].bad == 60


def test_a_guessed_column_with_a_time_is_used_wherever_that_is(tmp_path: Path, small_blocks: None) -> None:
    found, counts = times_of(games(tmp_path / "g.csv", ["soon"] * 40 + ["2026-01-05"]))
    assert (found, counts.bad, counts.remarks) == ([JAN_5], 40, {})
    path = games(tmp_path / "g.csv", ["soon"] * 40 + ["2026-01-05"], ["x"] * 40 + ["y"])
    assert times_of(path, where=(("cup", "x"),))[1].bad == 0
