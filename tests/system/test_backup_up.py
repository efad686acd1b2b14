"""`equirank backup` of an `equirank up` that takes outcomes, and another one from it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.demo import simulated
from tests.support.games import outcomes
from tests.support.installation import Installation, installation, until
from tests.support.waiting import PATIENCE

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class Feed(threading.Thread):
    """Sends games until it is stopped. accepted: how many, in order."""

    def __init__(self, one: Installation) -> None:
        super().__init__()
        self.accepted, self._one, self._stopping = 0, one, threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(0.1):
            if self._one.post("/v1/outcomes", outcomes(self.accepted, self.accepted + 50))[0] == 202:
                self.accepted += 50

    def stop(self) -> None:
        self._stopping.set()
        self.join(PATIENCE)


@contextmanager
def feeding(one: Installation) -> Iterator[Feed]:
    feed = Feed(one)
    feed.start()
    try:
        yield feed
    finally:
        feed.stop()


def test_what_was_accepted_before_a_backup_is_on_the_boards_made_from_it(tmp_path: Path) -> None:
    data, saved, again = tmp_path / "data", tmp_path / "saved", tmp_path / "again"
    with installation(data) as one, feeding(one) as feed:
        until(lambda: feed.accepted >= 500, "500 games accepted")
        until(lambda: one.get(f"/v1/pools/{simulated.POOL}/boards/copeland"), "solved")
        before = feed.accepted
        made = one.run("backup", str(saved))
        assert made.returncode == 0, made.stderr
        after = feed.accepted + 50
        until(lambda: feed.accepted > after, "it goes on")
        refused = one.run("restore", str(saved), "--data", str(data))
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "must not contain another installation's data" in refused.stderr
        done = one.run("restore", str(saved), "--data", str(again))
        assert done.returncode == 0, done.stderr
    with installation(again) as other:
        until(lambda: before <= other.outcomes(simulated.POOL) <= after, "all from before, and nothing that was never sent")
        until(lambda: other.get(f"/v1/pools/{simulated.POOL}/boards/copeland"), "solved boards are there")
        stands = other.outcomes(simulated.POOL)
        assert other.post("/v1/outcomes", outcomes(stands - 200, stands + 100))[0] == 202
        until(lambda: other.outcomes(simulated.POOL) == stands + 100, "what is sent again counts once")
        verified = other.run("verify")
        assert verified.returncode == 0, verified.stdout + verified.stderr
