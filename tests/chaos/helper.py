"""A thread of the room whose failure ends the run."""

import threading


class Helper(threading.Thread):
    """A thread of the room. What it dies of is kept, and raised where the room waits next: nobody goes on without it."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._stopping = threading.Event()
        self._failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - raised again by `check`
            self._failure = error

    def work(self) -> None:
        """What it does until it is stopped."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise what it died of."""
        if self._failure is not None:
            raise AssertionError(f"the {self.name} thread died") from self._failure
