"""The pools that the control log knows at a start, until readers can read them."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from services.control.records import ControlState

_PAGE = 1000


def begun(control: ControlState) -> list[str]:
    """The pools with outcomes: those that have a generation, which begins with the first outcome."""
    return [pool for pool in control.pools if control.serving(pool) is not None]


class KnownPools:
    """Pools with outcomes, until the API has their heads: shards publish them when they have restored or folded them.

    Args:
        pools: Names of the pools.
        answer: Body of the API's answer to a path; empty without one.

    Attributes:
        unread: Names of the pools that readers cannot read yet, sorted.
    """

    def __init__(self, pools: Iterable[str], answer: Callable[[str], str]) -> None:
        self._answer = answer
        self.unread = sorted(pools)

    def readable(self) -> bool:
        """Whether all pools can be read now. Asks the API once for each thousand pools, if there are any."""
        heads = self._heads() if self.unread else None
        if heads is not None:
            self.unread = [name for name in self.unread if heads.get(name) is None]
        return not self.unread

    def _heads(self) -> dict[str, Any] | None:
        """Pool -> its head, None without one. None if the API does not answer."""
        heads: dict[str, Any] = {}
        while True:
            text = self._answer(f"/v1/pools?count={_PAGE}&start={len(heads)}")
            if not text:
                return None
            page = json.loads(text)
            heads |= {one["pool"]: one["head"] for one in page["pools"]}
            if len(heads) >= page["total"] or not page["pools"]:
                return heads
