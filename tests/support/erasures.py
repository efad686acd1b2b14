"""A fake `Eraser` for tests of engines without erasures."""

import logging

from services.engine.eraser import ErasureHealth
from services.engine.partition_tasks import PartitionTasks
from tests.support.task_pool import FakeTaskPool


class NoErasures:
    """Has the attribute and the methods of `Eraser` that the engine's loop uses."""

    tasks = PartitionTasks(FakeTaskPool(), logging.getLogger(), "%s", 0.0)

    def step(self, *_: object) -> None:
        return

    def health(self) -> ErasureHealth:
        return ErasureHealth()
