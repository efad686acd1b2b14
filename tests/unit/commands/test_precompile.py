"""`equirank precompile` is run by whoever installs, often root, for processes of another user."""

import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import os, sys
from pathlib import Path
import services.precompile
os.umask(0o022)
services.precompile.warm = Path(sys.argv[1]).touch
sys.argv = ["equirank", "precompile"]
from services.cli.main import main
main()
"""


def test_what_it_writes_can_be_read_by_every_user(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel"
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(kernel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert oct(kernel.stat().st_mode & 0o777) == "0o644"
