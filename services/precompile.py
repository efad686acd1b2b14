"""Compiles the kernels that the library, shards and solves run: `python -m services.precompile`, once where Equirank is installed or an
image is built.

numba keeps what it compiled beside the sources (or in the user's cache folder where it may not write there). Without this the
first outcome of each kind waits some seconds for the compiler.
"""

from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from ratings_core import precompile as library
from ratings_core.online import RATERS
from services.boards.warm_reads import warm_reads
from services.checkpoints.segments import packed_segment
from services.control.directory import FixedDirectory
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.demo import simulated
from services.demo.feed import ATARI_POOL, POOLS
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.partition import Partition
from services.solve.problems.checkpointed import problem
from services.solve.registry import methods
from services.solve.registry.choice import Chosen
from services.state.pool import PoolState
from services.wire.columns import columns_of
from services.wire.events import Event, GameEvent, ScoreEvent, Side, encode
from services.wire.pools import Kind

_POOL: Final = "warm"
_SIDES: Final = [Side(agents=["a"], place=1), Side(agents=["b"], place=1), Side(agents=["c"], place=2)]
_GAME: Final = GameEvent(v=1, id="game", pool=_POOL, time=0.0, task="task", sides=_SIDES)
_SCORES: Final = ScoreEvent(v=1, id="scores", pool=_POOL, time=0.0, task="task", scores={"a": 2.0, "b": 1.0})


def warm() -> None:
    """Rate small inputs by all methods of the library. Fold records of each form, fold outcomes of each kind by every online method, write
    and restore the state as checkpoints do, with its history, and solve it by what the demo's pool of its kind has. Read agents.
    """
    library.warm()
    warm_reads()
    Partition(0, 1).fold(
        TopicRecords([Record(offset, value, 0.0) for offset, value in enumerate([encode([_GAME]), _stream()])]), _directory()
    )
    _warm(Kind.GAMES, _GAME, POOLS[simulated.POOL])
    _warm(Kind.SCORES, _SCORES, POOLS[ATARI_POOL])


def _warm(kind: Kind, event: Event, chosen: Chosen) -> None:
    created = PoolCreated(pool=_POOL, kind=kind, time=0.0)
    generation = Generation(pool=_POOL, number=1, start=0, time=0.0, fold=_settings(kind))
    state = PoolState(created, generation)
    state.fold(columns_of([event]))
    for method in state.content.ratings.online:
        state.content.ratings.read(method, np.zeros(1, np.int32))
    frozen = state.freeze()
    state.fold(columns_of([msgspec.structs.replace(event, id="later")]))
    frozen.arrays()
    if state.content.history is not None:
        packed_segment(state.content.history.window)
    arrays = state.arrays()
    PoolState.restore(created, generation, arrays, 1).fold(columns_of([event]))
    for method, parameters in chosen.items():
        methods.solve(method, problem(kind, arrays), parameters)


def _directory() -> FixedDirectory:
    control = ControlState()
    control.apply(0, PoolCreated(pool=_POOL, kind=Kind.GAMES, time=0.0))
    control.apply(1, Generation(pool=_POOL, number=1, start=0, time=0.0, fold=_settings(Kind.GAMES)))
    return FixedDirectory(control)


def _stream() -> bytes:
    """The game as columns."""
    lists = {"agents": [["a", "b"]], "sides": [[0, 1]], "places": [[1, 2]]}
    table = pa.table({"id": ["game"], "pool": [_POOL], "time": [0.0], "task": ["task"], **lists})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _settings(kind: Kind) -> FoldSettings:
    games = kind is Kind.GAMES
    return FoldSettings(per_task=True, online={name: {} for name in RATERS} if games else None, by_shape=games)


if __name__ == "__main__":
    warm()
