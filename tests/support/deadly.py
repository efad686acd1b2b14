"""Run a shard's process that kills itself by SIGKILL when it folds a given outcome, as the kernel kills a process without memory.

`python -m tests.support.deadly DATA REDIS ID POSITIONS LIVES` runs LIVES workers, one after the other, on the SQLite log in DATA. A worker
ends when each partition has stopped or has reached its offset in POSITIONS (JSON: partition -> offset). It then prints the offsets of
isolated partitions as JSON. The last line is the list of all exit codes. Each worker is a separate process, forked from a process that has
imported all modules and loaded the kernels.
"""

import json
import multiprocessing
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

from ratings_core.arrays.arena import pack
from ratings_core.arrays.hashing import hash128
from ratings_core.columns.outcomes import Games
from services.boards.store.redis import RedisStore
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.worker import ShardWorker
from services.state.pool import PoolState
from services.wire.columns import Outcomes
from tests.support.waiting import until
from tests.support.worker import PARTITIONS, SETTINGS, folded_without


def deadly(outcome: str) -> None:
    """Let this process kill itself when it folds the outcome with this id."""
    fold, ids = PoolState.fold, pack([outcome])
    deadly_hash = hash128(ids.bytes, ids.start)[0]

    def folded(state: PoolState, outcomes: Outcomes) -> Any:
        if isinstance(outcomes, Games) and (outcomes.id_hash == deadly_hash).all(axis=1).any():
            os.kill(os.getpid(), signal.SIGKILL)
        return fold(state, outcomes)

    PoolState.fold = folded  # type: ignore[method-assign]


def main(data: Path, redis: str, outcome: str, positions: dict[int, int]) -> None:
    deadly(outcome)
    settings = Settings(data=data, redis=redis, **SETTINGS)
    log = open_sqlite_log(data / "log.sqlite", PARTITIONS)
    store = RedisStore(redis, log.outcomes.identity)
    worker = ShardWorker(settings, range(PARTITIONS), "deadly", log, store.live)
    thread = threading.Thread(target=worker.run)
    thread.start()
    until(lambda: _reached(worker, positions), "each partition has stopped or has reached its offset")
    print(json.dumps({one.partition: one.isolated_offset for one in worker.health().partitions if one.isolated_offset is not None}))  # noqa: T201
    worker.stop()
    thread.join()
    store.close()
    log.close()


def _reached(worker: ShardWorker, positions: dict[int, int]) -> bool:
    found = {one.partition: one for one in worker.health().partitions}
    return all(
        number in found and (found[number].position >= position or found[number].stopped is not None)
        for number, position in positions.items()
    )


if __name__ == "__main__":
    np.seterr(all="raise")
    words = sys.argv[1:]
    reached = {int(number): at for number, at in json.loads(words[3]).items()}
    codes = []
    folded_without((), 1)  # loads the kernels once for all workers
    for _ in range(int(words[4])):
        life = multiprocessing.get_context("fork").Process(target=main, args=(Path(words[0]), words[1], words[2], reached))
        life.start()
        life.join()
        codes.append(life.exitcode)
    print(json.dumps(codes))  # noqa: T201
