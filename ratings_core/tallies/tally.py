"""Base class of all tallies."""

from typing import Any, Self

from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.frozen import Frozen
from ratings_core.tallies.slabs import Slabs


class Tally:
    """A tally whose counts are in slabs. A subclass defines the columns, how batches are added, and what can be read."""

    def __init__(self, slabs: Slabs) -> None:
        self.slabs = slabs

    @property
    def buckets(self) -> list[int]:
        """Time buckets with counts, ascending."""
        return self.slabs.buckets

    @property
    def nbytes(self) -> int:
        """Bytes of allocated memory, including unused capacity."""
        return self.slabs.nbytes

    def drop_before(self, bucket: int) -> None:
        """Drop all buckets below `bucket`."""
        self.slabs.drop_before(bucket)

    def merge(self, other: Self) -> None:
        """Add the counts of `other`, which must use the same ids of agents and tasks. Raises `InputError` if a cell could overflow."""
        self.slabs.merge(checks.instance("other", other, type(self)).slabs)

    def frozen(self) -> Frozen:
        """Freeze the current content of `arrays` (see `ratings_core.arrays.frozen`)."""
        return self.slabs.frozen()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy, as described in `Slabs.arrays`. It does not depend on the order or the batches of counting."""
        return self.slabs.arrays()
