"""Where the final state of a season comes from, and which final states `verify` can compare."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from services.admin.verify_seasons import SeasonsBefore
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from services.control.records import FOLD_VERSION, Generation, Opening
from services.shard.generations.season_end import SeasonEnds
from tests.support.pools import control_of, pool_of

LOG: Any = SimpleNamespace(outcomes=SimpleNamespace(identity="log"))


def entry_of(generation: int) -> PoolEntry:
    return PoolEntry(
        pool="p", kind="games", generation=generation, position=9, outcomes=9, object=f"o{generation}", sha256="", bytes=0, digest=""
    )


def test_the_checkpoint_of_a_build_that_serves_since_is_a_checkpoint_of_the_season(tmp_path: Path) -> None:
    """Retractions that wait for the end of a season make such a generation."""
    files, control = CheckpointStore((tmp_path / "state").as_uri()), control_of(pool_of("p"))
    files.write_manifest(
        Manifest(
            format=FORMAT, partition=0, position=9, epoch=1, log_identity="log", last_offset=None, last_sha256=None,
            fold_version=FOLD_VERSION, written_at=0.0, pools=[entry_of(1)], builds=[entry_of(2)],
        )
    )  # fmt: skip
    second = msgspec.structs.replace(control.generations["p"][1], number=2)
    assert list(SeasonEnds(LOG, control, files)._entries(second, 0)) == [(entry_of(2), 0.0)]


def test_a_season_that_another_fold_version_folded_is_not_compared() -> None:
    control = control_of(pool_of("p"), fold_version=FOLD_VERSION - 1)
    first = control.generations["p"][1]
    opening = Opening(generation=1, position=9, keep=0.5, first=2)
    made = Generation(pool="p", number=2, start=9, time=0.0, fold=first.fold, season="autumn", opening=opening)
    compared = SeasonsBefore(LOG, control, None).compared(made, 0)
    assert compared is not None
    assert (compared.what, compared.position, compared.made) == ("end of season first", 9, False)
    assert f"folded by version {FOLD_VERSION - 1}" in (compared.difference or "")
