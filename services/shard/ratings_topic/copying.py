"""Copies a pool's changed ratings for the ratings topic, and tracks which of them the topic lacks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ratings_core.records.roster import Roster
from services.boards.rating_records import AgentRatings, KeyedRecord, NewestRows, OnlineRating, RatingsHead, keyed, removal
from services.boards.store.protocol import ACTIVITY, LiveBoard, PoolHead
from services.shard.partition import Partition
from services.shard.publishing.updates import UnfiniteRating, boards_of, record_before
from services.shard.ratings_topic.contents import BoardContents
from services.state.changes import ChangeTracker
from services.state.pool import PoolState


@dataclass(slots=True)
class RatingsTrack:
    """What the topic lacks of one generation of a pool. It is made when the pool's boards are first written.

    Attributes:
        board: Head of the boards that were last written.
        recovered: Position of the checkpoint that the state was loaded from.
        changes: Agents whose rows are on the board and perhaps not in the topic.
        compared: Whether the track was compared with what the topic contains.
        replaced: Whether the topic was replaced by another one after the track was made.
        whole: Whether all rows are missing or uncertain, so that they are written, and those of `former` agents without a row removed.
        former: Agents that can have rows in the topic, until all rows of the state are in it.
        newest: State of the newest rows in the topic, until the fold has reached it. Nothing is written before.
        since: Since when the topic lacks something that is on the board and is not written now, by the timer; None if it lacks nothing.
        writing_since: The same of rows that are written now.
    """

    board: PoolHead
    recovered: int
    changes: ChangeTracker = field(default_factory=ChangeTracker)
    compared: bool = False
    replaced: bool = False
    whole: bool = False
    former: Sequence[Roster] = ()
    newest: NewestRows | None = None
    since: float | None = None
    writing_since: float | None = None

    def __post_init__(self) -> None:
        self.changes.take()  # a new tracker counts as changed

    def is_of(self, state: PoolState) -> bool:
        """Whether this is the track of a state."""
        return (self.board.generation, self.recovered) == (state.generation.number, state.recovered_at)

    def note(self, board: PoolHead, ids: NDArray[np.int32], now: float) -> None:
        """Note agents whose rows were written to the board. board: the head that was written with them."""
        self.board = board
        if len(ids):
            self.changes.reach(board.agents)
            self.changes.mark(ids)
            self.since = now if self.since is None else self.since

    def compare(self, state: PoolState, contents: BoardContents | None, now: float) -> None:
        """Find out whether the topic has all rows up to the checkpoint that the state was loaded from.

        The number of outcomes identifies a state within a generation, because only outcomes change ratings. contents: The pool's records;
        None without any.
        """
        self.compared = True
        head = None if contents is None or contents.unfinished or self.replaced else contents.head
        self.former = () if contents is None else tuple(contents.names)
        if isinstance(head, RatingsHead) and head.generation == self.board.generation:
            self.newest, self.whole = head.newest, head.outcomes < state.recovered_outcomes
        else:
            self.whole = True
        if self.whole:
            self.since = now if self.since is None else self.since

    def lose_topic(self) -> None:
        """Note that the topic was replaced by another one."""
        self.compared, self.replaced, self.newest = False, True, None

    @property
    def lacking_since(self) -> float | None:
        """Since when the topic lacks something that is on the board, by the timer; None if it lacks nothing."""
        return self.since if self.writing_since is None else self.writing_since

    def written(self) -> None:
        """Note that the copied rows were written."""
        self.whole, self.former, self.writing_since = False, (), None

    def failed(self, ids: NDArray[np.int32]) -> None:
        """Note that the copied rows of the agents `ids` were perhaps not written."""
        self.changes.mark(ids)
        self.since, self.writing_since = self.lacking_since, None

    def is_due(self, state: PoolState, partition: Partition) -> bool:
        """Whether something can be written now.

        If the fold passes the newest rows in the topic with fewer outcomes, they include records that an operator skipped since the topic
        was read. All rows are written then.
        """
        if self.newest is not None and not state.broken:
            fewer = state.content.counts["outcomes"] < self.newest.outcomes
            if not fewer or state.folded_to(partition.position) >= self.newest.position:
                self.newest, self.whole = None, self.whole or fewer
        return (self.whole or self.changes.any) and not state.broken and self.newest is None


@dataclass(frozen=True, slots=True)
class RatingsUpdate:
    """Copied rows of one pool, and its head.

    ids: agents in `boards`. former: agents whose rows are removed unless they are in `boards`.
    """

    state: PoolState
    track: RatingsTrack
    head: RatingsHead
    ids: NDArray[np.int32]
    boards: Mapping[str, LiveBoard]
    former: Sequence[Roster]

    def records(self) -> Iterator[KeyedRecord]:
        """Yield the records, the head last."""
        head, activity = self.head, self.boards[ACTIVITY]
        online = {method: _each_rating(board, activity.names) for method, board in self.boards.items() if method != ACTIVITY}
        for i, agent in enumerate(activity.names):
            ratings = {method: next(rating) for method, rating in online.items()}
            yield keyed(
                AgentRatings(
                    pool=head.pool,
                    agent=agent,
                    ratings={method: rating for method, rating in ratings.items() if rating is not None},
                    outcomes=round(activity.values[i]),
                    generation=head.generation,
                    position=head.newest.position,
                    epoch=head.epoch,
                )
            )
        if self.former:
            present = set(activity.names)
            removed = dict.fromkeys(agent for roster in self.former for agent in roster.names() if agent not in present)
            yield from (removal(head.pool, agent) for agent in removed)
        yield keyed(head)


def copy_ratings(track: RatingsTrack, state: PoolState, partition: Partition, epoch: int) -> RatingsUpdate | None:
    """Take the rows that the topic lacks. Returns None if a rating is not finite: the pool stops when its boards are next written."""
    if track.whole:
        track.changes.reach(len(state.content.agents))
        track.changes.mark_all()
    ids = track.changes.take()
    try:
        boards = boards_of(state, ids)
    except UnfiniteRating:
        track.changes.mark(ids)
        return None
    track.writing_since, track.since = track.since, None
    former = track.former if track.whole else ()
    return RatingsUpdate(state, track, _head(track.board, state, partition, epoch), ids, boards, former)


def _each_rating(board: LiveBoard, names: Sequence[str]) -> Iterator[OnlineRating | None]:
    """Yield the rating of each agent; None for an agent that is not on the board. The board's rows have the order of `names`."""
    row = 0
    for name in names:
        is_rated = row < len(board.names) and board.names[row] == name
        yield _rating(board, row) if is_rated else None
        row += is_rated


def _rating(board: LiveBoard, i: int) -> OnlineRating:
    return OnlineRating(board.values[i], board.beliefs[i].deviation if board.beliefs else None)


def _head(board: PoolHead, state: PoolState, partition: Partition, epoch: int) -> RatingsHead:
    """Head of rows that are copied now. Its state is that of the boards: agents that changed since are not among the rows."""
    position = state.folded_to(partition.position)
    newest = NewestRows(outcomes=state.content.counts["outcomes"], position=position, record=record_before(position, partition))
    return RatingsHead(
        pool=board.pool,
        methods=board.online,
        agents=board.agents,
        outcomes=board.outcomes,
        pool_time=board.pool_time,
        generation=board.generation,
        position=board.position,
        partition=board.partition,
        epoch=epoch,
        newest=newest,
    )
