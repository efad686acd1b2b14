"""The `equirank` command of an installation: makes `services` importable, then runs the command line.

The wheel installs this file as the package `equirank_services`, and the folder `services` inside that package
(docs/decisions/0034-one-wheel-three-names.md). Other programs therefore have no package named `services` on their path. In a checkout,
`services` is already on the path.
"""

import os
import sys
from pathlib import Path
from typing import Final

_OURS: Final = {"services", "ratings_core"}


def main() -> None:
    """Run the command line.

    Exits with status 2 and one line on stderr if a package of the extra `service` is not installed.
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
    """If `folder` holds `services`, put it first on the path of this process and of all processes started from it, such as Ray's."""
    if (folder / "services").is_dir():
        sys.path.insert(0, str(folder))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
