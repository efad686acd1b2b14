"""Columns of outcomes as records: each is cut out by its range, and all together are the outcomes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns.duels import singles
from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.columns.tags import Tags
from ratings_core.records.tags import canonical_tags
from services.wire import events
from services.wire.bulk.writing import encode

N = 50


def games() -> Games:
    sizes = np.arange(N) % 3 + 2
    names = Coded.of(pack([f"a{i}" for i in range(sizes.sum())]))
    tasks = pack(["t", "u"]), np.arange(N) % 3 - 1
    return singles(names, sizes, np.arange(sizes.sum(), dtype=np.int32), weight=np.full(N, 0.5), time=np.arange(N) / 2, tasks=tasks)


def scores() -> TaskScores:
    start = np.concatenate([[0], np.cumsum(np.arange(N) % 3 + 1)])
    names, total = Coded.of(pack([f"a{i}" for i in range(start[-1])])), int(start[-1])
    return TaskScores.hashed(
        ids=pack([""] * N), names=names, start=start, score=np.arange(total) / 4, tasks=pack([f"t{i}" for i in range(N)]),
        weight=np.ones(N), time=np.arange(N) / 2,
    )  # fmt: skip


def tagged(outcomes: Games | TaskScores) -> Games | TaskScores:
    return replace(outcomes, tags=Tags.of([None if i % 3 else canonical_tags({"map": f"m{i % 2}"}) for i in range(N)]))


@pytest.mark.parametrize("outcomes", [games(), scores(), tagged(games()), tagged(scores())])
@pytest.mark.parametrize("rows", [1, 7, N])
def test_records_are_the_outcomes_in_order(outcomes: Games | TaskScores, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = encode(outcomes, ids := pack([f"id{i}" for i in range(N)]), "p")
    looked_at, take = list[int](), Arena.take

    def counted(self: Arena, indices: Any) -> Arena:
        looked_at.append(len(indices))
        return take(self, indices)

    monkeypatch.setattr("services.wire.bulk.writing.RECORD_ROWS", rows)
    monkeypatch.setattr(Games, "take", None)
    monkeypatch.setattr(TaskScores, "take", None)
    monkeypatch.setattr(Arena, "take", counted)
    records = encode(outcomes, ids, "p")
    assert [count for _, count in records] == [min(rows, N - begin) for begin in range(0, N, rows)]
    assert events.decode([record for record, _ in records]).events == events.decode([whole[0]]).events
    assert ["tags" in record.decode(errors="replace") for record, _ in records[:1]] == [outcomes.tags is not None]
    assert max(looked_at) <= 4 * rows, "a record looks only at its own outcomes"
