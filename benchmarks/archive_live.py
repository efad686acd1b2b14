"""An archive beside live ingest: the CPU it takes, and another K over a pool that is archived, through all processes of `equirank up`.

`python -m benchmarks.archive_live [--quick]`. Goals: at most 10 % more CPU than without an archive; another K over 1 M outcomes in 3 s
from the wish to the switch, at which the control log says that the new generation serves; its boards are written next.

CPU seconds are those of all processes of the installation, from the first outcome until the archive holds the last one, or as long
without an archive; no board is solved meanwhile, because solves take more CPU than ingest and fall into either time by chance. The rows of
another K count wall clock, so they depend on other load.
"""

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
from deltalake.exceptions import TableNotFoundError

from benchmarks.common import Row, arguments, header, show
from benchmarks.generations import Head
from benchmarks.installation import POOL, Up
from benchmarks.stream import HOME, PARTITIONS, PER_REQUEST, fill, games
from services.archive.reader import open_reader
from services.backends import open_log
from services.control import generations
from services.control.log import ControlLog
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import GameEvent
from services.wire.pools import Kind

GOAL_SECONDS = 3.0
RATE = 2_000
APPEND_SECONDS = 5.0
UNSOLVED = {"EQUIRANK_SOLVE_SECONDS": "86400", "EQUIRANK_SOLVE_OUTCOMES": "1000000000"}


def cpu_seconds(data: Path) -> float:
    """CPU seconds so far of all processes of an installation, and of those that they waited for."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(data).encode() in (process / "environ").read_bytes():
                ticks += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:  # it ended, or is not ours
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def archived_to(url: str) -> int:
    try:
        return open_reader(url, HOME).position
    except TableNotFoundError:
        return 0


def wait_for_archive(url: str, position: int) -> None:
    while archived_to(url) < position:
        time.sleep(0.5)


def paced(up: Up, sent: Sequence[GameEvent]) -> None:
    began = time.perf_counter()
    for start in range(0, len(sent), PER_REQUEST):
        time.sleep(max(0.0, began + start / RATE - time.perf_counter()))
        up.post(events.encode(sent[start : start + PER_REQUEST]))


def ingest(data: Path, sent: Sequence[GameEvent], settings: Mapping[str, str], seconds: float | None) -> tuple[float, float]:
    """CPU and wall seconds from the first outcome until the archive has the last; or after `seconds`."""
    up = Up(data, settings={**settings, **UNSOLVED})
    try:
        up.post(events.encode(sent[:1]))
        up.wait(1)
        time.sleep(5.0)
        began, before = time.perf_counter(), cpu_seconds(data)
        paced(up, sent[1:])
        up.wait(len(sent))
        if seconds is None:
            with closing(open_sqlite_log(data / "log.sqlite", PARTITIONS)) as log:
                wait_for_archive(settings["EQUIRANK_ARCHIVE"], log.outcomes.end(HOME))
        time.sleep(max(0.0, began + (seconds or 0.0) - time.perf_counter()))
        return cpu_seconds(data) - before, time.perf_counter() - began
    finally:
        up.stop()


def ingest_row(folder: Path, n: int) -> Row:
    sent, settings = games(n), {"EQUIRANK_ARCHIVE": (folder / "ingested").as_uri(), "EQUIRANK_ARCHIVE_SECONDS": str(APPEND_SECONDS)}
    ours, seconds = ingest(folder / "with", sent, settings, None)
    theirs, _ = ingest(folder / "without", sent, {"EQUIRANK_ARCHIVE": "off"}, seconds)
    print(f"an archive adds {100 * (ours / theirs - 1):.1f} % CPU; appends every {APPEND_SECONDS:g} s, 30 s by default")
    return Row("live ingest with an archive, CPU", f"{n:,} over HTTP at {RATE:,}/s, {seconds:.0f} s", ours, "without", theirs)


def another_k(data: Path) -> float:
    """Seconds from a wish for another K, as `equirank pools settings` makes it, to the switch."""
    with closing(open_log(Settings(data=data), create=False)) as log, closing(ControlLog(log.control)) as control:
        standing = control.standing(POOL)
        online = {**standing.fold.methods(Kind.GAMES), "elo": {"k": 20.0}}
        began = time.perf_counter()
        control.want(generations.wish(standing, time=time.time(), fold=msgspec.structs.replace(standing.fold, online=online)))
        while control.refresh().served(POOL) < 2:
            time.sleep(0.02)
        return time.perf_counter() - began


def k_rows(folder: Path, n: int) -> list[Row]:
    data, url = folder / "k", (folder / "archived").as_uri()
    up = Up(data, settings={"EQUIRANK_ARCHIVE": url})
    try:
        sent, head = games(n), Head(up, POOL)
        up.post(events.encode(sent[:1]))
        up.wait(1)
        with closing(open_sqlite_log(data / "log.sqlite", PARTITIONS)) as log:
            fill(log.outcomes, [events.encode([one]) for one in sent[1:]])
            up.wait(n)
            wait_for_archive(url, log.outcomes.end(HOME))
        switched = another_k(data)
        shown = switched + head.seconds_to(generation=2)
    finally:
        up.stop()
    size = f"{n:,} outcomes"
    return [
        Row("another K, wish -> switch", size, switched, "goal", GOAL_SECONDS),
        Row("another K, wish -> corrected boards", size, shown, "no goal", None),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    given = arguments(__doc__ or "", argv)
    header("An archive beside live ingest", ("deltalake", "msgspec", "ray"))
    with tempfile.TemporaryDirectory(prefix="bench-archive-", dir=Path(__file__).parent) as folder:
        for row in k_rows(Path(folder), 20_000 if given.quick else 1_000_000):
            show(row)
        show(ingest_row(Path(folder), 20_000 if given.quick else 200_000))


if __name__ == "__main__":
    main()
