"""Voting methods: rankings from who beats whom, one file per method."""

from ratings_core.voting.lotteries import (
    IteratedMaximalLotteries,
    Level,
    MaximalLottery,
    iterated_maximal_lotteries,
    maximal_lottery,
)

__all__ = ["IteratedMaximalLotteries", "Level", "MaximalLottery", "iterated_maximal_lotteries", "maximal_lottery"]
