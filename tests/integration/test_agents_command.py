"""`equirank agents` and `equirank agent` on a real store and a checkpoint, which they find through the data folder."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ratings_core.errors import InputError
from services.backends import open_log
from services.boards.store.redis import RedisStore
from services.cli.agent import agent
from services.cli.agents import agents
from services.runtime.settings import Settings
from services.wire.events import GameEvent, Side
from tests.support.folds import fold_events
from tests.support.pools import state_of
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
    assert json.loads(run(agent, data, "blitz", "bob", "--history", "--from", "1", "--format", "json"))["total"] == 0
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
                            (("blitz", "bob", "--outcomes", "--from", "1"), "must be used with --history"),
                            (("blitz", "bob", "--outcomes", "--history"), "must not be used together"),
                            (("none", "bob"), "POOL must be a pool"), (("blitz", "\udcff"), "NAME must be text")):  # fmt: skip
        with pytest.raises(InputError, match=rule):
            run(agent, data, *arguments)
