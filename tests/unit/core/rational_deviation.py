"""Deviation ratings in rational numbers: Algorithm 1 of Marris et al. by a simplex method with Bland's rule, without any rounding."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

Row = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def gains(payoffs: Sequence[dict[tuple[int, ...], Fraction]], shape: tuple[int, ...]) -> list[Row]:
    """What each player's strategy would gain at each joint, players' strategies as rows."""
    joints = list(product(*map(range, shape)))
    return [
        [payoffs[p][(*joint[:p], own, *joint[p + 1 :])] - payoffs[p][joint] for joint in joints]
        for p, n in enumerate(shape)
        for own in range(n)
    ]


def deviation_ratings(payoffs: Sequence[dict[tuple[int, ...], Fraction]], shape: tuple[int, ...]) -> list[Fraction]:
    """Of all players' strategies, in payoffs: the least largest gain, row by row with a positive multiplier."""
    rows = gains(payoffs, shape)
    frozen: dict[int, Fraction] = {}
    while len(frozen) < len(rows):
        bounded = [row + ([ZERO, ZERO] if i in frozen else [-ONE, ONE]) for i, row in enumerate(rows)]
        joints = len(rows[0])
        value, multipliers = least(
            [ZERO] * joints + [ONE, -ONE], bounded, [frozen.get(i, ZERO) for i in range(len(rows))], [ONE] * joints + [ZERO, ZERO]
        )
        frozen |= {i: value for i in range(len(rows)) if i not in frozen and multipliers[i] > 0}
    return [frozen[i] for i in range(len(rows))]


def least(cost: Row, rows: Sequence[Row], bounds: Row, total: Row) -> tuple[Fraction, Row]:
    """Least cost @ x with rows @ x <= bounds, total @ x = 1 and x >= 0, and the multipliers of rows. Two phases."""
    slacks = len(rows)
    first = len(cost) + slacks
    slack = [[ONE if k == i else ZERO for k in range(slacks)] for i in range(slacks)]
    lines = [row + own + [bound] for row, own, bound in zip(rows, slack, bounds, strict=True)]
    lines.append(total + [ZERO] * slacks + [ONE])
    artificial = [i for i, line in enumerate(lines) if line[-1] < 0 or i == slacks]
    table = [[-entry for entry in line] if line[-1] < 0 else line for line in lines]
    table = [line[:-1] + [ONE if i == k else ZERO for k in artificial] + line[-1:] for i, line in enumerate(table)]
    basis = [first + artificial.index(i) if i in artificial else len(cost) + i for i in range(len(table))]
    assert _minimized(table, basis, [ZERO] * first + [ONE] * len(artificial))[-1] == 0, "the program has a point"
    for i, column in enumerate(basis):
        if column >= first and (entering := next((j for j in range(first) if table[i][j]), None)) is not None:
            _pivot(table, basis, i, entering)
    kept = [i for i, column in enumerate(basis) if column < first]
    table, basis = [table[i][:first] + table[i][-1:] for i in kept], [basis[i] for i in kept]
    reduced = _minimized(table, basis, cost + [ZERO] * slacks)
    return -reduced[-1], reduced[len(cost) : first]


def _minimized(table: list[Row], basis: list[int], cost: Row) -> Row:
    """Reduced costs at the optimum, minus its value last."""
    reduced = [*cost, ZERO]
    for line, column in zip(table, basis, strict=True):
        reduced = _less(reduced, reduced[column], line)
    while (entering := next((j for j, value in enumerate(reduced[:-1]) if value < 0), None)) is not None:
        leaving = min((line[-1] / line[entering], basis[i], i) for i, line in enumerate(table) if line[entering] > 0)[2]
        _pivot(table, basis, leaving, entering)
        reduced = _less(reduced, reduced[entering], table[leaving])
    return reduced


def _pivot(table: list[Row], basis: list[int], leaving: int, entering: int) -> None:
    table[leaving] = [entry / table[leaving][entering] for entry in table[leaving]]
    for i, line in enumerate(table):
        if i != leaving:
            table[i] = _less(line, line[entering], table[leaving])
    basis[leaving] = entering


def _less(line: Row, times: Fraction, other: Row) -> Row:
    return [entry - times * of_other for entry, of_other in zip(line, other, strict=True)] if times else line
