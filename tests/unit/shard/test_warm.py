"""What `python -m services.precompile` leaves compiled."""

import sys

import numba
import pytest

from ratings_core.online import RATERS
from services.precompile import warm

USED_BY_EVERY_POOL = (
    "ratings_core.records.roster",
    "ratings_core.tallies.pair_tally",
    "ratings_core.tallies.score_table",
    "services.state.dedupe",
)


@pytest.fixture(scope="module", autouse=True)
def warmed() -> None:
    warm()


def compiled(module: str) -> list[str]:
    found = vars(sys.modules[module]).items()
    return [name for name, value in found if isinstance(value, numba.core.dispatcher.Dispatcher) and value.signatures]


@pytest.mark.parametrize("rater", RATERS)
def test_the_folds_of_all_raters_are_compiled(rater: str) -> None:
    assert "_fold" in compiled(f"ratings_core.online.{rater}")


@pytest.mark.parametrize("module", USED_BY_EVERY_POOL)
def test_what_every_pool_uses_is_compiled(module: str) -> None:
    assert compiled(module)


@pytest.mark.parametrize(
    ("module", "kernel"),
    [("ratings_core.records.roster", "_rehash"), ("ratings_core.records.names", "_is_plain"), ("ratings_core.arrays.frozen", "put_back")],
)
def test_what_comes_with_more_agents_and_checkpoints_is_compiled(module: str, kernel: str) -> None:
    assert kernel in compiled(module)


def test_it_can_run_again() -> None:
    warm()
