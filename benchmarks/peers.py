"""Peers that cannot live beside ours: run by an interpreter of their own, as ortools and highspy clash in one process.

`scripts/peers FOLDER` makes an environment that has them (CVXPY with GLOP, polarix), from a lock of its own, and prints the line that
names it: `EQUIRANK_PEERS=FOLDER/bin/python`. Without it such rows are printed without a reference, and say so. A peer's program reads
one JSON object and prints one.
"""

import os
from pathlib import Path
from typing import Any

from benchmarks.isolated import answer

VARIABLE = "EQUIRANK_PEERS"
FOLDER = Path(__file__).parent / "peer_programs"
LONGEST = 300.0
"""Seconds after which a peer counts as one that did not finish."""


def interpreter() -> str | None:
    """The peers' Python; None where none is named."""
    return os.environ.get(VARIABLE)


def ask(program: str, question: dict[str, Any], longest: float = LONGEST) -> dict[str, Any] | str:
    """What `peer_programs/PROGRAM.py` answers, or why there is no answer."""
    python = interpreter()
    if python is None:
        return f"not run, {VARIABLE} is not set"
    environment = {"PATH": os.environ.get("PATH", ""), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return answer([python, str(FOLDER / f"{program}.py")], question, longest, environment, program)
