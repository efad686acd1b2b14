"""Compute the final solved boards of ended seasons, by tasks in worker processes.

The shard writes the final state of a season before the next season serves. Then each solved method of the pool is solved on that state, one
task after the other. A restart continues with the boards that are missing. Folding and ordinary solves do not wait.
"""

import logging
from collections import Counter
from collections.abc import Collection
from functools import partial
from typing import Final

import msgspec

from services.boards.season_files import SeasonEnd, SeasonFiles
from services.checkpoints.checkpoint import CheckpointStore
from services.control import seasons
from services.control.records import ControlState
from services.engine.partition_tasks import PartitionTasks
from services.log.partition import partition_of
from services.runtime.settings import Settings
from services.solve.planning.contents import contents_of, offered_methods
from services.solve.planning.jobs import Job, JobStatus, Parameters
from services.solve.worker.season_boards import without_result, write_final_board
from services.solve.worker.task_pool import TaskPool, TaskType

log = logging.getLogger("equirank.seasons")

_TROUBLE: Final = "a final board of a season cannot be computed, trying again: %s"
_TRIES: Final = 3
"""Number of tries of a board whose process dies or passes its deadline. Then a board without rows states that. A try that files did not
answer does not count."""
_FILES_SECONDS: Final = 60.0
"""Pause of a partition after a try that files did not answer."""
_LOOK_SECONDS: Final = 2.0
_SOLVE: Final = TaskType(write_final_board)


class SeasonCloser:
    """Starts the tasks of final boards. The engine's loop calls `step`; no method waits for a task.

    Args:
        settings: The service's settings.
        pool: Pool of worker processes.
        checkpoints: Where checkpoints are, and files of seasons beside them.
        log_identity: Identity of the log.

    Attributes:
        tasks: The running task, at most one.
    """

    def __init__(self, settings: Settings, pool: TaskPool, checkpoints: CheckpointStore, log_identity: str) -> None:
        self._settings, self._files = settings, SeasonFiles(checkpoints, log_identity)
        self.tasks = PartitionTasks(pool, log, _TROUBLE, settings.solve_deadline_seconds)
        self._closed: set[tuple[str, str]] = set()
        """Pools and seasons whose final boards are complete."""
        self._tries: Counter[tuple[str, str, str]] = Counter()
        self._looked_at = float("-inf")

    def step(self, now: float, control: ControlState, held: Collection[int] = ()) -> None:
        """Process ended tasks, and start due tasks.

        Args:
            now: Seconds of a monotonic timer.
            control: State of the control log.
            held: Partitions in which names are being erased; no task starts for these.

        Raises:
            OSError: The files of a season cannot be read or written.
        """
        self.tasks.take_in(now)
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        for pool in list(control.generations):
            partition = partition_of(pool, self._settings.partitions)
            for ended in seasons.ended(control, pool):
                if (pool, ended.name) not in self._closed and partition not in held and self._may_start(partition, now):
                    self._advance(now, control, ended, partition)

    def solves(self, pool: str) -> bool:
        """Whether a task solves a final board of a pool of the same partition. Its result may hold a name that is erased meanwhile."""
        return partition_of(pool, self._settings.partitions) in self.tasks.busy

    def _may_start(self, partition: int, now: float) -> bool:
        """Whether a task of a partition may start: one runs at a time, because its memory adds to that of ordinary solves."""
        return not self.tasks.busy and self.tasks.is_due(partition, now)

    def _advance(self, now: float, control: ControlState, ended: seasons.Ended, partition: int) -> None:
        """Start the task of the next board of a season, or note that all of its boards are there."""
        pool, season = ended.generation.pool, ended.name
        if self._files.complete(pool, season) is not None:
            self._closed.add((pool, season))
            return
        end = self._files.end(pool, season)
        if end is None:
            return  # the shard has not written it yet
        contents = contents_of([end.entry] if end.entry.outcomes else [], control)
        chosen = {job.board: (job, given) for job, given in offered_methods(contents, control).items()}
        missing = sorted(chosen.keys() - set(self._files.boards(pool, season)))
        if missing:
            job, given = chosen[missing[0]]
            self._start(now, msgspec.structs.replace(end, entry=contents[job.content]), job, given.parameters, partition)
            return
        self._files.write_complete(pool, season, chosen.keys() & set(self._files.boards(pool, season)))
        log.info("the final boards of season %s are complete", season, extra={"pool": pool, "partition": partition})

    def _start(self, now: float, end: SeasonEnd, job: Job, parameters: Parameters, partition: int) -> None:
        """Start a task. end: The season's end, with the entry of the pool or slice that is solved."""
        board, method = (job.pool, end.season, job.board), job.method
        self._tries[board] += 1
        if self._tries[board] > _TRIES:
            why = f"the solve did not end in {_TRIES} tries of at most {self._settings.solve_deadline_seconds:g} s"
            self._files.write_board(end.season, without_result(end, method, parameters, JobStatus.FAILED, why))
            return
        url, memory, limits = self._settings.checkpoint_url, self._settings.solve_memory_bytes, self._settings.provisional
        arguments = url, msgspec.json.encode(end), method, dict(parameters), memory, limits
        self.tasks.start(partition, now, partial(self._note, board, partition), _SOLVE, *arguments)

    def _note(self, job: tuple[str, str, str], partition: int, trouble: str | None) -> None:
        """Look for the next board at once, or try again later if files did not answer."""
        if trouble is None:
            self._looked_at = float("-inf")
            return
        self._tries[job] -= 1
        self.tasks.pause(partition, self._looked_at + _FILES_SECONDS)
        log.warning(_TROUBLE, trouble, extra={"pool": job[0], "partition": partition})
