"""Parts of the fold: CPU time of each part of a pool's fold, and of the whole fold by methods and history.

`python -m benchmarks.fold_parts [--quick] [--agents N] [--repeats N]`. The fold is `Partition.fold` of v1c records of 8,000 duels, of
agents drawn evenly that have all played before. A second passes from game to game, so a rating period has 604,800 games.

The first rows are parts of the fold with the default methods and a history whose segments are dropped: CPU time of this process during the
calls of a part, and `the rest` is what no part has. The other rows are whole folds. All are minima over the repeats.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final

from benchmarks.common import header, parser
from benchmarks.default_methods import games
from benchmarks.stream import HOME, PARTITIONS, POOL, STREAM_OUTCOMES
from ratings_core.online import RATERS
from ratings_core.records.roster import Roster
from services.control.directory import FixedDirectory
from services.control.records import DEFAULT_METHODS, FoldSettings
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.runtime.memory import set_up_memory
from services.shard.partition import Partition
from services.state.dedupe import DedupeWindow
from services.state.history import OutcomeHistory
from services.state.tallies import Tallies
from services.wire import events
from tests.support.pools import control_of, pool_of
from tests.support.streams import packed

PARTS: Final[Mapping[str, Sequence[tuple[type, str]]]] = {
    "decoding": ((TopicRecords, "outcomes"),),
    "known ids": ((DedupeWindow, "admit"),),
    "names to ids": ((Roster, "intern_coded"),),
    **{method: ((RATERS[method], "fold"),) for method in DEFAULT_METHODS},
    "tallies": ((Tallies, "add_games"),),
    "history": ((OutcomeHistory, "reserve"), (OutcomeHistory, "add")),
}
"""Functions of each part. None of them calls another."""
SETS: Final = (
    ((), False), (("elo", "sco"), False), (DEFAULT_METHODS, False), (("elo", "sco"), True), (DEFAULT_METHODS, True),
)  # fmt: skip
"""Methods, and whether there is a history."""


def main(argv: Sequence[str] | None = None) -> None:
    options = parser(__doc__ or "")
    options.add_argument("--agents", type=int, default=1_000, help="agents of the pool (default 1,000)")
    chosen = options.parse_args(argv)
    set_up_memory()
    header("parts of the fold", ("numpy", "numba"))
    outcomes = 16_000 if chosen.quick else 160_000
    first, then = games(chosen.agents, outcomes)
    before = _records(events.encode_records(first), 0)
    records = _records([packed(then[at : at + STREAM_OUTCOMES]) for at in range(0, outcomes, STREAM_OUTCOMES)], len(before))
    whole, parts = [], defaultdict[str, list[float]](list)
    sets = defaultdict[tuple[Sequence[str], bool], list[float]](list)
    for _ in range(chosen.repeats + 1):  # the first round compiles kernels and does not count
        with _timed() as spent:
            whole.append(fold(DEFAULT_METHODS, before, records, history=True, began=spent.clear))
        for name in PARTS:
            parts[name].append(spent[name])
        for methods, history in SETS:
            sets[methods, history].append(fold(methods, before, records, history=history))
    size = f"{chosen.agents:,} agents"
    rows = {name: min(times[1:]) for name, times in parts.items()}
    for name, seconds in rows.items():
        _show(name, size, seconds, outcomes)
    _show("the rest", size, min(whole[1:]) - sum(rows.values()), outcomes)
    for (methods, history), times in sets.items():
        name = f"whole fold: {', '.join(methods) or 'no method'}{'; history' if history else ''}"
        _show(name, size, min(times[1:]), outcomes)


def fold(
    methods: Sequence[str], before: Sequence[TopicRecords], records: Sequence[TopicRecords], *, history: bool,
    began: Callable[[], None] = lambda: None,
) -> float:  # fmt: skip
    """CPU seconds of the fold of `records` after that of `before`. began: called between them."""
    settings = FoldSettings(online={method: {} for method in methods}, history=FoldSettings().history if history else 0)
    partition, directory = Partition(HOME, PARTITIONS), FixedDirectory(control_of(pool_of(POOL, fold=settings)))
    for part in before:
        partition.fold(part, directory)
    began()
    start = time.process_time()
    for part in records:
        if partition.fold(part, directory):
            raise ValueError("the workload must be sound")
    return time.process_time() - start


@contextmanager
def _timed() -> Iterator[defaultdict[str, float]]:
    """CPU seconds by part while the context is open."""
    spent: defaultdict[str, float] = defaultdict(float)
    originals = [(owner, name, getattr(owner, name)) for functions in PARTS.values() for owner, name in functions]
    for part, functions in PARTS.items():
        for owner, name in functions:
            setattr(owner, name, _measured(getattr(owner, name), part, spent))
    try:
        yield spent
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _measured(function: Callable[..., Any], part: str, spent: defaultdict[str, float]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any) -> Any:
        start = time.process_time()
        try:
            return function(*arguments)
        finally:
            spent[part] += time.process_time() - start

    return call


def _show(name: str, size: str, seconds: float, outcomes: int) -> None:
    print(f"{name:<44}  {size:<20}  {1e9 * seconds / outcomes:>6.0f} ns an outcome", flush=True)


def _records(values: Sequence[bytes], first: int) -> list[TopicRecords]:
    return [TopicRecords([Record(first + at, value, 0.0)]) for at, value in enumerate(values)]


if __name__ == "__main__":
    main()
