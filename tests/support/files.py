"""Read all outcomes of a small file at once."""

from dataclasses import dataclass
from pathlib import Path

from services.imports.files import Account, FileOptions, OutcomeFile
from services.imports.sources import Source
from services.wire.events import Event


@dataclass(frozen=True)
class Outcomes:
    events: list[Event]
    lines: list[int]
    account: Account


def outcomes_of(path: Path, pool: str, now: float = 0.0, options: FileOptions | None = None) -> Outcomes:
    account = Account()
    with Source(path) as source:
        rows = [row for batch in OutcomeFile(source, pool, now=now, options=options).batches(account) for row in batch]
    return Outcomes([row.event for row in rows], [row.line for row in rows], account)
