"""systemd accepts the units, and rates what they may do."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from services.runtime.settings import Settings

FOLDER = Path(__file__).resolve().parents[3] / "deploy/systemd"
UNITS = sorted(FOLDER.glob("*.service"))
EXPOSURE = 3.0  # of 10; systemd calls less than 4 "ok", and an ordinary service has 9.6

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing: install systemd")


@pytest.fixture(params=UNITS, ids=lambda path: path.stem)
def unit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The unit with a program that this machine has, as an instance where it is a template."""
    program = Path(sys.executable).with_name("equirank")
    path = tmp_path / request.param.name.replace("@", "@8000")
    path.write_text(request.param.read_text().replace("/opt/equirank/bin/equirank", str(program)))
    return path


@needs_systemd
def test_systemd_finds_no_fault(unit: Path) -> None:
    done = subprocess.run(["systemd-analyze", "verify", "--recursive-errors=no", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
def test_a_unit_may_do_little(unit: Path) -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE * 10:.0f}", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:]


def test_settings_exist() -> None:
    text = "\n".join(path.read_text() for path in FOLDER.iterdir())
    names = {name.lower() for name in re.findall(r"EQUIRANK_([A-Z_]+)=", text)}
    assert len(names) > 5
    assert names <= set(Settings.model_fields)
