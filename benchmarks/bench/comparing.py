"""Marks of a run beside an earlier one. Ratios are compared, never seconds: a peer ran on the same machine in the same minutes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.bench.rows import Results, Row
from ratings_core.errors import InputError

MARGIN: Final = 1.5
"""A ratio that changed by less than this factor is no change: on a busy machine two runs of the same code differ by up to a third."""


@dataclass(frozen=True)
class Mark:
    """How a row compares with the earlier run.

    Attributes:
        task, peer, size: The row.
        word: `slower`, `faster`, `same`, `value` (values were equal and are no more), `failed` (there was an answer), `new`, or
            `gone` (the earlier run had it and this one does not).
        before, now: Ratios; None where there is none.
    """

    task: str
    peer: str
    size: int
    word: str
    before: float | None = None
    now: float | None = None

    @property
    def regression(self) -> bool:
        """Whether something got worse."""
        return self.word in ("slower", "value", "failed")


def marks(before: Results, now: Results, tasks: list[str], margin: float = MARGIN) -> list[Mark]:
    """The mark of every row of now, then of those that only the earlier run has.

    Args:
        before, now: Two runs with the same sizes.
        tasks: Names of the tasks that ran now; rows of others are not missing.
        margin: Factor of a ratio above which it counts as changed.
    """
    old = {(row.task, row.peer, row.size): row for row in before.rows}
    new = {(row.task, row.peer, row.size) for row in now.rows}
    found = [Mark(row.task, row.peer, row.size, *_word(old.get((row.task, row.peer, row.size)), row, margin)) for row in now.rows]
    gone = [row for key, row in old.items() if key not in new and row.task in tasks]
    return found + [Mark(row.task, row.peer, row.size, "gone", row.ratio) for row in gone]


def earlier(file: Path, *, quick: bool) -> Results:
    """The results of an earlier run. Raises `InputError` if the file is of another kind, or of a run with other sizes."""
    results = Results.read(file)
    if results.quick != quick:
        raise InputError("compare", str(file), f"must be a run with{'' if quick else 'out'} --quick, as this one is")
    return results


def _word(old: Row | None, row: Row, margin: float) -> tuple[str, float | None, float | None]:
    if old is None or (old.error and not row.error):
        return "new", None, row.ratio
    if row.error:
        return ("same" if old.error else "failed"), old.ratio, None
    if old.equal and not row.equal:
        return "value", old.ratio, row.ratio
    if old.ratio is None or row.ratio is None:
        return "new", old.ratio, row.ratio
    change = row.ratio / old.ratio
    return ("slower" if change < 1 / margin else "faster" if change > margin else "same"), old.ratio, row.ratio
