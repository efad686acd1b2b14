"""The processes of Ray that an engine depends on, by a part of their command line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.installation import processes_with

PARTS: Final[Mapping[str, str]] = {
    "raylet": "raylet/raylet ",
    "control service": "gcs/gcs_server ",
    "dashboard agent": "ray::DashboardAgent",
    "runtime environment agent": "ray::RuntimeEnvAgent",
}
"""raylet: schedules on one node and holds the object store (plasma), which has no process of its own; it ends with either agent.
control service (GCS): knows nodes and actors, and restarts these."""

SCHEDULED: Final = ("raylet", "control service", "dashboard agent")
"""Parts that chaos kills."""


def parts_of(engine: int, part: str) -> list[int]:
    """Processes of that part of the Ray which `engine` started, and not of one before it, whose helpers live on for a minute.

    They are found by their ancestors: an agent that sets its title may overwrite its environment.

    Args:
        engine: Process of the engine.
        part: A key of `PARTS`.

    """
    return [pid for pid, line in processes_with("", PARTS[part]).items() if PARTS[part] in line and engine in _ancestors(pid)]


def _ancestors(pid: int) -> set[int]:
    found: set[int] = set()
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
        found.add(pid)
    return found
