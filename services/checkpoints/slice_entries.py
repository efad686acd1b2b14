"""The slices of a pool as entries: made with the state, given digests with its arrays."""

from collections.abc import Sequence

import msgspec

from ratings_core.arrays.digest import digest
from ratings_core.arrays.frozen import Arrays
from services.checkpoints.checkpoint import SliceEntry
from services.state.parts import parts_of
from services.state.slices import PoolSlices


def slice_entries(slices: PoolSlices | None) -> list[SliceEntry]:
    """The slices of a pool, without their digests. slices: None for a pool without slices."""
    return [
        SliceEntry(dimension=key.dimension, value=key.value, outcomes=made.content.counts["outcomes"], prefix=prefix)
        for prefix, key, made in (() if slices is None else slices.parts())
    ]


def with_digests(entries: Sequence[SliceEntry], arrays: Arrays) -> list[SliceEntry]:
    """The entries with the digest of each slice. arrays: Those of the pool's content."""
    parts = parts_of(arrays) if entries else {}
    return [msgspec.structs.replace(entry, digest=digest(parts[entry.prefix])) for entry in entries]
