"""Work that is spread over time, and ids that are looked up in a dedupe window whatever it holds."""

import random

import numpy as np
import pytest

from services.shard.generations.pace import BuildPace
from services.state.dedupe import DedupeWindow


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 1.0])
def test_work_takes_at_most_its_share_of_the_time(share: float) -> None:
    draw, pace = random.Random(1), BuildPace(share)
    now = worked = 0.0
    while now < 10_000:
        if not pace.ready(now):
            now += 0.01
            continue
        for _ in range(draw.randrange(1, 20)):  # a generation, slice by slice, between batches of the stream
            seconds = draw.random()
            now += seconds
            worked += seconds
            pace.spend(seconds, now)
            now += draw.choice([0.0, 0.0, draw.random()])
    assert worked / now < share + 0.01
    assert worked / now > 0.6 * share


def test_idle_time_is_not_saved_up() -> None:
    pace = BuildPace(0.25)
    pace.spend(10.0, 1000.0)
    assert not pace.ready(1029.9)
    assert pace.ready(1030.0)


def test_a_window_knows_the_ids_that_it_holds_and_no_others() -> None:
    draw, window = np.random.default_rng(1), DedupeWindow(5_000)
    ids = draw.integers(0, 1 << 63, (12_000, 2), np.uint64)
    assert not window.holds(ids).any()
    for start in range(0, len(ids), 777):
        part = ids[start : start + 777]
        window.admit(part, part[:, 0].copy())
        held = window.holds(ids)
        newest = slice(max(0, start + len(part) - 5_000), start + len(part))
        assert held[newest].all()
        assert held.sum() == len(held[newest])
        assert window.full == (start + len(part) >= 5_000)
