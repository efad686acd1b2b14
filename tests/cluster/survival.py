"""What the disaster tests and the rotation tests share: an event under load, and the judgement of what came of it."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.cluster.cluster import Loader, Status, wait_until

RECORDS: Final = 20
LEAST_SECONDS: Final = 5.0
MOST_SECONDS: Final = 240.0
_TABLE: Final[list[str]] = []


def survive(loader: Loader, name: str, disaster: Callable[[], object], recovered: Callable[[], bool]) -> Status:
    """Make the disaster under load and judge what came of it.

    recovered: whether it is over, as far as Kubernetes can say. Less than one request in a thousand may fail; each try counts as one.
    """
    loader.rate(RECORDS)
    loader.wait_until_folded(loader.status(), MOST_SECONDS)
    before = loader.status()
    loader.watch()
    disaster()
    time.sleep(LEAST_SECONDS)
    wait_until(f"{name}: Kubernetes has recovered", recovered, MOST_SECONDS)
    loader.wait_until_folded(loader.status(), MOST_SECONDS)
    after = loader.settled(MOST_SECONDS)
    asked, failed = after.asked - before.asked, after.failed - before.failed
    difference = {pool: after.sent[pool] - after.counted.get(pool, 0) for pool in after.sent}
    lost, doubled = sum(max(0, gap) for gap in difference.values()), sum(max(0, -gap) for gap in difference.values())
    _TABLE.append(f"{name} | {after.stall:.1f} | {asked} | {failed} | {lost} | {doubled}")
    print(_TABLE[-1], *(after.errors[-failed:] if failed else []), sep="\n")
    assert (lost, doubled) == (0, 0)
    # A write that failed may be in the log all the same: it was sent again with its id, and dropped as a duplicate.
    assert after.repeated <= after.duplicates <= after.repeated + after.failed
    assert failed < 0.001 * asked, f"{failed} of {asked} requests failed"
    return after


def print_table() -> None:
    """Print a row for each event so far, and write the rows to the file that EQUIRANK_CLUSTER_TABLE names."""
    lines = ["disaster | longest stall of folding, s | requests | failed | lost | doubled", *_TABLE]
    print("\n" + "\n".join(lines))
    if "EQUIRANK_CLUSTER_TABLE" in os.environ:
        Path(os.environ["EQUIRANK_CLUSTER_TABLE"]).write_text("\n".join(lines) + "\n", encoding="utf-8")
