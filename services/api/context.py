"""What every route works with, made once by `create_app`."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from services.api.directory import Directory
from services.api.intake import Intake
from services.api.security import Access
from services.metrics import Metrics
from services.settings import Settings
from services.store.protocol import StoreReader


@dataclass(frozen=True, slots=True)
class Context:
    """Everything is injected, so that tests run the application on real parts of their own."""

    settings: Settings
    store: StoreReader
    directory: Directory
    intake: Intake
    access: Access
    metrics: Metrics
    clock: Callable[[], float] = time.time


def context(request: Request) -> Context:
    """The context of the application that serves `request`."""
    return cast("Context", request.app.state.context)
