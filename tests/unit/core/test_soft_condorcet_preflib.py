"""Soft Condorcet optimisation on the published profiles: every strong winner on top, every complete small one as good as Kemeny's."""

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks import preflib as printed
from ratings_core.batch.soft_condorcet import soft_condorcet
from ratings_core.ranking import normalised_kendall_tau
from ratings_core.solution import Status
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.ties import linear
from tests.support.profiles import preflib
from tests.support.shared import shared_file

SMALL_AND_COMPLETE = 14
TABLE = Path(__file__).parents[2] / "golden" / "sco" / "table2_preflib_published.csv"


def complete_profiles():
    found = {name: profile for name, profile in preflib().items() if profile.complete and len(profile.names) <= 10}
    assert len(found) == SMALL_AND_COMPLETE
    return found


def test_a_strong_winners_rating_is_maximal_in_all_profiles():
    """The paper's Algorithm 1 has it on top in 92 to 100 % (table 2); here also where votes are partial or tied."""
    winners = 0
    for profile in preflib().values():
        if len(profile.names) > 60:
            continue
        margins = profile.margins()
        strong = np.flatnonzero((margins > 0).sum(axis=1) == len(margins) - 1)
        found = soft_condorcet(profile.preferences())
        assert found.winner == (strong[0] if strong.size else None)
        if strong.size:
            winners += 1
            assert found.ratings[strong[0]] == found.ratings.max() == 100.0
            assert found.ranking.levels[0] == (strong[0],)
    assert winners == 23


def test_small_complete_profiles_get_an_order_as_good_as_kemenys():
    for name, profile in complete_profiles().items():
        wins = profile.preferences()
        found, best = soft_condorcet(wins), kemeny(wins)
        ids = found.ranking.ids
        assert found.status is Status.OPTIMAL
        assert np.triu(wins[np.ix_(ids, ids)], 1).sum() == pytest.approx(best.value), name
        assert found.bound == pytest.approx(wins.sum() - best.value)
        assert found.loss - found.bound <= 1e-4 * np.abs(profile.margins()).sum() / 2
        if best.unique:
            assert normalised_kendall_tau(found.ranking, linear(best.order.tolist())) == 0


def test_the_table_beside_the_papers_column_is_printed(capsys):
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert (len(rows), sum(int(row["size"]) for row in rows)) == (15, 12_680)
    assert printed.published() == {int(row["m_min"]): float(row["Kn_gd"]) for row in rows[:9]}
    printed.main([str(shared_file("data/preflib")), "--quick"])
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.endswith((" yes", " no")) for line in lines) == SMALL_AND_COMPLETE
    assert "100% full batch" in lines[-1]
