"""`equirank agents` and `equirank agent` on a real store and a checkpoint, which they find through the data folder."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ratings_core.errors import InputError
from services.backends import open_log
from services.boards.store.redis import RedisStore
from services.cli.agent import agent
from services.cli.agents import agents
from services.cli.top import top
from services.control.log import ControlLog, NoPool
from services.runtime.settings import Settings
from services.wire.events import GameEvent, Side
from tests.support.folds import fold_events
from tests.support.pools import pool_of, state_of
from tests.support.redis import supervised
from tests.support.served_pools import ServedPool


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("data")
    with supervised(folder) as (server, _):
        log = open_log(Settings(data=folder))
        store = RedisStore(server.url, log.outcomes.identity)
        log.close()
        served, state = ServedPool(store, folder), state_of("blitz")
        pairs = [("[red]Ann", "bob"), ("[red]Ann", "bob"), ("bob", "Annabel")]
        games = [
            GameEvent(v=1, id=str(i), pool="blitz", time=0.0, sides=[Side(agents=[a], place=0), Side(agents=[b], place=1)])
            for i, (a, b) in enumerate(pairs)
        ]
        assert fold_events(state, games) == []
        served.checkpoint(state, 3)
        served.publish(state, 3)
        store.close()
        yield folder


def run(command: Callable[..., None], data: Path, *arguments: str) -> str:
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, ["--data", str(data), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_agents_are_found_by_a_part_of_their_name(data: Path) -> None:
    found = json.loads(run(agents, data, "blitz", "ANN", "--format", "json"))
    assert [row["agent"] for row in found["agents"]] == ["Annabel", "[red]Ann"]
    shown = run(agents, data, "blitz", "--count", "1")
    assert "bob" in shown
    assert "more: --cursor" in shown
    assert "nearest names: Annabel" in run(agents, data, "blitz", "Anabel")


def test_an_agent_has_a_profile_and_opponents(data: Path) -> None:
    profile = json.loads(run(agent, data, "blitz", "bob", "--format", "json"))
    assert [profile["games"][name] for name in ("games", "wins", "draws", "losses")] == [3.0, 1.0, 0.0, 2.0]
    shown = run(agent, data, "blitz", "[red]Ann")
    assert "blitz · [red]Ann · 2 outcomes" in shown
    assert "2 games: 2 won, 0 drawn, 0 lost" in shown
    opponents = json.loads(run(agent, data, "blitz", "bob", "--opponents", "--format", "json"))
    assert [(row["agent"], row["games"]) for row in opponents["opponents"]] == [("[red]Ann", 2.0), ("Annabel", 1.0)]
    assert "expected (elo)" in run(agent, data, "blitz", "bob", "--opponents")


def test_an_agent_has_a_history_and_outcomes(data: Path) -> None:
    history = json.loads(run(agent, data, "blitz", "bob", "--history", "--format", "json"))
    assert [point["outcome"] for point in history["points"]] == [1, 2, 3]
    assert (history["events"], history["events_total"]) == ([], 0)
    assert json.loads(run(agent, data, "blitz", "bob", "--history", "--since", "1", "--format", "json"))["total"] == 0
    assert "3 points by sco" in run(agent, data, "blitz", "bob", "--history", "--method", "sco", "--points", "10")
    newest = json.loads(run(agent, data, "blitz", "bob", "--outcomes", "--count", "2", "--format", "json"))
    assert [(row["result"], row["opponents"][0]["agents"]) for row in newest["outcomes"]] == [("won", ["Annabel"]), ("lost", ["[red]Ann"])]
    shown = run(agent, data, "blitz", "bob", "--outcomes", "--count", "2", "--cursor", newest["next"])
    assert "[red]Ann" in shown
    assert "more: --cursor" not in shown
    assert "streak: 2 won" in run(agent, data, "blitz", "[red]Ann")


def test_unknown_names_and_options_without_opponents_are_refused(data: Path) -> None:
    for arguments, rule in ((("blitz", "nobody"), "must be an agent of pool blitz"),
                            (("blitz", "bob", "--method", "elo"), "--opponents or --outcomes or --history"),
                            (("blitz", "bob", "--outcomes", "--since", "1"), "must be used with --history"),
                            (("blitz", "bob", "--outcomes", "--history"), "must not be used together"),
                            (("none", "bob"), "POOL must be a pool"), (("blitz", "\udcff"), "NAME must be text")):  # fmt: skip
        with pytest.raises(InputError, match=rule):
            run(agent, data, *arguments)


@pytest.fixture
def created(data: Path) -> Path:
    """The installation, whose control log has the pool."""
    with closing(open_log(Settings(data=data))) as log:
        ControlLog(log.control).create_pool(pool_of("blitz"))
    return data


def test_details_are_changed_and_shown_also_of_hidden_agents(created: Path) -> None:
    change = ("--set", "country=DE", "--set", "tags.team=red", "--set", "display_name=Bob the Great", "--set", "hidden=true")
    assert run(agent, created, "blitz", "bob", *change) == "bob of blitz: changed\n"
    assert run(agent, created, "blitz", "bob", "--set", "country=DE") == "bob of blitz: nothing to change\n"
    shown = run(agent, created, "blitz", "bob")
    for line in ("display_name: Bob the Great", "country: DE", "tags.team: red", "hidden: boards"):
        assert line in shown
    assert "bob (Bob the Great)" in run(agents, created, "blitz", "the great")
    run(agent, created, "blitz", "bob", "--set", "hidden=", "--set", "tags.team=")
    assert json.loads(run(agent, created, "blitz", "bob", "--format", "json"))["details"] == {
        "country": "DE",
        "display_name": "Bob the Great",
    }


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_saved_details_are_loaded_again(created: Path, tmp_path: Path, ending: str) -> None:
    run(agent, created, "blitz", "bob", "--set", "country=DE", "--set", 'tags.team=a "b", c')
    file = tmp_path / f"details{ending}"
    assert f"{file}: details of " in run(agents, created, "blitz", "--save", str(file))
    run(agent, created, "blitz", "bob", "--set", "country=", "--set", "tags.team=")
    assert "details of 1 changed" in run(agents, created, "blitz", "--load", str(file))
    assert "details of 0 changed" in run(agents, created, "blitz", "--load", str(file))
    assert json.loads(run(agent, created, "blitz", "bob", "--format", "json"))["details"]["tags"] == {"team": 'a "b", c'}


def test_details_with_a_mistake_are_refused(created: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("agent,country\nbob,Germany\n")
    for command, arguments, rule in (
        (agent, ("blitz", "bob", "--set", "contry=DE"), "must be KEY=VALUE"),
        (agent, ("blitz", "bob", "--set", "country"), "must be KEY=VALUE"),
        (agent, ("blitz", "bob", "--set", "hidden=yes"), "true or false"),
        (agent, ("blitz", "bob", "--set", "country=DE", "--set", "country=FR"), "must be set once"),
        (agent, ("blitz", "bob", "--set", "country=Germany"), "two capital letters"),
        (agents, ("blitz", "--load", str(tmp_path / "bad.csv")), "two capital letters"),
        (agents, ("blitz", "--load", str(tmp_path / "none.csv")), "must be readable"),
        (agents, ("blitz", "--load", str(tmp_path / "bad.txt")), "must end in"),
        (agents, ("blitz", "--save", str(tmp_path / "bad.txt")), "must end in"),
    ):
        with pytest.raises(InputError, match=rule):
            run(command, created, *arguments)
    with pytest.raises(NoPool):
        run(agents, created, "none", "--save", str(tmp_path / "none.csv"))


def test_a_board_is_printed_with_details_and_games(created: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    run(agent, created, "blitz", "Annabel", "--set", "organisation=Bell Labs", "--set", "hidden=true")
    shown = run(top, created, "--pool", "blitz", "--details", "--count", "3")
    assert all(word in shown for word in ("organisation", "Bell Labs", "games", "losses"))
    rows = json.loads(run(top, created, "--pool", "blitz", "--details", "--format", "json"))["rows"]
    assert {row["agent"]: (row["wins"], row["losses"]) for row in rows} == {
        "[red]Ann": (2.0, 0.0),
        "bob": (1.0, 2.0),
        "Annabel": (0.0, 1.0),
    }
    assert "organisation" not in run(top, created, "--pool", "blitz")
