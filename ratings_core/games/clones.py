"""Exact duplicates: merged before a game is solved; afterwards the members of a class share its probability evenly.

If a game has several equilibria, the equilibrium of maximum entropy depends on the number of duplicates, and so do the ratings that follow
from it. After merging, class totals and all ratings are independent of how often an agent or a task was copied.
"""

import hashlib
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class CloneClasses:
    """A partition of n rows into classes of equal rows, numbered by first appearance.

    member: int64 (n,), the class of each row; first: int64 (classes,), the first row of each class; size: int64 (classes,).
    """

    member: NDArray[np.int64]
    first: NDArray[np.int64]
    size: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)


def clone_classes(rows: Floats, within: float = 0.0) -> CloneClasses:
    """Classes of equal rows of `rows` (n, k). 0 equals -0, and NaN (not measured) equals NaN; values are not rounded.

    within: with 0, only equal rows share a class. With a positive value, a row joins the first class whose first row differs from it by at
    most `within` in every entry. The classes then depend on the order of the rows, because closeness is not transitive. Raises
    `InputError`.
    In an antisymmetric matrix, agents with equal rows also have equal columns and tie with each other, so it is enough to compare rows.
    """
    rows = checks.real("rows", rows)
    if rows.ndim != 2:
        raise InputError("rows", rows.shape, "must be a matrix")
    if checks.number("within", within, low=0.0) > 0:
        return _near(rows, within)
    seen: dict[bytes, int] = {}
    return described(np.array([seen.setdefault(_digest(row), len(seen)) for row in rows], np.int64))


def grouped(n: int, same: Callable[[int, int], bool]) -> CloneClasses:
    """Partition n rows: a row joins the first class for which ``same(row, first row of the class)`` is true, or starts a class."""
    leaders: list[int] = []
    member = np.empty(n, np.int64)
    for row in range(n):
        label = next((k for k, leader in enumerate(leaders) if same(row, leader)), len(leaders))
        if label == len(leaders):
            leaders.append(row)
        member[row] = label
    return described(member)


def _near(rows: Floats, within: float) -> CloneClasses:
    """Classes of near rows. Near rows are also near in the column of the largest spread, so leaders are sorted by that column."""
    absent, member, classes = np.isnan(rows), np.empty(len(rows), np.int64), 0
    spread = np.ptp(np.where(absent, 0.0, rows), axis=0) if rows.size else np.zeros(1)
    key = np.where(absent, 0.0, rows)[:, int(spread.argmax())] if rows.size else np.zeros(len(rows))
    leaders: dict[bytes, list[tuple[float, int]]] = {}
    for row, (mask, at) in enumerate(zip(map(bytes, absent), key.tolist(), strict=True)):
        own = leaders.setdefault(mask, [])
        low, high = np.nextafter(at - within, -np.inf), np.nextafter(at + within, np.inf)
        close = own[bisect_left(own, (low, -1)) : bisect_right(own, (high, len(rows)))]
        near = (leader for _, leader in close if not (np.abs(rows[row] - rows[leader]) > within).any())
        if (leader := min(near, default=None)) is None:
            insort(own, (at, row))
            member[row], classes = classes, classes + 1
        else:
            member[row] = member[leader]
    return described(member)


def _digest(row: Floats) -> bytes:
    """SHA-256 of a row: equal for equal rows, and far smaller than a row with millions of entries."""
    plain = row + 0.0  # turns -0 into 0, which is equal but has other bytes
    plain[np.isnan(plain)] = np.nan  # gives every NaN the same bit pattern
    return hashlib.sha256(plain.tobytes()).digest()


def singletons(n: int) -> CloneClasses:
    """The partition of n rows into classes of one row each."""
    return described(np.arange(n, dtype=np.int64))


def split_evenly(totals: Floats, classes: CloneClasses) -> Floats:
    """Split each class's total evenly over its members, (n,). Raises `InputError`."""
    given = checks.real("totals", totals)
    if given.shape != (len(checks.instance("classes", classes, CloneClasses)),):
        raise InputError("totals", given.shape, f"must have a number for each of {len(classes)} classes")
    return np.asarray((given / classes.size)[classes.member], np.float64)


def described(member: NDArray[np.int64]) -> CloneClasses:
    """The partition with the class of each row in `member`, numbered by first appearance."""
    _, first, size = np.unique(member, return_index=True, return_counts=True)
    return CloneClasses(member, first.astype(np.int64), size.astype(np.int64))
