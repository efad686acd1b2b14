"""`equirank top` on a real store that it finds through the data folder."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from ratings_core.errors import InputError
from ratings_core.records.beliefs import Belief, BeliefModel
from services.backends import open_log
from services.boards.history import kept
from services.boards.result import AgentRow
from services.boards.slice_boards import SliceDimension, SliceValue
from services.boards.store.protocol import ACTIVITY, LiveBoard, StoreError
from services.boards.store.redis import RedisStore
from services.cli.top import top
from services.control.log import ControlLog
from services.control.records import PoolCreated, SolvePlan
from services.runtime.settings import Settings
from services.wire.pools import Kind
from tests.support.boards import head_of, solved_of
from tests.support.redis import supervised

APP = typer.Typer()
APP.command()(top)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("data")
    with supervised(folder) as (server, _):
        fill(folder, server.url)
        yield folder


def fill(folder: Path, url: str) -> None:
    """Publish live and solved boards of the pools."""
    log = open_log(Settings(data=folder))
    store = RedisStore(url, log.outcomes.identity)
    log.close()
    names = ["[red]a", r"b\[1]"]
    store.live.publish(
        head_of(online=["elo"]),
        1,
        {"elo": LiveBoard(names, [1510.25, 1590.0], provisional=[False, True]), ACTIVITY: LiveBoard(names, [10.0, 9.0])},
    )
    store.solved.publish(solved_of())
    old = solved_of(position=4, ratings=[("rock", 0.4), ("paper", 0.6), ("[red]c", 0.0)])
    store.solved.publish_history("blitz", "maximal_lottery", map(kept, [old, solved_of(position=9)]))
    still = [msgspec.structs.replace(solved_of("still", position=9, generation=number), data=f"{number}" * 64) for number in (1, 2)]
    store.live.publish(head_of("still", generation=2, online=[]), 1, {ACTIVITY: LiveBoard(names, [10.0, 9.0])})
    store.solved.publish_history("still", "maximal_lottery", map(kept, still))
    sliced = {"language": SliceDimension(methods=["elo"], values=[SliceValue(value="English", outcomes=4, agents=2)], most=64)}
    store.live.publish(head_of("sliced", position=604, slices=sliced), 1, {ACTIVITY: LiveBoard(names, [10.0, 9.0])})
    store.solved.publish(msgspec.structs.replace(solved_of("sliced", position=3), slice="language:English"))
    made = solved_of("made", method="deviation")
    parts = {"contributions": {"rock": {"[b]pong": 0.125, "qbert": -1.0}, "paper": {"pong": 0.0}}}
    store.live.publish(head_of("made", online=["elo"]), 1, {"elo": LiveBoard(names, [1.0, 2.0]), ACTIVITY: LiveBoard(names, [10.0, 9.0])})
    store.solved.publish(msgspec.structs.replace(made, result=msgspec.structs.replace(made.result, extra=parts)))
    known = LiveBoard(["ann", "bob"], [1600.0, 1400.0], [Belief(50.0), Belief(200.0)], provisional=[False, True])
    model = {"glicko2": BeliefModel(newcomer=350.0, period_seconds=604_800.0)}
    store.live.publish(head_of("club", online=["glicko2"], beliefs=model), 1, {"glicko2": known, ACTIVITY: LiveBoard(["ann"], [10.0])})
    for pool, numbers in {"arena": {"outcomes": 12, "opponents": 1}, "suite": {"outcomes": 4}}.items():
        rows = [
            AgentRow(agent="ann", rating=2.0, rank=1, outcomes=20),
            AgentRow(agent="bob", rating=3.0, rank=None, provisional=True, **numbers),
        ]
        board = solved_of(pool, method="copeland")
        board = msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=rows, ranked=1))
        store.live.publish(head_of(pool, online=[]), 1, {})
        store.solved.publish(board)
        store.solved.publish_history(pool, "copeland", [kept(board)])
    store.close()


def run(data: Path, *arguments: str) -> str:
    result = CliRunner().invoke(APP, ["--data", str(data), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(("method", "source", "best"), [("elo", "live", "[red]a"), ("maximal_lottery", "solved", "paper")])
def test_json_is_one_object_best_first(data: Path, method: str, source: str, best: str) -> None:
    board = json.loads(run(data, "--pool", "blitz", "--method", method, "--format", "json", "--count", "1"))
    assert (board["method"], board["source"], board["total"]) == (method, source, 2)
    assert [row["agent"] for row in board["rows"]] == [best]


def test_the_table_shows_names_as_they_are(data: Path) -> None:
    output = run(data, "--pool", "blitz")
    assert "[red]a" in output
    assert r"b\[1]" in output
    assert "1510.25" in output
    ranks = [line.strip("│ ").split("│")[0].strip() for line in output.splitlines() if line.startswith("│")]
    assert ranks == ["1", "?"], "also if its rating is higher"
    assert "? provisional, without a rank: fewer than 10 outcomes; 1 of 2 agents have ranks" in " ".join(output.split())


@pytest.mark.parametrize(
    ("pool", "lacks"),
    [("arena", "fewer than 10 outcomes or 2 opponents"), ("suite", "fewer than 10 outcomes and not a score on every task")],
)
def test_a_solved_board_says_what_agents_without_a_rank_lack(data: Path, pool: str, lacks: str) -> None:
    flat = " ".join(run(data, "--pool", pool, "--method", "copeland").split())
    assert f"? provisional, without a rank: {lacks}; 1 of 2 agents have ranks" in flat
    then = " ".join(run(data, "--pool", pool, "--method", "copeland", "--position", "0").split())
    assert "? provisional, without a rank: too little evidence at that time; 1 of 2 agents have ranks" in then


def test_a_solved_board_says_of_how_many_outcomes_it_is(data: Path) -> None:
    shown = run(data, "--pool", "blitz", "--method", "maximal_lottery")
    assert " agents · 0 outcomes (all that the live boards count) · position 0 · " in shown
    assert "outcomes ·" not in run(data, "--pool", "blitz")


def test_a_solved_board_of_a_slice_says_what_the_slice_counts_and_not_the_pool(data: Path) -> None:
    shown = run(data, "--pool", "sliced", "--method", "maximal_lottery", "--slice", "language:English")
    assert " agents · 3 outcomes (live boards count 1 more) · position 3 · " in shown


def test_a_chosen_method_without_a_board_says_that_it_will_have_one(data: Path) -> None:
    with closing(open_log(Settings(data=data))) as log, closing(ControlLog(log.control)) as control:
        control.create_pool(PoolCreated(pool="sliced", kind=Kind.GAMES, time=0.0))
        control.append(SolvePlan(pool="sliced", methods={"borda": {}}, time=1.0, slices={"language": ("borda",)}))
    soon = "borda was chosen and is not solved yet: try again in some seconds"
    for words in ((), ("--slice", "language:English")):
        with pytest.raises(InputError, match=soon):
            run(data, "--pool", "sliced", "--method", "borda", *words)
        with pytest.raises(InputError) as other:
            run(data, "--pool", "sliced", "--method", "copeland", *words)
        assert "chosen" not in str(other.value)


def test_deviations_have_a_column(data: Path) -> None:
    output = run(data, "--pool", "club", "--method", "glicko2")
    row = next(line for line in output.splitlines() if "ann" in line)
    assert [cell.strip() for cell in row.strip("│ ").split("│")] == ["1", "ann", "1600", "50", "1502 to 1698"]
    flat = " ".join(output.split())
    assert "? provisional, without a rank: fewer than 10 outcomes; 1 of 2 agents have ranks" in flat
    assert "95% intervals (belief); assumption: the method's model of games, as of the pool's time" in flat
    rows = json.loads(run(data, "--pool", "club", "--method", "glicko2", "--format", "json"))["rows"]
    assert [(row["deviation"], row["low"]) for row in rows] == [(50.0, 1502.0), (200.0, 1008.0)]


def test_what_ratings_are_made_of_has_a_column(data: Path) -> None:
    found = " ".join(run(data, "--pool", "made").split())
    assert "made of" not in found
    output = run(data, "--pool", "made", "--method", "deviation")
    cells = {line.split("│")[2].strip(): line.split("│")[4].strip() for line in output.splitlines() if line.count("│") == 5}
    assert cells == {"rock": "[b]pong +0.125, qbert -1", "paper": ""}


def test_a_time_that_is_no_number_is_refused(data: Path) -> None:
    with pytest.raises(InputError, match="must be a time such as"):
        run(data, "--pool", "blitz", "--at", "nan")


@pytest.mark.parametrize(
    ("arguments", "words"), [(("--pool", "nope"), "blitz"), (("--pool", "blitz", "--method", "melo"), "maximal_lottery")]
)
def test_what_is_not_there_lists_what_is(data: Path, arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(data, *arguments)


def test_a_pool_that_is_there_and_empty_is_told_from_one_that_nobody_made(data: Path) -> None:
    log = open_log(Settings(data=data))
    control = ControlLog(log.control)
    control.create_pool(PoolCreated(pool="quiet", kind=Kind.GAMES, time=0.0))
    control.close()
    log.close()
    with pytest.raises(InputError, match="must have outcomes: this pool exists, but none was folded yet"):
        run(data, "--pool", "quiet")
    with pytest.raises(InputError, match="must be a pool that has outcomes"):
        run(data, "--pool", "nope")


def test_without_a_running_store_it_says_what_to_start(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="equirank up"):
        run(tmp_path, "--pool", "blitz")


def test_the_difference_tells_who_moved_and_why(data: Path) -> None:
    output = " ".join(run(data, "--pool", "blitz", "--method", "maximal_lottery", "--diff").split())
    assert "position 4 to 9 · +5 outcomes · 2 agents moved, 0 joined, 1 left · because of: outcomes, roster" in output
    assert "▲1 │ rock" in output
    assert "left │ [red]c" in output
    found = json.loads(run(data, "--pool", "blitz", "--method", "maximal_lottery", "--diff", "--against", "4", "--format", "json"))
    assert (found["before"]["position"], found["after"]["position"]) == (4, 9)
    with pytest.raises(InputError, match="elo is an online method, and every position has a board"):
        run(data, "--pool", "blitz", "--diff")


def test_a_difference_without_changes_says_so_and_has_no_table(data: Path) -> None:
    output = run(data, "--pool", "still", "--method", "maximal_lottery", "--diff").strip()
    told = "+0 outcomes · all ranks and ratings are equal, though these differ: generation"
    assert output == f"still · maximal_lottery: position 9 to 9 · {told}"


def test_a_board_as_it_was_says_of_when_it_is(data: Path) -> None:
    board = json.loads(run(data, "--pool", "blitz", "--method", "maximal_lottery", "--format", "json", "--position", "8"))
    assert (board["source"], board["position"], board["rows"][0]["agent"]) == ("past", 4, "paper")
    by_time = json.loads(run(data, "--pool", "blitz", "--method", "maximal_lottery", "--format", "json", "--at", "1970-01-01T00:16:35Z"))
    assert by_time["position"] == 9


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("--position", "3"), "positions 4, 9"), (("--at", "994"), "positions 4, 9"), (("--at", "noon"), "seconds since")],
)
def test_what_is_not_kept_is_refused(data: Path, arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(data, "--pool", "blitz", "--method", "maximal_lottery", *arguments)
