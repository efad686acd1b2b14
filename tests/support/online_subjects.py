"""All online raters with their readable twins, as test parameters: each rater with default and with other settings."""

import pytest

from ratings_core.online import Elo, FenchelYoung, Glicko2, Melo, Sco, WengLin
from tests.support.online_twins import elo_twin, fenchel_young_twin, glicko2_twin, melo_twin, sco_twin, weng_lin_twin

SUBJECTS = [
    pytest.param(Elo(), elo_twin, id="elo"),
    pytest.param(Elo(k=24, scale=200, base=2, start=0, provisional_k=60, provisional_outcomes=5), elo_twin, id="elo-provisional"),
    pytest.param(Sco(), sco_twin, id="sco"),
    pytest.param(Sco(tau=2, alpha=1, low=-2, high=2, start=0), sco_twin, id="sco-narrow"),
    pytest.param(FenchelYoung(), fenchel_young_twin, id="fenchel-young"),
    pytest.param(FenchelYoung(sigma=3, alpha=1, low=-4, high=4, start=0, seed=2**53), fenchel_young_twin, id="fenchel-young-narrow"),
    pytest.param(Melo(), melo_twin, id="melo"),
    pytest.param(Melo(k=10, rate=0.05, scale=100, base=3, start=0, dimensions=6, spread=0.4, seed=9), melo_twin, id="melo-6"),
    pytest.param(WengLin(), weng_lin_twin, id="weng-lin"),
    pytest.param(WengLin(mu=0, sigma=2, beta=0.5, kappa=0.4, tau=0.3), weng_lin_twin, id="weng-lin-kappa"),
    pytest.param(Glicko2(), glicko2_twin, id="glicko2"),
    pytest.param(
        Glicko2(start=0, deviation=120, volatility=0.3, tau=1.2, scale=100, period_seconds=3600), glicko2_twin, id="glicko2-hours"
    ),
]
