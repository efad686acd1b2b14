"""A pool frozen for a checkpoint: whatever is folded before its content is read, and while it is, the bytes are those of its moment."""

import random
import sys
import threading
from collections.abc import Iterator, Sequence

import pytest
from msgspec import Raw

from ratings_core.arrays.digest import digest
from ratings_core.arrays.frozen import NOTHING, Arrays, FrozenColumns, RowLog
from services.checkpoints.objects import pack
from services.control.records import FoldSettings
from services.state.dedupe import FrozenWindow
from services.state.pool import PoolState
from services.wire.events import Event, GameEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.pools import state_of

AGENTS = 60
ONLINE: dict[str, dict[str, float]] = {"elo": {}, "melo": {"dimensions": 4.0}, "glicko2": {"period_seconds": 40.0}}
FOLDS = {
    Kind.GAMES: FoldSettings(
        online=ONLINE,
        per_task=True,
        clustered=True,
        features=("length",),
        feature_window=50,
        bucket_seconds=100.0,
        buckets_kept=3,
        dedupe_window=64,
        slices={"map": ("elo", "glicko2")},
        slice_values=2,
    ),
    Kind.SCORES: FoldSettings(bucket_seconds=100.0, buckets_kept=3, dedupe_window=64),
}


def game(draw: random.Random, number: int) -> GameEvent:
    sizes = draw.choice([(1, 1), (1, 1), (1, 1, 1, 1), (2, 1)])
    agents = draw.sample(range(AGENTS + number // 10), sum(sizes))  # new ones come all the time
    sides = [Side([f"a{agents.pop()}" for _ in range(size)], draw.randrange(3)) for size in sizes]
    task, meta = draw.choice([None, "t", f"t{number // 100}"]), Raw(b'{"length":%d}' % (number % 9))
    tags = draw.choice([{}, {"map": f"m{number // 100}"}])
    return GameEvent(v=1, id=f"g{number}", pool="p", time=float(number), sides=sides, task=task, meta=meta, tags=tags)


def measurement(draw: random.Random, number: int) -> ScoreEvent:
    scores = {f"a{agent}": draw.random() for agent in draw.sample(range(AGENTS + number // 10), 4)}
    return ScoreEvent(v=1, id=f"m{number}", pool="p", time=float(number), task=f"t{draw.randrange(9)}", scores=scores)


def batches(kind: Kind, seed: int, count: int = 30) -> Iterator[list[Event]]:
    """Batches of 1 to 40 outcomes, some of which were there before."""
    draw, number = random.Random(seed), 0
    sent: list[Event] = []
    for _ in range(count):
        size = draw.randrange(1, 41)
        sent += [(game if kind is Kind.GAMES else measurement)(draw, number + i) for i in range(size)]
        number += size
        yield sent[-size:] + draw.sample(sent, min(3, len(sent)))


def same(found: Arrays, wanted: Arrays) -> bool:
    return digest(found) == digest(wanted) and b"".join(pack(found, {})) == b"".join(pack(wanted, {}))


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("seed", range(4))
def test_however_long_nobody_reads_it_the_content_is_that_of_its_moment(kind: Kind, seed: int) -> None:
    state, draw = state_of(kind=kind, fold=FOLDS[kind]), random.Random(seed)
    frozen, wanted, left = state.freeze(), state.arrays(), draw.randrange(8)
    for batch in batches(kind, seed):
        fold_events(state, batch)
        left -= 1
        if left < 0:
            assert same(frozen.arrays(), wanted)
            frozen, wanted, left = state.freeze(), state.arrays(), draw.randrange(8)
    assert same(frozen.arrays(), wanted)


@pytest.mark.parametrize("kind", list(Kind))
def test_folding_while_another_thread_reads_changes_nothing_of_it(kind: Kind) -> None:
    state, interval = state_of(kind=kind, fold=FOLDS[kind]), sys.getswitchinterval()
    folding = list(batches(kind, 9, 60))
    for batch in folding[:20]:
        fold_events(state, batch)
    sys.setswitchinterval(1e-6)
    try:
        for begin in range(20, 60, 4):
            frozen, wanted, found = state.freeze(), state.arrays(), list[Arrays]()
            reader = threading.Thread(target=lambda: found.append(frozen.arrays()))  # noqa: B023 - joined below
            reader.start()
            for batch in folding[begin : begin + 4]:
                fold_events(state, batch)
            reader.join()
            assert same(found[0], wanted)
    finally:
        sys.setswitchinterval(interval)


class Late:
    """Stands in for a lock: what is folded the moment the reader has made its copies, and not taken the log yet."""

    def __init__(self, state: PoolState, folding: Sequence[Sequence[Event]]) -> None:
        self._state, self._folding = state, list(folding)

    def fold(self) -> None:
        if self._folding:
            fold_events(self._state, self._folding.pop())


@pytest.mark.parametrize("kind", list(Kind))
def test_what_is_folded_between_the_copy_of_a_part_and_the_end_of_its_log_changes_nothing(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, folding = state_of(kind=kind, fold=FOLDS[kind]), list(batches(kind, 3))
    for batch in folding[:20]:
        fold_events(state, batch)
    frozen, wanted, late = state.freeze(), state.arrays(), Late(state, folding[20:])
    take = RowLog.take

    def taken(self: RowLog) -> object:
        late.fold()
        return take(self)

    monkeypatch.setattr(RowLog, "take", taken)
    assert same(frozen.arrays(), wanted)


@pytest.mark.parametrize("kept", [FrozenColumns, RowLog, FrozenWindow])
def test_without_what_is_kept_the_content_would_be_another(kept: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests can fail: each log is needed."""
    state, folding = state_of(kind=Kind.GAMES, fold=FOLDS[Kind.GAMES]), list(batches(Kind.GAMES, 5))
    for batch in folding[:20]:
        fold_events(state, batch)
    frozen, wanted = state.freeze(), state.arrays()
    if kept is RowLog:
        monkeypatch.setattr(RowLog, "_room", lambda *_: NOTHING)
    else:
        monkeypatch.setattr(kept, "save", lambda *_: None)
    for batch in folding[20:]:
        fold_events(state, batch)
    assert not same(frozen.arrays(), wanted)


def test_a_pool_is_frozen_once_at_a_time_and_again_after_it_was_read_or_given_up() -> None:
    state = state_of(kind=Kind.GAMES, fold=FOLDS[Kind.GAMES])
    for batch in batches(Kind.GAMES, 1, 3):
        fold_events(state, batch)
    frozen = state.freeze()
    with pytest.raises(RuntimeError, match="frozen already"):
        state.freeze()
    frozen.close()
    again = state.freeze()
    wanted = state.arrays()
    for batch in batches(Kind.GAMES, 2, 3):
        fold_events(state, batch)
    assert same(again.arrays(), wanted)
    state.freeze().close()
