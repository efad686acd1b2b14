"""What `python -m services.precompile` leaves compiled."""

import subprocess
import sys
from pathlib import Path

import numba
import pytest

from ratings_core.online import RATERS
from services.precompile import warm

USED_BY_EVERY_POOL = (
    "ratings_core.records.roster",
    "ratings_core.tallies.pair_tally",
    "ratings_core.tallies.score_table",
    "services.state.dedupe",
)
STREAM = """
import sys
from numba.core.dispatcher import Dispatcher
from services.checkpoints.segments import segment_in_memory
from services.precompile import warm
from services.shard.partition import Partition
from services.log.protocol import Record
from services.log.records import TopicRecords
from tests.support.streams import row, stream, table
from tests.support.pools import control_of, pool_of
from services.control.directory import FixedDirectory
from services.wire.events import GameEvent, ScoreEvent, Side, encode
from services.wire.pools import Kind

def signatures():
    modules = [module for name, module in sys.modules.items() if name.startswith(("services.", "ratings_core."))]
    kernels = {id(x): x for module in modules for x in list(vars(module).values()) if isinstance(x, Dispatcher)}.values()
    return {(kernel.py_func.__module__, kernel.__qualname__, str(one)) for kernel in kernels for one in kernel.signatures}

def duel(number):
    sides = [Side([f"a{number}"], 1), Side([f"b{number % 7}"], 2)]
    return GameEvent(v=1, id=f"game {number}", pool="duels", time=float(number), sides=sides)

def marks(number):
    return ScoreEvent(v=1, id=str(number), pool="scores", time=0.0, task=f"task {number % 5}", scores={f"a{number}": 1.0})

warm()
before = signatures()
directory = FixedDirectory(control_of(pool_of("duels"), pool_of("scores", Kind.SCORES)))
games = [duel(number) for number in range(3000)]
values = [
    *(encode([game]) for game in games[:1000]), encode(games[900:2000]), stream(table([row(game) for game in games[1900:]])),
    *(encode([marks(number)]) for number in range(50)), b"{}",
]
partition = Partition(0, 1)
partition.fold(TopicRecords(Record(offset, value, 0.0) for offset, value in enumerate(values)), directory)
window = partition.pools["duels"].content.history.window
segment_in_memory(window)
counts = partition.pools["duels"].content.counts
assert (counts["outcomes"], counts["duplicates"]) == (3000, 200), counts
print(sorted(signatures() - before))
"""
"""Folds what a shard reads from its topic, in a process of its own, and prints the kernels that were compiled or loaded only then."""


@pytest.fixture(scope="module", autouse=True)
def warmed() -> None:
    warm()


def compiled(module: str) -> list[str]:
    found = vars(sys.modules[module]).items()
    return [name for name, value in found if isinstance(value, numba.core.dispatcher.Dispatcher) and value.signatures]


@pytest.mark.parametrize("rater", RATERS)
def test_the_folds_of_all_raters_are_compiled(rater: str) -> None:
    assert "_fold" in compiled(f"ratings_core.online.{rater}")


@pytest.mark.parametrize("module", USED_BY_EVERY_POOL)
def test_what_every_pool_uses_is_compiled(module: str) -> None:
    assert compiled(module)


@pytest.mark.parametrize(
    ("module", "kernel"),
    [("ratings_core.records.roster", "_rehash"), ("ratings_core.records.names", "_is_plain"), ("ratings_core.arrays.frozen", "put_back")],
)
def test_what_comes_with_more_agents_and_checkpoints_is_compiled(module: str, kernel: str) -> None:
    assert kernel in compiled(module)


def test_a_shard_that_folds_its_topic_compiles_nothing() -> None:
    """Else the first outcomes after the start of a pod wait for the compiler."""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", STREAM], cwd=root, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_it_can_run_again() -> None:
    warm()
