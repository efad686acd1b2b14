"""Pools as readers get them, without an engine: folded events, their checkpoint, and their boards in the store."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from services.boards.evidence import few_outcomes
from services.boards.store.protocol import ACTIVITY, LiveBoard, PoolHead
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from services.checkpoints.history_files import HistoryFiles
from services.runtime.settings import Provisional
from services.shard.publishing.updates import live_forecasts
from services.state.pool import PoolState
from tests.support.boards import head_of


class ServedPool:
    """Writes the state of one pool where the API reads it.

    Args:
        store: The store of the API.
        folder: Data folder of the API.
    """

    def __init__(self, store: RedisStore, folder: Path) -> None:
        self._store, self.files = store, CheckpointStore((folder / "state").as_uri())

    def checkpoint(self, state: PoolState, position: int, *, written_at: float = 0.0) -> str:
        """Write a checkpoint with this pool alone. Returns the name of its object."""
        generation, kind = state.generation, state.kind
        name = f"{generation.pool}-{generation.number}-{position}"
        history = state.content.history
        beside = {} if history is None else history.arrays()
        sha256, size = self.files.write_object(name, {**state.arrays(), **beside}, {})
        entry = PoolEntry(
            pool=generation.pool, kind=kind, generation=generation.number, position=position, outcomes=state.content.counts["outcomes"],
            object=name, sha256=sha256, bytes=size, digest="",
            history_from=max(0, state.content.counts["outcomes"] - generation.fold.history),
        )  # fmt: skip
        self.files.write_manifest(
            Manifest(
                format=FORMAT,
                partition=0,
                position=position,
                epoch=generation.number,
                log_identity="log",
                last_offset=None,
                last_sha256=None,
                fold_version=1,
                written_at=written_at,
                pools=[entry],
            )
        )
        return name

    def keep_segments(self, state: PoolState, epoch: int = 1) -> None:
        """Write the segments of history that the pool completes from now on."""
        history, made = state.content.history, state.generation
        if history is not None:
            write = HistoryFiles(self.files.blobs).write
            history.sink = lambda outcomes: write(0, made.pool, made.number, outcomes, epoch)

    def publish(self, state: PoolState, position: int, *, published_at: float = 0.0, limits: Provisional | None = None) -> PoolHead:
        """Publish all agents of the pool, and return its head. limits: the least evidence for a rank; None: all agents have one."""
        limits = limits or Provisional(0)
        content, ratings = state.content, state.content.ratings
        names, ids = content.agents.names(), np.arange(len(content.agents), dtype=np.int32)
        head = head_of(
            state.generation.pool,
            generation=state.generation.number,
            position=position,
            kind=str(state.kind),
            published_at=published_at,
            pool_time=content.clock.time,
            outcomes=content.counts["outcomes"],
            agents=len(names),
            online=list(ratings.online),
            provisional_outcomes=limits.outcomes,
            beliefs=ratings.beliefs,
            forecasts_by_shape=live_forecasts(state.content),
        )
        activity = ratings.activity[: len(names)]
        marks: list[bool] = few_outcomes(activity, limits).tolist()
        boards = {ACTIVITY: LiveBoard(names, activity.astype(float).tolist(), total=len(names))}
        for method in ratings.online:
            reading = ratings.read(method, ids)
            beliefs: Sequence[object] = [] if reading.beliefs is None else list(reading.beliefs.each())
            boards[method] = LiveBoard(names, reading.rating.tolist(), beliefs, len(names), marks)  # type: ignore[arg-type]
        assert self._store.live.publish(head, 1, boards)
        return head
