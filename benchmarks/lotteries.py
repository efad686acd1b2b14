"""Maximal lotteries, iterated lotteries and Nash averages, beside HiGHS's interior point on the same game where it is dense.

`python -m benchmarks.lotteries [--quick]`. Goals: one lottery of 1,000 agents <= 2 s, of 2,000 agents <= 15 s on one core; some
lottery of sparse margins of 52,958 agents <= 15 s, all its levels <= 10 min (nothing else known of can run it).
HiGHS (crossover only where it needs one to end as optimal) gives some optimal lottery; ours has the largest entropy of all and
a certificate. Seconds are CPU seconds, one thread.
"""

import os
from collections.abc import Iterator, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import highspy
import numpy as np
from scipy import sparse

from benchmarks.common import Row, arguments, header, seconds, show
from benchmarks.workloads import free_for_alls, noisy_order_margins, pairs_of, random_margins
from ratings_core.equilibria import nash_average
from ratings_core.games.linear_program import SilentHighs
from ratings_core.solution import Floats
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.lotteries import LotteryOptions

PEER = "HiGHS interior point"
LARGEST_FOR_PEER = 1000
"""Above this the peer takes most of a minute and more and is not run."""


def highs(payoffs: Floats, *, symmetric: bool = False) -> Floats:
    """Some optimal row strategy: max v with payoffs' p >= v; a symmetric game's v is 0, which HiGHS is told for speed."""
    rows, columns = payoffs.shape
    table = np.block([[payoffs.T, -np.ones((columns, 1))], [np.ones((1, rows)), np.zeros((1, 1))]])[:, : rows + (not symmetric)]
    n = table.shape[1]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n, columns + 1
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = (np.arange(n) == rows).astype(float)
    lp.col_lower_ = np.where(np.arange(n) == rows, -highspy.kHighsInf, 0.0)
    lp.col_upper_ = np.full(n, highspy.kHighsInf)
    lp.row_lower_ = np.append(np.zeros(columns), 1.0)
    lp.row_upper_ = np.append(np.full(columns, highspy.kHighsInf), 1.0)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(columns + 2, dtype=np.int32) * n
    lp.a_matrix_.index_ = np.tile(np.arange(n, dtype=np.int32), columns + 1)
    lp.a_matrix_.value_ = table.ravel()
    return _solved(lp)[:rows]


def _solved(lp: highspy.HighsLp) -> Floats:
    model = SilentHighs()
    for option, value in (("output_flag", False), ("threads", 1), ("solver", "ipm"), ("run_crossover", "choose")):
        model.setOptionValue(option, value)
    model.passModel(lp)
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(model.modelStatusToString(model.getModelStatus()))
    return np.asarray(model.getSolution().col_value)


def lottery_row(name: str, margins: Floats, repeats: int) -> Row:
    m = len(margins)
    found = maximal_lottery(margins)
    size = f"m={m}, support {len(found.support)}, cert {found.certificate.value:.0e}"
    ours = seconds(lambda: maximal_lottery(margins), repeats)
    if m > LARGEST_FOR_PEER:
        return Row(name, size, ours, f"{PEER} (not run at this size)", None)
    return Row(name, size, ours, PEER, seconds(lambda: highs(margins / np.abs(margins).max(), symmetric=True), 1))


def levels_row(name: str, margins: Floats) -> Row:
    found = iterated_maximal_lotteries(margins)
    size = f"m={len(margins)}, {len(found.levels)} levels, cert {found.certificate.value:.0e}"
    return Row(name, size, seconds(lambda: iterated_maximal_lotteries(margins), 1), "none known", None)


def sparse_margins(agents: int) -> sparse.csr_array:
    """Of games of seven: at 52,958 agents 31,049 games, as in the Diplomacy data."""
    winner, loser = pairs_of(free_for_alls(round(agents * 31_049 / 52_958), agents))
    wins = sparse.csr_array((np.ones(len(winner)), (winner, loser)), shape=(agents, agents))
    return sparse.csr_array(wins - wins.T)


def sparse_rows(agents: int) -> Iterator[Row]:
    margins = sparse_margins(agents)
    one = iterated = None

    def first() -> None:
        nonlocal one
        one = maximal_lottery(margins, options=LotteryOptions(mode="any"))

    def levels() -> None:
        nonlocal iterated
        iterated = iterated_maximal_lotteries(margins, options=LotteryOptions(mode="any", accept_approximate=True))

    took = seconds(first, 1)
    size = f"m={agents}, support {len(one.support)}, cert {one.certificate.value:.0e}"
    yield Row("some lottery, sparse games of seven", size, took, "none known", None)
    took = seconds(levels, 1)
    size = f"m={agents}, {len(iterated.levels)} levels, cert {iterated.certificate.value:.0e}"
    yield Row("its levels", size, took, "none known", None)


def nash_row(agents: int, tasks: int) -> Row:
    scores = np.random.default_rng(5).normal(size=(agents, tasks))
    ours = seconds(lambda: nash_average(scores), 3)
    return Row("Nash average, normal scores", f"{agents} x {tasks}", ours, PEER, seconds(lambda: highs(scores), 1))


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(__doc__ or "", argv)
    sizes = (100, 300) if options.quick else (300, 1000, 2000)
    header("Maximal lotteries and Nash averages", ("highspy", "numpy", "scipy"))
    for m in sizes:
        show(lottery_row("maximal lottery, odd margins", random_margins(m, 1, odd=True), min(options.repeats, 3)))
        show(lottery_row("maximal lottery, margins -1, 0, 1", random_margins(m, 2, largest=1), min(options.repeats, 3)))
        show(levels_row("iterated lotteries, odd margins", random_margins(m, 1, odd=True)))
        show(levels_row("iterated lotteries, noisy order", noisy_order_margins(m, 3)))
    for row in sparse_rows(5_000 if options.quick else 52_958):
        show(row)
    for agents, tasks in ((20, 53),) if options.quick else ((20, 53), (200, 1000), (100, 10_000)):
        show(nash_row(agents, tasks))


if __name__ == "__main__":
    main()
