"""Run commands on an installation, in the process of the test."""

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from services.cli.main import application
from services.runtime.settings import Settings
from tests.support.worker import PARTITIONS

Run = Callable[..., str]
"""Function that runs a command, given as words. It fails if the command fails, and returns the printed text."""


def command_line(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs commands on the installation of `settings`. Environment variables name its data folder and store."""
    monkeypatch.setenv("EQUIRANK_DATA", str(settings.data))
    monkeypatch.setenv("EQUIRANK_REDIS", str(settings.redis))
    monkeypatch.setenv("EQUIRANK_PARTITIONS", str(PARTITIONS))

    def called(*words: str) -> str:
        done = CliRunner().invoke(application(words[0]), list(words), catch_exceptions=False, env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return done.stdout

    return called
