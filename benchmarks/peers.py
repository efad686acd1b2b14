"""Peers that cannot live beside ours: run by an interpreter of their own, as ortools and highspy clash in one process.

`EQUIRANK_PEERS` names a Python that has them: `python -m venv peers`, then `peers/bin/pip install ortools cvxpy polarix`, then
`peers/bin/pip uninstall highspy`, which cvxpy brings along. Without it such rows are printed without a reference, and say so. A
peer's program reads one JSON object and prints one.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

VARIABLE = "EQUIRANK_PEERS"
FOLDER = Path(__file__).parent / "peer_programs"
LONGEST = 900.0
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
    command = [python, str(FOLDER / f"{program}.py")]
    try:
        done = subprocess.run(
            command, input=json.dumps(question), capture_output=True, text=True, timeout=longest, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not finished: {type(error).__name__}"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
