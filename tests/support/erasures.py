"""A fake `Eraser` for tests of engines without erasures."""

from collections.abc import Collection

from services.engine.eraser import ErasureHealth


class NoErasures:
    """Implements the methods of `Eraser` that the engine's loop calls."""

    busy: Collection[int] = ()

    def step(self, *_: object) -> None:
        return

    def health(self) -> ErasureHealth:
        return ErasureHealth()
