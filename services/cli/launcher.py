"""The `equirank` command of an installation: makes `services` importable, then runs the command line.

The wheel installs this file as the package `equirank_services`, and the folder `services` inside that package
(docs/decisions/0034-one-wheel-three-names.md). So no package named `services` is on the path of anybody else's program. In a checkout
`services` is on the path already.
"""

import os
import sys
from pathlib import Path
from typing import Final

_OURS: Final = {"services", "ratings_core"}


def main() -> None:
    """Run the command line.

    Exits with status 2 and one line on stderr if a package is missing that the extra `service` brings.
    """
    _make_importable(Path(__file__).parent)
    try:
        from services.cli.main import main as run  # noqa: PLC0415 - importable only now

        run()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in _OURS:
            raise
        sys.stderr.write(f"equirank: the package {missing} is not installed; the commands need it: pip install 'equirank[service]'\n")
        sys.exit(2)


def _make_importable(folder: Path) -> None:
    """Put `folder` first on the path, here and in every process started from here (Ray's workers too), if it holds `services`."""
    if (folder / "services").is_dir():
        sys.path.insert(0, str(folder))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
