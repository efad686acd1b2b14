"""Voting methods: rankings from who beats whom, one file per method."""

from ratings_core.voting.lotteries import iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.lottery_records import IteratedMaximalLotteries, Level, MaximalLottery, Mode

__all__ = ["IteratedMaximalLotteries", "Level", "MaximalLottery", "Mode", "iterated_maximal_lotteries", "maximal_lottery"]
