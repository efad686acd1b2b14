"""Results kept by their keys, and the checkpoints that computations on request read."""

from pathlib import Path

import pytest

from services.boards.past import NotKept
from services.boards.past_contents import When
from services.checkpoints.checkpoint import CheckpointStore
from services.solve.kept_answers import KeptAnswers
from services.solve.problems.serving import NoCheckpoint, arrays_of, kept_entry, serving_entry
from tests.support.boards import head_of
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool


def test_values_are_computed_once_and_the_least_recently_used_is_dropped() -> None:
    kept, computed = KeptAnswers[str](2), list[str]()

    def ask(key: str) -> str:
        return kept.get(key, lambda: computed.append(key) or key.upper())

    assert [ask(key) for key in ("a", "b", "a", "c", "a", "b")] == ["A", "B", "A", "C", "A", "B"]
    assert computed == ["a", "b", "c", "b"]


def test_a_failure_is_not_kept() -> None:
    kept = KeptAnswers[int](2)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 // 0)
    assert kept.get("a", lambda: 7) == 7


def test_checkpoints_of_the_serving_generation_by_position(tmp_path: Path) -> None:
    pool, state = ServedPool(None, tmp_path), state_of("blitz")  # type: ignore[arg-type]  # only its files are used
    head, files = head_of("blitz"), pool.files
    with pytest.raises(NoCheckpoint, match="no checkpoint of generation 1"):
        serving_entry(files, head)
    with pytest.raises(NotKept, match="none yet"):
        kept_entry(files, head, When(5))
    assert fold_events(state, []) == []
    for position in (3, 8):
        pool.checkpoint(state, position)
    assert serving_entry(files, head).position == 8
    assert [kept_entry(files, head, When(position)).position for position in (3, 7, 8, 100)] == [3, 3, 8, 8]
    with pytest.raises(NotKept, match="positions 3, 8"):
        kept_entry(files, head, When(2))
    with pytest.raises(NotKept):
        kept_entry(files, head_of("blitz", generation=2), When(8))


def test_a_damaged_manifest_is_passed_over_and_a_damaged_object_is_reported(tmp_path: Path) -> None:
    pool, state = ServedPool(None, tmp_path), state_of("blitz")  # type: ignore[arg-type]  # as above
    head, files = head_of("blitz"), pool.files
    for position in (3, 8):
        pool.checkpoint(state, position)
    newest = files.manifests(0)[0]
    files.blobs.write(newest, [b"damaged"])
    assert kept_entry(files, head, When(9)).position == 3
    entry = kept_entry(files, head, When(9))
    assert arrays_of(files, entry)
    files.blobs.write(entry.object, [b"damaged"])
    with pytest.raises(NoCheckpoint, match="cannot be read now"):
        arrays_of(CheckpointStore(files.url), entry)
