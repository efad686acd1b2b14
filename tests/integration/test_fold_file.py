"""Online methods on a file give the digits of a live pool: a real shard worker folds the same outcomes from a real log."""

import json
import random
from contextlib import closing
from pathlib import Path

import pytest

from ratings_core.errors import InputError
from ratings_core.formats.options import ReadOptions
from ratings_core.online import RATERS
from services.boards import reading
from services.boards.result import SolveResult
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.solve.file_solve import Asked, Reading, folded_answers
from services.wire import events
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.worker import HOME, published, store_of, until, working

PARAMETERS = {"elo": {"k": 24.0}, "glicko2": {"deviation": 250.0}}


def games() -> list[GameEvent]:
    """Games of two and three sides, ties, weights and duplicates, in an order that matters."""
    rng = random.Random(5)
    found = []
    for i in range(400):
        agents = rng.sample([f"agent {k}" for k in range(12)], rng.choice([2, 2, 3]))
        sides = [Side([agent], rng.randint(1, 2)) for agent in agents]
        event = GameEvent(v=1, id=f"g{i}", pool=simulated.POOL, time=86_400.0 * i, sides=sides, weight=rng.choice([1.0, 1.0, 0.5]))
        found += [event] * rng.choice([1, 1, 1, 2])
    return found


def fold(file: Path, method: str, parameters: dict[str, str]) -> SolveResult:
    """The result of a file without slices."""
    (answer,) = folded_answers(Asked(method, parameters), Reading(file, ReadOptions()))
    assert answer.result is not None
    return answer.result


def test_a_file_gives_the_digits_of_a_live_pool_by_every_online_method(settings: Settings, log: Log, tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    file.write_bytes(b"\n".join(events.encode([event]) for event in games()) + b"\n")
    online = {method: PARAMETERS.get(method, {}) for method in RATERS}
    with closing(ControlLog(log.control)) as control:
        control.create_pool(PoolCreated(pool=simulated.POOL, kind=Kind.GAMES, time=0.0, fold=FoldSettings(online=online)))
    log.outcomes.append(HOME, [(simulated.POOL.encode(), record) for record in events.encode_records(games(), 10)])
    with working(settings, log):
        until(lambda: published(settings) == 400, "all games are published")
        with store_of(settings) as store:
            live = {method: reading.board(store, simulated.POOL, method, start=0, count=100, now=0.0) for method in RATERS}
    for method in RATERS:
        folded = fold(file, method, {name: str(value) for name, value in PARAMETERS.get(method, {}).items()})
        board = live[method]
        assert board is not None
        rows = [{row.agent: (row.rating, row.rank, row.deviation, row.low, row.high) for row in of} for of in (board.rows, folded.agents)]
        assert len(rows[0]) == 12
        assert rows[0] == rows[1], method
        assert folded.extra["outcomes"] == 400


def test_retracted_outcomes_of_a_file_count_nothing(tmp_path: Path) -> None:
    whole = [json.loads(line) for line in b"\n".join(events.encode([event]) for event in games()).splitlines()]
    gone = {"g3", "g200"}
    retractions = [{"v": 1, "id": f"r{name}", "pool": simulated.POOL, "time": 0.0, "retracts": name} for name in sorted(gone)]
    rated = []
    for name, lines in (("with", [*whole, *retractions]), ("without", [line for line in whole if line["id"] not in gone])):
        (tmp_path / name).with_suffix(".jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
        rated.append(fold((tmp_path / name).with_suffix(".jsonl"), "elo", {}).agents)
    assert rated[0] == rated[1]


@pytest.mark.parametrize(
    ("text", "method", "parameters", "rule"),
    [
        ("task,a,b\nt,1,2\n", "elo", {}, "online methods rate games"),
        ("model_a,model_b,winner\na,b,model_a\n", "elo", {"q": "1"}, "must be one of k"),
        ("model_a,model_b,winner\na,b,model_a\n", "elo", {"k": "x"}, "must be a number"),
        ("model_a,model_b,winner\n", "elo", {}, "must contain at least one game"),
    ],
)
def test_what_cannot_be_folded_is_refused(tmp_path: Path, text: str, method: str, parameters: dict[str, str], rule: str) -> None:
    file = tmp_path / "f.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=rule):
        fold(file, method, parameters)
