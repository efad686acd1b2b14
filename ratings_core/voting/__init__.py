"""Voting methods: rankings and lotteries from pairwise margins and ballots, one file a method."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
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
_OF_LOTTERIES: Final = ("LotteryOptions", "iterated_maximal_lotteries", "maximal_lottery")


def __getattr__(name: str) -> Any:  # imported when first used: ballots need none of the solvers
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'lotteries' if name in _OF_LOTTERIES else 'lottery_records'}"), name)
