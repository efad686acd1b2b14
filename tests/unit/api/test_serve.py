"""What `serve` sets before it serves."""

import gc
from collections.abc import Iterator

import pytest
import uvicorn
from litestar import Litestar

from services.api.serve import serve
from services.runtime.settings import Settings


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()


def test_full_collections_of_garbage_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full collection stops every answer for 0.2 s with 5,000 connections open. New objects must not lead to one."""
    full = 0

    def count(phase: str, information: dict[str, int]) -> None:
        nonlocal full
        full += phase == "start" and information["generation"] == 2

    def many_connections(server: uvicorn.Server, *_: object) -> None:
        server.started = True
        gc.callbacks.append(count)
        kept = [[number] for number in range(400_000)]
        gc.callbacks.remove(count)
        assert len(kept) == 400_000

    monkeypatch.setattr(uvicorn.Server, "run", many_connections)
    serve(Litestar(), Settings())
    assert full == 0
