"""What every tally can do, whatever it counts."""

from typing import Any, Self

from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.frozen import Frozen
from ratings_core.tallies.slabs import Slabs


class Tally:
    """Counts in slabs. A subclass names the columns, and says how a batch is added and what is read out."""

    def __init__(self, slabs: Slabs) -> None:
        self.slabs = slabs

    @property
    def buckets(self) -> list[int]:
        """Time buckets in which anything was counted, rising."""
        return self.slabs.buckets

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, room to grow included."""
        return self.slabs.nbytes

    def drop_before(self, bucket: int) -> None:
        """Forget all buckets below `bucket`."""
        self.slabs.drop_before(bucket)

    def merge(self, other: Self) -> None:
        """Add all that `other` counted; its ids must mean the same agents and tasks. Raises `InputError` near overflow."""
        self.slabs.merge(checks.instance("other", other, type(self)).slabs)

    def frozen(self) -> Frozen:
        """What `arrays` gives now, as `ratings_core.arrays.frozen` says."""
        return self.slabs.frozen()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy, as described in `Slabs.arrays`, the same however it was counted."""
        return self.slabs.arrays()
