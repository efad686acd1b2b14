"""Virtual environments with the built wheel, as users install it. Tests are skipped if no package index is reachable."""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.installation import Installation

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "services/client"
UV = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
UNREACHABLE = re.compile(
    r"dns error|failed to lookup|network (connectivity|is unreachable)|connection (refused|reset)|timed out|failed to fetch", re.IGNORECASE
)


def uv(*arguments: str) -> None:
    """Run uv. Skips the test if uv is missing or no package index answers; fails on all other errors."""
    if UV is None:
        pytest.skip("uv is not installed, so no environment can be made for the wheel")
    done = subprocess.run([UV, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0 and UNREACHABLE.search(done.stderr):
        pytest.skip(f"no package index can be reached, so the wheel is NOT tested: {' '.join(done.stderr.split())[:300]}")
    assert done.returncode == 0, done.stderr


def build(folder: Path, project: Path = ROOT) -> Path:
    """Build the wheel of a project in `folder`. Returns its path."""
    uv("build", "--wheel", "--quiet", "--out-dir", str(folder), str(project))
    (wheel,) = folder.glob("*.whl")
    return wheel


class Environment:
    """A virtual environment of the running Python version, without access to the modules of the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin/python"
        self.command = folder / "bin/equirank"

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def make(self) -> None:
        uv("venv", "--quiet", "--python", sys.executable, str(self.folder))

    def install(self, *arguments: str) -> None:
        """Install packages. Bytecode is compiled by imports, only for the imported modules: all of numba and scipy would take 15 s."""
        uv("pip", "install", "--quiet", "--python", str(self.python), *arguments)

    def borrow(self) -> None:
        """Make the packages of the running environment importable. Its .pth file is not read, so the checkout is not importable."""
        (self.packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def take_kernels(self, besides: str) -> None:
        """Copy cached machine code of the kernels from the checkout, because compiling all of them takes minutes.

        besides: module whose machine code is not copied.
        """
        homes = {"ratings_core": self.packages, "services": self.packages / "equirank_services"}
        for package, home in homes.items():
            for folder in (ROOT / package).glob(f"**/__pycache__/{package}.*-*/"):
                if not folder.name.startswith(f"{besides}-"):
                    shutil.copytree(folder, home / folder.relative_to(ROOT), dirs_exist_ok=True)

    def run(self, *command: str | Path, directory: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a command outside of the checkout, without environment variables that could make the checkout importable."""
        environment = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder)}
        return subprocess.run(
            command, cwd=directory or self.folder, env=environment, capture_output=True, text=True, check=False, timeout=600
        )

    def python_output(self, program: str) -> str:
        """Run a Python program, and return the printed text. Fails if the program fails."""
        done = self.run(self.python, "-c", program)
        assert done.returncode == 0, done.stderr
        return done.stdout


class InstalledWheel(Installation):
    """`equirank up`, run by the command of an environment in the working directory `directory`."""

    def __init__(self, environment: Environment, data: Path, directory: Path) -> None:
        self._environment, self.directory = environment, directory
        super().__init__(data)

    def _command(self, *command: str) -> list[str]:
        return [str(self._environment.command), *command]
