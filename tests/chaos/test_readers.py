"""Counts that go back are a broken promise only once the head has passed the log's end at which they were seen."""

import pytest

from services.boards.result import AgentRow
from services.boards.store.protocol import ACTIVITY, BoardPage
from tests.chaos.readers import Readers
from tests.support.boards import head_of


@pytest.mark.parametrize(("position", "broken"), [(11, False), (12, True), (13, True)])
def test_counts_may_go_back_until_the_head_has_passed_them(position: int, broken: bool) -> None:
    readers = Readers(lambda: None, dict)  # type: ignore[arg-type, return-value]
    for at, count, end in ((10, 5.0, 12), (position, 4.0, 20), (20, 4.0, 20)):
        head = head_of("p", position=at, outcomes=at, agents=1)
        row = AgentRow(agent="a", rating=count, rank=1)
        page = BoardPage(head, ACTIVITY, 1, [row], [1])
        readers._look(head, page, head, end)
        if at == position:
            assert bool(readers.complaints) == broken
    assert len(readers.complaints) == 1, "at the latest when the head has passed the end"
    assert "promise 3" in readers.complaints[0]
