"""Peers that cannot live beside ours: run by an interpreter of their own, as ortools and highspy clash in one process.

`make peers` makes `.venv-peers` from a lock of its own, with all packages that benchmarks compare with. EQUIRANK_PEERS names another
interpreter. `equirank bench` needs one; the single benchmarks print such rows without a reference where there is none, and say so. A peer's
program in `peer_programs` reads one JSON object and prints one.
"""

import os
from pathlib import Path
from typing import Any

from benchmarks.isolated import answer
from ratings_core.errors import InputError

VARIABLE = "EQUIRANK_PEERS"
FOLDER = Path(__file__).parent / "peer_programs"
ENVIRONMENT = Path(__file__).resolve().parents[1] / ".venv-peers"
LONGEST = 300.0
"""Seconds after which a peer counts as one that did not finish."""


def interpreter() -> str | None:
    """The peers' Python: that of EQUIRANK_PEERS, else of a complete `.venv-peers`; None where there is neither."""
    named = os.environ.get(VARIABLE)
    complete = (ENVIRONMENT / "equirank.stamp").exists()
    return named or (str(ENVIRONMENT / "bin" / "python") if complete else None)


def require() -> str:
    """The peers' Python. Raises `InputError`, which says how to make it, where there is none."""
    python = interpreter()
    if python is None or not os.access(python, os.X_OK):
        what = VARIABLE if os.environ.get(VARIABLE) else "peers"
        raise InputError(what, python or str(ENVIRONMENT), "must be the Python of an environment with the peers: run `make peers`")
    return python


def ask(program: str, question: dict[str, Any], longest: float = LONGEST) -> dict[str, Any] | str:
    """What `peer_programs/PROGRAM.py` answers, or why there is no answer."""
    python = interpreter()
    if python is None:
        return "not run, `make peers` makes its environment"
    environment = {"PATH": os.environ.get("PATH", ""), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return answer([python, str(FOLDER / f"{program}.py")], question, longest, environment, program)
