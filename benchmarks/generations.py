"""New generations: from retractions, and from another K, to corrected boards, through all processes of `equirank up`.

`python -m benchmarks.generations [--quick]`. Goal: under 60 s for a pool of 1 M outcomes, one a record. The same log holds as many
outcomes of another pool, which a build must pass over, and takes 1,000/s more while one is built. Wall clock; the workload is that of
`zipf_games`.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from benchmarks.common import Row, arguments, header, show
from benchmarks.installation import PARTITIONS, POOL, Up
from benchmarks.stream import HOME, fill, games
from services.log.partition import partition_of
from services.log.sqlite.log import open_sqlite_log
from services.wire import events
from services.wire.events import GameEvent, RetractEvent

RETRACTED = 1_000
GOAL_SECONDS = 60.0
RATE = 1_000
OTHER = next(name for i in range(1000) if partition_of(name := f"other-{i}", PARTITIONS) == HOME)


class Head:
    """What readers see of a pool."""

    def __init__(self, up: Up, pool: str) -> None:
        self._url = f"{up.api}/v1/pools/{pool}"

    def get(self) -> dict[str, object]:
        with urllib.request.urlopen(self._url, timeout=30) as answer:  # noqa: S310 - our own address
            return dict(json.load(answer)["head"] or {})

    def seconds_to(self, **wanted: object) -> float:
        """Until the head shows this, from now."""
        began = time.perf_counter()
        while not wanted.items() <= self.get().items():
            time.sleep(0.02)
        return time.perf_counter() - began


def renamed(sent: Sequence[GameEvent]) -> list[GameEvent]:
    return [msgspec.structs.replace(game, pool=OTHER) for game in sent]


def retract(up: Up, ids: Sequence[str]) -> None:
    up.post(events.encode([RetractEvent(v=1, id=f"r-{one}", pool=POOL, time=0.0, retracts=one) for one in ids]))


class Feed(threading.Thread):
    """Sends games of the other pool at `RATE` until stopped, and finds the longest time that one of them took to be seen."""

    def __init__(self, up: Up, sent: Sequence[GameEvent], shown: int) -> None:
        super().__init__()
        self._up, self._sent, self._shown, self._head = up, sent, shown, Head(up, OTHER)
        self._stopping = threading.Event()
        self.worst = 0.0

    def run(self) -> None:
        part = RATE // 10
        for start in range(0, len(self._sent), part):
            if self._stopping.is_set():
                return
            began = time.perf_counter()
            self._up.post(events.encode(self._sent[start : start + part]))
            self._shown += part
            while int(str(self._head.get()["outcomes"])) < self._shown:
                time.sleep(0.01)
            spent = time.perf_counter() - began
            self.worst = max(self.worst, spent)
            self._stopping.wait(max(0.0, part / RATE - spent))

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def rows(folder: Path, n: int) -> None:
    sent, more = games(n), renamed(games(n + int(GOAL_SECONDS) * RATE)[n:])
    up = Up(folder / "data")
    try:
        head, other = Head(up, POOL), Head(up, OTHER)
        up.post(events.encode(sent[:1]))
        up.post(events.encode(renamed(sent[:1])))
        with closing(open_sqlite_log(up.data / "log.sqlite", PARTITIONS)) as log:
            fill(log.outcomes, [events.encode([one]) for pair in zip(sent[1:], renamed(sent[1:]), strict=True) for one in pair])
        spent = head.seconds_to(outcomes=n) + other.seconds_to(outcomes=n)
        print(f"first fold of {2 * n:,} outcomes: shown {spent:.1f} s after the last was in the log", flush=True)
        feed = Feed(up, more, n)
        feed.start()
        gone = [one.id for one in sent[:: max(1, n // RETRACTED)]][:RETRACTED]
        retract(up, gone)
        spent = head.seconds_to(generation=2)
        feed.stop()
        if head.get()["outcomes"] != n - len(gone):
            raise ValueError("the corrected boards count wrongly")
        show(Row(f"{len(gone):,} retractions -> corrected boards", f"{n:,} outcomes", spent, "goal", GOAL_SECONDS))
        print(f"meanwhile {RATE:,}/s of another pool of the partition: each shown after at most {feed.worst:.2f} s")
        began = time.perf_counter()
        asked = ["pools", "settings", POOL, "--set", "online.elo.k=20", "--data", str(up.data), "--no-wait"]
        subprocess.run([sys.executable, "-m", "services.cli.main", *asked], check=True, capture_output=True)
        head.seconds_to(generation=3)
        show(Row("another K -> corrected boards", f"{n:,} outcomes", time.perf_counter() - began, "goal", GOAL_SECONDS))
    finally:
        up.stop()


def main(argv: Sequence[str] | None = None) -> None:
    given = arguments(__doc__ or "", argv)
    header("New generations", ("msgspec", "numba", "ray"))
    with tempfile.TemporaryDirectory(prefix="bench-generations-", dir=Path(__file__).parent) as folder:
        rows(Path(folder), 20_000 if given.quick else 1_000_000)


if __name__ == "__main__":
    main()
