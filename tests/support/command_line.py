"""The command line on an installation, in the test's own process."""

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from services.cli.main import application
from services.runtime.settings import Settings
from tests.support.worker import PARTITIONS

Run = Callable[..., str]
"""Takes the words of a command, requires that it succeeds, and returns what it printed."""


def command_line(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Commands find data folder and store of `settings` in the environment."""
    monkeypatch.setenv("EQUIRANK_DATA", str(settings.data))
    monkeypatch.setenv("EQUIRANK_REDIS", str(settings.redis))
    monkeypatch.setenv("EQUIRANK_PARTITIONS", str(PARTITIONS))

    def called(*words: str) -> str:
        done = CliRunner().invoke(application(words[0]), list(words), catch_exceptions=False, env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return done.stdout

    return called
