"""Voting methods: rankings and lotteries from pairwise margins and ballots, one file a method.

May import: `ratings_core.games`, `ratings_core.tallies` and everything below them.
Read first: `copeland.py` (the simplest method), `lotteries.py`, `profile.py` (ballots).
"""

from ratings_core.voting.lotteries import LotteryOptions, iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.lottery_records import IteratedMaximalLotteries, Level, MaximalLottery, Mode

__all__ = [
    "IteratedMaximalLotteries",
    "Level",
    "LotteryOptions",
    "MaximalLottery",
    "Mode",
    "iterated_maximal_lotteries",
    "maximal_lottery",
]
