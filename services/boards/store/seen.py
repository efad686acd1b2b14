"""What this process has read from the store. So it can tell a board that the store lost from one that never existed."""

from collections.abc import Collection


class Seen:
    """Pools and solved boards that were read. Thread-safe. It grows to the number of pools, and is never cleared."""

    def __init__(self) -> None:
        self._solved: dict[str, frozenset[str]] = {}

    def note(self, pool: str, solved: Collection[str] = ()) -> None:
        """Note that the store had the pool, with these solved boards."""
        known = self._solved.get(pool)
        if known is None or not known.issuperset(solved):
            self._solved[pool] = frozenset((*(known or ()), *solved))

    def pool(self, pool: str) -> bool:
        """Whether the pool was read."""
        return pool in self._solved

    def solved(self, pool: str, method: str) -> bool:
        """Whether a solved board of the pool was read."""
        return method in self._solved.get(pool, ())
