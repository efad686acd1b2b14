"""Faults that take the guards away that keep readers from going back, for tests that plant them."""

from hashlib import sha1
from typing import Any

import pytest

from services.boards.store import scripts
from services.shard.publishing.writing import BoardWriter

_ask = BoardWriter._ask


def careless(self: BoardWriter, update: Any) -> None:
    """Stands in for `BoardWriter._ask`: the shard publishes wherever it is."""
    _ask(self, update)
    update.track.visible = 0


def without_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the store accept any generation and position of the newest epoch."""
    text = scripts.CLAIM.text
    [compared] = [line for line in text.splitlines() if "wanted[3] < shown[3]" in line]
    claim = scripts.Script(changed := text.replace(compared, ""), sha1(changed.encode(), usedforsecurity=False).hexdigest())
    monkeypatch.setattr(scripts, "CLAIM", claim)
    monkeypatch.setattr(scripts, "ALL", {**scripts.ALL, claim.sha: claim.text})
