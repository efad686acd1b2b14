"""The examples of the commands' help and of docs/reference/commands.md work, in their order, beside the demo."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from benchmarks import peers
from services.cli.examples import EXAMPLES
from services.demo import simulated
from tests.support.installation import installation
from tests.support.waiting import PATIENCE, until

GAMES: Final = 240
"""More than `scoreboard` needs."""
STARTED: Final = ("up", "engine", "api")
"""Commands that run until they are stopped. This test runs beside the first one; tests of nodes and of the chart start the others."""
REFUSED: Final = {
    "equirank seasons withdraw copy spring": "season must not have begun",
    "equirank partitions accept-loss 3": "partition must have lost records, but has lost none",
    "equirank partitions skip 3 --offset 41": "offset must be in a damaged batch",
    "equirank partitions retry 3": "partition must be isolated at a record",
    "equirank dead-letters show 1/0/41/0 --whole": "key must be the key of a dead letter",
    "equirank store forget LOG --engine-is-gone": "LOG must be a log in the store",
}
"""Examples for what does not happen in a sound installation. They are understood, and say why there is nothing to do."""
WITHOUT_PEERS: Final = {"equirank bench --quick --only elo": "run `make peers`"}
"""Examples that need the environment of other packages, and what they say without it."""


def test_the_examples_of_all_commands_work_in_their_order(tmp_path: Path) -> None:
    with installation(tmp_path / "data", "--demo") as one:
        until(lambda: one.outcomes(simulated.POOL) >= GAMES, f"{GAMES} games of the demo")
        until(lambda: one.get(f"/v1/pools/{simulated.POOL}/boards/maximal_lottery") is not None, "a solved board")
        environment = {**one.environment, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        refused = REFUSED if peers.interpreter() else REFUSED | WITHOUT_PEERS
        for words, lines in EXAMPLES.items():
            for line in lines if words not in STARTED else ():
                done = subprocess.run(
                    ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
                )
                said = done.stdout + done.stderr
                if line in refused:
                    assert (done.returncode, refused[line] in said) == (2, True), f"{line}\n{said}"
                else:
                    assert done.returncode == 0, f"{line}\n{said}"
