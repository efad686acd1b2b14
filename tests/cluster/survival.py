"""What the disaster tests and the rotation tests share: an event under load, and the judgement of what came of it."""

import time
from collections.abc import Callable
from typing import Final

from tests.cluster.cluster import Loader, Status, wait_until
from tests.cluster.figures import note

RECORDS: Final = 20
LEAST_SECONDS: Final = 5.0
MOST_SECONDS: Final = 240.0


def survive(loader: Loader, name: str, disaster: Callable[[], object], recovered: Callable[[], bool]) -> Status:
    """Make the disaster under load and judge what came of it.

    recovered: whether it is over, as far as Kubernetes can say. Less than one request in a thousand may fail; each try counts as one.
    """
    loader.rate(RECORDS)
    loader.wait_until_folded(loader.status(), MOST_SECONDS)
    before = loader.status()
    try:
        after = _after(loader, name, disaster, recovered)
    except Exception as error:
        note(f"{name}: FAILED: {str(error).partition(chr(10))[0]}")
        raise
    asked, failed = after.asked - before.asked, after.failed - before.failed
    difference = {pool: after.sent[pool] - after.counted.get(pool, 0) for pool in after.sent}
    lost, doubled = sum(max(0, gap) for gap in difference.values()), sum(max(0, -gap) for gap in difference.values())
    note(f"{name}: folding stalled for {after.stall:.1f} s; {asked} requests, {failed} failed; {lost} lost, {doubled} doubled")
    if failed:
        print(*after.errors[-failed:], sep="\n")
    assert (lost, doubled) == (0, 0)
    # A write that failed may be in the log all the same: it was sent again with its id, and dropped as a duplicate.
    assert after.repeated <= after.duplicates <= after.repeated + after.failed
    assert failed < 0.001 * asked, f"{failed} of {asked} requests failed"
    return after


def _after(loader: Loader, name: str, disaster: Callable[[], object], recovered: Callable[[], bool]) -> Status:
    """The status once everything that was sent until the recovery is counted."""
    loader.watch()
    disaster()
    time.sleep(LEAST_SECONDS)
    wait_until(f"{name}: Kubernetes has recovered", recovered, MOST_SECONDS)
    loader.wait_until_folded(loader.status(), MOST_SECONDS)
    return loader.settled(MOST_SECONDS)
