"""What a run of chaos did and found, in numbers and lines."""

import sys
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Report:
    """What a run did and found."""

    faults: Counter[str] = field(default_factory=Counter)
    revived: Counter[str] = field(default_factory=Counter)
    records: int = 0
    outcomes: int = 0
    repeated: int = 0
    conflicts: int = 0
    retracted: int = 0
    switches: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    cells: int = 0
    """Cells of tallies, and outcomes of histories, that were compared with the oracle's."""
    looks: int = 0
    """Boards that readers looked at during the run."""
    streamed: int = 0
    """States that readers of streams were sent during the run."""
    resumed: int = 0
    """Connections that readers of streams opened with `Last-Event-ID`."""
    archived: int = 0
    """Records in the archive, which were compared with the log's."""
    consumed: int = 0
    """Agents in the ratings topic whose rows were compared with the oracle's."""
    consumed_solved: int = 0
    """Solved boards in the ratings topic that were compared with the store's."""
    lost: int = 0
    doubled: int = 0
    seconds: float = 0.0
    catch_up: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    verified: str = ""

    def __str__(self) -> str:
        slowest = max(self.catch_up, key=self.catch_up.__getitem__, default="")
        lines = [
            f"faults injected: {self.faults.total()} ({_listed(self.faults)})",
            f"outcomes: {self.outcomes} of {self.records} records in {self.seconds:.0f} s",
            f"dropped: {self.repeated} repeats, {self.conflicts} conflicts, {self.retracted} retracted",
            f"generations switched to: {self.switches}",
            f"bad ones in the dead letters with their reason: {self.bad.total()} ({_listed(self.bad)})",
            f"compared with the oracle, all equal or listed below: boards of every pool, {self.cells} cells of tallies and histories",
            f"boards checked by readers during the run: {self.looks}",
            f"states sent to readers of streams: {self.streamed}, who resumed {self.resumed} times",
            f"records in the archive: {self.archived}",
            f"in the ratings topic: {self.consumed} agents, {self.consumed_solved} solved boards",
            f"lost: {self.lost}",
            f"doubled: {self.doubled}",
            f"max catch-up seconds: {self.catch_up.get(slowest, 0.0):.1f} ({slowest})",
            f"started again by the orchestrator: {self.revived.total()} ({_listed(self.revived)})",
            self.verified,
            *self.wrong,
        ]
        return "\n".join(lines)


def say(line: str) -> None:
    """Print a line of the run while it goes on."""
    sys.stdout.write(f"\n{line}")
    sys.stdout.flush()


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items())) or "none"
