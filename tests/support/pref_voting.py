"""pref_voting in a process of its own (`scripts/oracles` makes its environment): one child for a whole run of tests."""

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
    """Questions are lines of JSON; see tests/oracles/serve.py for what can be asked."""

    def __init__(self) -> None:
        serve = ROOT / "tests" / "oracles" / "serve.py"
        self._child = subprocess.Popen([PYTHON, serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        atexit.register(self.close)

    def ask(self, name: str, **question: Any) -> Any:
        """The answer; an `OracleError` where pref_voting raised."""
        return self._reply(name, question)["answer"]

    def seconds(self, name: str, **question: Any) -> float:
        """CPU seconds of the answer, compiled before."""
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
        """Ends the child."""
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.close()
        self._child.wait()
        self._child.stdout.close()


class OracleError(RuntimeError):
    """The oracle failed, not the subject."""


def installed() -> bool:
    """Whether its environment is there, whole."""
    return PYTHON.exists() and (PYTHON.parents[1] / "equirank.stamp").exists()


@cache
def pref_voting() -> PrefVoting:
    """The child, started when first asked for; skips the test where its environment is not there."""
    if not installed():
        pytest.skip("pref_voting is not installed: scripts/oracles makes .venv-oracles for it")
    return PrefVoting()
