"""Compiles the kernels that shards and solves run: `python -m services.warm`, once where Equirank is installed or an image is built.

numba keeps what it compiled beside the sources (or in the user's cache folder where it may not write there). Without this the
first outcome of each kind waits some seconds for the compiler.
"""

from typing import Final

from services.events import Event, GameEvent, ScoreEvent, Side
from services.pools import FoldSettings, GenerationMade, Kind, PoolCreated
from services.shard.pool import PoolState
from services.solve import methods
from services.solve.tasks import problem

_POOL: Final = "warm"
_SIDES: Final = [Side(agents=["a"], place=1), Side(agents=["b"], place=1), Side(agents=["c"], place=2)]
_GAME: Final = GameEvent(v=1, id="game", pool=_POOL, time=0.0, task="task", sides=_SIDES)
_SCORES: Final = ScoreEvent(v=1, id="scores", pool=_POOL, time=0.0, task="task", scores={"a": 2.0, "b": 1.0})


def warm() -> None:
    """Fold one outcome of each kind, restore the state, and solve what a pool of its kind has solved by default."""
    for kind, event in ((Kind.GAMES, _GAME), (Kind.SCORES, _SCORES)):
        _warm(kind, event)


def _warm(kind: Kind, event: Event) -> None:
    created = PoolCreated(pool=_POOL, kind=kind, time=0.0)
    generation = GenerationMade(pool=_POOL, number=1, start=0, time=0.0, fold=FoldSettings(per_task=True))
    state = PoolState(created, generation)
    state.fold([event])
    arrays = state.arrays()
    PoolState.restore(created, generation, arrays, 1).fold([event])
    for method, parameters in methods.defaults(kind).items():
        methods.solve(method, problem(kind, arrays), parameters)


if __name__ == "__main__":
    warm()
