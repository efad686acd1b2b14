"""Command and route describe the time of a past board alike: it is the time at which the log took the outcomes."""

from typing import get_args, get_type_hints

from services.api.board_answers import At
from services.cli.top import top


def test_command_and_route_describe_the_same_time() -> None:
    option = get_args(get_type_hints(top, include_extras=True)["at"])[1].help
    route = get_args(At)[1].description
    meaning = "the board of all outcomes that the log took by this time: 2026-11-22T06:00:00Z (UTC by default), or seconds since 1970"
    assert meaning in option
    assert meaning in route
