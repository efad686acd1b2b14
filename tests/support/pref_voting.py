"""Call pref_voting in a child process with a separate environment, which `scripts/oracles` makes. A test run has a single child."""

import atexit
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-oracles" / "bin" / "python"


class PrefVoting:
    """The child process. Requests are lines of JSON; tests/oracles/serve.py defines them."""

    def __init__(self) -> None:
        serve = ROOT / "tests" / "oracles" / "serve.py"
        self._child = subprocess.Popen([PYTHON, serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        atexit.register(self.close)

    def ask(self, name: str, **question: Any) -> Any:
        """Send a request, and return the answer. Raises `OracleError` if pref_voting raised an exception."""
        return self._reply(name, question)["answer"]

    def seconds(self, name: str, **question: Any) -> float:
        """CPU seconds of a request without compilation: the child runs it twice."""
        return float(self._reply(name, {**question, "times": 2})["seconds"])

    def _reply(self, name: str, question: dict[str, Any]) -> dict[str, Any]:
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.write(json.dumps({"ask": name, **question}) + "\n")
        self._child.stdin.flush()
        reply = json.loads(self._child.stdout.readline())
        if "error" in reply:
            raise OracleError(f"pref_voting, asked for {name}: {reply['error']}")
        return dict(reply)

    def close(self) -> None:
        """End the child."""
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.close()
        self._child.wait()
        self._child.stdout.close()


class OracleError(RuntimeError):
    """The oracle failed, not the tested code."""


def installed() -> bool:
    """Whether the environment of pref_voting exists and is complete."""
    return PYTHON.exists() and (PYTHON.parents[1] / "equirank.stamp").exists()


@cache
def pref_voting() -> PrefVoting:
    """The child process, started by the first call. Skips the test if the environment of pref_voting is missing."""
    if not installed():
        pytest.skip("pref_voting is not installed: scripts/oracles makes .venv-oracles for it")
    return PrefVoting()
