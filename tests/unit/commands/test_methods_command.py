"""`equirank methods`: what is listed, chosen and refused."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ratings_core.errors import InputError
from services.backends import LOG_FILE
from services.cli import main as cli
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.log.sqlite.log import open_sqlite_log
from services.solve.registry.methods import defaults
from services.wire.pools import Kind


@pytest.fixture
def data(tmp_path: Path) -> Path:
    log = open_sqlite_log(tmp_path / LOG_FILE, 8)
    control = ControlLog(log.control)
    control.create_pool(PoolCreated(pool="blitz", kind=Kind.GAMES, time=0.0))
    control.close()
    log.close()
    return tmp_path


def run(data: Path, *arguments: str) -> Result:
    command = ["methods", "--pool", "blitz", "--data", str(data), *arguments]
    found = CliRunner().invoke(cli.application("methods"), command)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def chosen(data: Path, *arguments: str) -> dict[str, dict[str, object]]:
    rows = json.loads(run(data, *arguments, "--format", "json").stdout)
    return {row["method"]: row["chosen"] for row in rows if row["chosen"] is not None}


def test_methods_are_added_dropped_and_set_back(data: Path) -> None:
    start = defaults(Kind.GAMES)
    assert chosen(data) == start
    assert chosen(data, "--add", "approval:k=3", "--drop", "copeland") == {
        **{name: given for name, given in start.items() if name != "copeland"}, "approval": {"k": 3}
    }  # fmt: skip
    assert "approval" in chosen(data), "it stands"
    assert chosen(data, "--default") == start


def test_a_list_of_names_is_one_parameter(data: Path) -> None:
    names = '["ann, of x=1", "b]b", "c\\"d"]'
    found = chosen(data, "--add", f"approval:k=3,only_agents={names},most_agents=5")
    assert found["approval"] == {"k": 3, "only_agents": names, "most_agents": 5}


def test_the_table_says_what_does_not_apply(data: Path) -> None:
    printed = " ".join(run(data).stdout.split())
    assert "stv" in printed
    assert printed.count("ballots or scores") == 1, "each reason once"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--add", "stv"], "ballots"),
        (["--add", "nash_average"], "pools settings POOL --set per_task=true"),
        (["--add", "nash_average_agents:margins=observed"], "missing must be given for a pool"),
        (["--add", "approval:k"], "NAME:parameter=value"),
        (["--add", "approval:k=1,k=2"], "each parameter once"),
        (["--add", "approval:k=1,"], "NAME:parameter=value"),
        (["--drop", "borda"], "one of those chosen"),
        (["--pool", "nowhere"], "there are: blitz"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(data: Path, arguments: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(data, *arguments)
    assert chosen(data) == defaults(Kind.GAMES)


def test_methods_of_slices_are_chosen_and_ended(tmp_path: Path) -> None:
    fold = FoldSettings(online={"elo": {}}, slices={"language": ("elo",), "map": ("elo",)})
    with closing(open_sqlite_log(tmp_path / LOG_FILE, 8)) as log, closing(ControlLog(log.control)) as control:
        control.create_pool(PoolCreated(pool="blitz", kind=Kind.GAMES, time=0.0, fold=fold))
    shown = run(tmp_path, "--slices", "language=copeland,bradley_terry", "--slices", "map=copeland").stdout
    assert "language, map" in shown

    def sliced(*arguments: str) -> dict[str, list[str]]:
        rows = json.loads(run(tmp_path, *arguments, "--format", "json").stdout)
        return {row["method"]: row["slices"] for row in rows if row["slices"]}

    assert sliced() == {"bradley_terry": ["language"], "copeland": ["language", "map"]}
    assert sliced("--slices", "map=") == {"bradley_terry": ["language"], "copeland": ["language"]}
    assert sliced("--drop", "copeland") == {"bradley_terry": ["language"]}
    assert sliced("--add", "borda", "--drop", "bradley_terry", "--slices", "map=borda") == {"borda": ["map"]}
    for text, rule in (
        ("language", "TAG=METHOD"),
        ("=copeland", "TAG=METHOD"),
        ("nation=bradley_terry", "must be a tag of the pool's setting"),
    ):
        with pytest.raises(InputError, match=rule):
            run(tmp_path, "--slices", text)
