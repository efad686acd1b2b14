"""Retractions that a pool's generation does not heed yet: kept, so that the next one need not look for them in the log.

No part of a pool's content: digests do not cover it. A checkpoint carries it beside the content.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from services.wire.columns import retracted_hash
from services.wire.events import RetractEvent


class Pending:
    """Retractions in log order. Its arrays are replaced, never changed, so whoever holds them holds one moment's."""

    def __init__(self) -> None:
        self._offset = np.zeros(0, np.int64)
        self._id = np.zeros((0, 2), np.uint64)

    def __len__(self) -> int:
        return len(self._offset)

    def add(self, found: Sequence[tuple[int, RetractEvent]]) -> None:
        """More of them, each with the offset of its record."""
        self._offset = np.concatenate([self._offset, np.array([offset for offset, _ in found], np.int64)])
        self._id = np.concatenate([self._id, retracted_hash([event for _, event in found])])

    @property
    def ids(self) -> NDArray[np.uint64]:
        """Hashes uint64 (n, 2) of the ids that they name."""
        return self._id

    def below(self, horizon: int) -> NDArray[np.uint64]:
        """Hashes uint64 (n, 2) of the ids that those before `horizon` name."""
        return self._id[self._offset < horizon]

    def since(self, horizon: int) -> "Pending":
        """Those at or after `horizon`."""
        later, left = self._offset >= horizon, Pending()
        left._offset, left._id = self._offset[later], self._id[later]
        return left

    def arrays(self) -> Arrays:
        """Their offset int64 (n,) and id uint64 (n, 2); nothing where there are none."""
        return {"pending.offset": self._offset, "pending.id": self._id} if len(self) else {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Pending":
        """Those whose `arrays()` are among these. Raises `InputError` where they do not fit together."""
        pending = cls()
        offset, id_ = arrays.get("pending.offset", pending._offset), arrays.get("pending.id", pending._id)
        if id_.shape != (len(offset), 2):
            raise InputError("arrays", sorted(arrays), "must hold an id for each pending retraction")
        pending._offset, pending._id = np.array(offset), np.array(id_)
        return pending
