"""The processes of Ray that an engine depends on, by a part of their command line."""

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "raylet": "raylet/raylet ",
    "control service": "gcs/gcs_server ",
    "dashboard agent": "ray::DashboardAgent",
    "runtime environment agent": "ray::RuntimeEnvAgent",
}
"""raylet: schedules on one node and holds the object store (plasma), which has no process of its own; it ends with either agent.
control service (GCS): knows nodes and actors, and restarts these."""
