"""A certificate is recomputed from the problem's own data: a solver that claims more than it found is found out."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ratings_core.errors import SolverError
from ratings_core.margins import lottery as posterior
from ratings_core.margins import posterior_lottery, posterior_margins
from ratings_core.solution import Certificate, Status
from ratings_core.voting import lotteries
from ratings_core.voting import schulze as schulze_module
from ratings_core.voting.lotteries import LotteryOptions
from ratings_core.voting.lottery_records import Level
from ratings_core.voting.schulze import schulze
from tests.support.planted import PlantedPool

ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 2.0], [1.0, 0.0, -1.0], [-2.0, 1.0, 0.0]])
WRONG = np.array([0.8, 0.1, 0.1])


def liar(*_: Any) -> Iterator[tuple[Level, dict[str, float]]]:
    """A solver of levels that returns a wrong lottery and calls it perfect."""
    yield Level(np.arange(3), WRONG, exploitability=0.0, entropy=1.0, unique=True, status=Status.OPTIMAL), {"iterations": 1.0}


def exploitability(lottery: np.ndarray, margins: np.ndarray) -> float:
    return float(max(0.0, -(lottery @ margins).min()) / np.abs(margins).max())


def test_a_wrong_lottery_is_refused_whatever_its_solver_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lotteries, "_solve_levels", liar)
    with pytest.raises(SolverError, match="does not reach tolerance") as raised:
        lotteries.maximal_lottery(ROCK_PAPER_SCISSORS)
    found = raised.value.solution
    assert found is not None
    assert found.certificate.value == pytest.approx(exploitability(WRONG, ROCK_PAPER_SCISSORS))
    assert found.status is Status.APPROXIMATE


def test_a_wrong_lottery_is_returned_as_approximate_where_that_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lotteries, "_solve_levels", liar)
    found = lotteries.maximal_lottery(ROCK_PAPER_SCISSORS, options=LotteryOptions(tolerance=1e-2, accept_approximate=True))
    assert (found.status, found.certificate.kind) == (Status.APPROXIMATE, "exploitability")
    assert found.certificate.value > 0.1


def test_the_certificate_of_a_right_lottery_is_that_of_its_data() -> None:
    found = lotteries.maximal_lottery(ROCK_PAPER_SCISSORS)
    assert found.status is Status.OPTIMAL
    assert found.certificate.value == pytest.approx(exploitability(found.lottery, ROCK_PAPER_SCISSORS), abs=1e-15)


def test_a_posterior_lottery_is_certified_against_all_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = PlantedPool.drawn(5, agents=12, games=2_000, cyclic=2.0, skill=0.0)
    margins = posterior_margins(pool.wins)
    right = posterior_lottery(margins)
    assert right.status is Status.OPTIMAL
    assert right.certificate == Certificate("exploitability", pytest.approx(exploitability(right.lottery, margins.dense()), abs=1e-12))
    solve = posterior.maximal_lottery

    def worse(block: np.ndarray, **options: Any) -> Any:
        found = solve(block, **options)
        lottery = np.zeros(len(block))
        lottery[0] = 1.0
        return replace(found, ratings=lottery, lottery=lottery, support=np.array([0]))

    monkeypatch.setattr(posterior, "maximal_lottery", worse)
    with pytest.raises(SolverError, match="against all agents"):
        posterior_lottery(margins)
    wrong = posterior_lottery(margins, options=LotteryOptions(accept_approximate=True))
    assert wrong.status is Status.APPROXIMATE
    assert wrong.certificate.value == pytest.approx(exploitability(wrong.lottery, margins.dense()))
    assert wrong.certificate.value > 1e-3


def test_schulze_lists_its_pairs_by_the_strength_of_their_strongest_chain() -> None:
    """0 beats 1 by 6 to 2, 1 beats 2 by 8 to 0, 0 beats 2 by 5 to 3: the strongest chain from 0 to 2 goes over 1, and its strength is 6."""
    found = schulze([[0, 6, 5], [2, 0, 8], [3, 0, 0]])
    assert found.edges == ((1, 2, 8.0), (0, 1, 6.0), (0, 2, 6.0))


def test_a_chain_of_schulze_that_never_reaches_its_agent_lacks_all_of_its_strength() -> None:
    links, paths = np.zeros((3, 3)), np.full((3, 3), 0.5)
    circle = np.array([[-1, 2, 1], [-1, -1, -1], [-1, -1, -1]], np.int32)
    assert schulze_module._shortfall(links, paths, circle, 0, 1) == 0.5
