"""Find the Ray processes that an engine depends on, by a part of their command line."""

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
"""Name of a process -> part of its command line. The raylet schedules tasks on a node and contains the object store (plasma). It ends if
one of the agents ends. The control service (GCS) manages nodes and actors, and restarts actors."""

SCHEDULED: Final = ("raylet", "control service", "dashboard agent")
"""Processes that chaos tests kill."""


def parts_of(engine: int, part: str) -> list[int]:
    """Ids of the processes of a part of Ray that descend from an engine.

    Processes of an earlier engine's Ray may live for another minute, so the command line is not enough. Ancestors are compared instead of
    environments, because an agent that sets its process title may overwrite its environment.

    Args:
        engine: Process id of the engine.
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
