"""An eraser for drivers of an engine that has nothing to erase."""

from collections.abc import Collection

from services.engine.eraser import ErasureHealth


class NoErasures:
    """Implements what the engine's loop asks of an `Eraser`."""

    busy: Collection[int] = ()

    def step(self, *_: object) -> None:
        return

    def health(self) -> ErasureHealth:
        return ErasureHealth()
