"""Times as people ask for them."""

import pytest

from ratings_core.errors import InputError
from ratings_core.records.times import seconds
from services.admin.pool_range import pool_range


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[("0", 0.0), ("-12.5", -12.5), ("1e9", 1e9), ("1970-01-01T00:16:35Z", 995.0), ("1970-01-01T01:00:00+01:00", 0.0)],
        *[("1970-01-02", 86_400.0), ("19700102", 86_400.0), ("1970-01-01 00:00:01", 1.0)],
    ],
)
def test_a_moment_is_seconds_or_an_iso_time_in_utc(text: str, expected: float) -> None:
    assert seconds(text, "at") == expected


@pytest.mark.parametrize("text", ["", "nan", "inf", "noon", "2026-13-01", "1970-01-01T00:00:00Y", "1_0"])
def test_what_is_no_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match="seconds since 1970") as caught:
        seconds(text, "at")
    assert (caught.value.argument, caught.value.value) == ("at", text)


def test_the_times_of_a_range_are_refused_by_name_too() -> None:
    with pytest.raises(InputError, match="seconds since 1970") as caught:
        pool_range("p", (0, None), None, "noon", "--")
    assert caught.value.argument == "--until"
