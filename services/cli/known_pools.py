"""The pools that the control log knows at a start, until readers can read them."""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

_PAGE = 1000
_PAUSE_SECONDS = 0.2


class KnownPools:
    """Pools with outcomes that the store lacks, as the API says: shards publish them when they have restored or folded them.

    Args:
        answer: Body of the API's answer to a path; empty without one.

    Attributes:
        unread: Names of the pools that readers cannot read yet, sorted; None before the API has answered.
    """

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer
        self.unread: list[str] | None = None

    def readable(self) -> bool:
        """Whether all pools can be read now. The first answer decides which pools are waited for."""
        heads = self._heads()
        if heads is None:
            return False
        before = [name for name, head in heads.items() if head is None] if self.unread is None else self.unread
        known = before if self.unread is not None else self._with_outcomes(before)
        if known is not None:
            self.unread = [name for name in known if name in heads and heads[name] is None]
        if self.unread:
            time.sleep(_PAUSE_SECONDS)
        return self.unread == []

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

    def _with_outcomes(self, pools: list[str]) -> list[str] | None:
        """Those of the pools that have a generation, which begins with the first outcome. None if the API does not answer."""
        answers = [(pool, self._answer(f"/v1/pools/{quote(pool)}/generations")) for pool in pools]
        if not all(text for _, text in answers):
            return None
        return [pool for pool, text in answers if json.loads(text)["serving"] is not None]
