"""The account at the end of a run notices what the ratings topic lacks."""

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from tests.chaos.account import topic_differences
from tests.support.boards import head_of
from tests.support.ratings_topic import Table

KEPT = cast("Any", SimpleNamespace(outcomes=9, boards=lambda: {"elo": {"ann": 1516.0, "bob": 1484.0}}))


def table(**changes: Any) -> Table:
    """The table of a consumer with a head and two rows. changes: to the fields of Bob's row and of the head."""
    ratings = {"ann": 1516.0, "bob": changes.get("rating", 1484.0)}
    rows = {
        msgspec.json.encode(["p", agent]): {"type": "ratings", "pool": "p", "agent": agent, "ratings": {"elo": {"rating": rating}}}
        for agent, rating in ratings.items()
    }
    head = {"type": "ratings_head", "generation": 1, "outcomes": changes.get("outcomes", 9)}
    return {**rows, msgspec.json.encode(["p"]): head}


def test_a_complete_topic_is_no_complaint() -> None:
    assert topic_differences(table(), head_of("p", position=9), KEPT) == []


@pytest.mark.parametrize(("changes", "complaint"), [({"rating": 1483.0}, "elo in the ratings topic"), ({"outcomes": 8}, "not (1, 9)")])
def test_a_row_and_a_head_that_are_behind_are_complaints(changes: dict[str, Any], complaint: str) -> None:
    [found] = topic_differences(table(**changes), head_of("p", position=9), KEPT)
    assert complaint in found


def test_a_row_that_is_missing_or_should_be_gone_is_a_complaint() -> None:
    missing, more = table(), table()
    del missing[msgspec.json.encode(["p", "bob"])]
    more[b'["p","eve"]'] = {"type": "ratings", "pool": "p", "agent": "eve", "ratings": {"elo": {"rating": 1.0}}}
    for wrong in (missing, more):
        assert topic_differences(wrong, head_of("p", position=9), KEPT)
