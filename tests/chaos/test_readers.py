"""What readers call a broken promise, in looks that a test makes up."""

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
        page = BoardPage(head, ACTIVITY, 1, 1, [row], "")
        readers._look(head, page, head, end)
        if at == position:
            assert bool(readers.complaints) == broken
    assert len(readers.complaints) == 1, "at the latest when the head has passed the end"
    assert "promise 3" in readers.complaints[0]


@pytest.mark.parametrize("looks", [1, 2], ids=["within one look", "between two looks"])
@pytest.mark.parametrize(("read", "broken"), [(10, False), (9, True)])
def test_a_generation_that_has_read_less_than_the_one_before_is_seen(looks: int, read: int, broken: bool) -> None:
    readers = Readers(lambda: None, dict)  # type: ignore[arg-type, return-value]
    first, second = (head_of("p", position=10, outcomes=count, agents=0, generation=number) for number, count in ((1, 10), (2, read)))
    for before, after in [(first, second)] if looks == 1 else [(first, first), (second, second)]:
        readers._look(before, BoardPage(after, ACTIVITY, 0, 0, [], ""), after, 10)
    assert ["promise 4" in complaint for complaint in readers.complaints] == [True] * broken
