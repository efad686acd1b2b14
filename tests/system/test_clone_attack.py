"""`equirank up --demo clones`: what copies do to the boards, live, as its users see it."""

from pathlib import Path

import pytest

from services.demo import attack, clones
from services.demo.clones import Report
from services.settings import Settings
from tests.support.installation import Installation, installation, until

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.timeout(700)]

NOTHING = 1e-6
AFTER_AGENTS = {"bradley_terry": True, "uniform": True}
FAIR = ("nash_average", "deviation")
AFTER_TASKS = {**AFTER_AGENTS, "maximal_lottery": True, "iterated_maximal_lotteries": True}


def told(one: Installation) -> int:
    """How often the last wave's report was printed; the second start appends to the first one's output."""
    return " ".join(one.output.split()).count("after 200 copies of the task")


def reports(settings: Settings) -> list[Report]:
    noted = attack.read(settings)
    return [] if noted is None else noted.reports


def test_copies_move_the_methods_that_they_must_and_no_other(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    with installation(settings.data, "--demo", "clones") as one:
        until(lambda: len(reports(settings)) == 3 + len(clones.NOISES), "all waves are on all boards", 400.0)
        told_all = [(report.noise, {row.method: row.share for row in report.moved}) for report in reports(settings)]
        start, agents, tasks = (moved for _, moved in told_all[:3])
        assert start == dict.fromkeys(clones.METHODS, 0.0)
        assert {method: share > 0.01 for method, share in agents.items()} == {name: name in AFTER_AGENTS for name in clones.METHODS}
        assert {method: share > 0.01 for method, share in tasks.items()} == {name: name in AFTER_TASKS for name in clones.METHODS}
        still = [agents[name] for name in clones.METHODS if name not in AFTER_AGENTS]
        still += [tasks[name] for name in clones.METHODS if name not in AFTER_TASKS]
        assert max(still) <= NOTHING
        assert one.outcomes(clones.POOL) == 53 + 53 + 200
        assert [noise for noise, _ in told_all[3:]] == list(clones.NOISES)
        for noise, (_, near) in zip(clones.NOISES, told_all[3:], strict=True):
            assert all(near[method] > 0.1 for method in AFTER_AGENTS), "near copies count as much as exact ones"
            for method in FAIR:
                assert NOTHING < near[method] <= noise, "no further than the copies are apart"
        until(lambda: told(one) == 1, "the report is printed")
        until(lambda: "20 near copies of the task" in " ".join(one.output.split()), "the curve is printed")
    with installation(settings.data, "--demo", "clones") as again:
        until(lambda: told(again) == 2, "the report is shown again")
        until(lambda: again.head(clones.POOL), "the pool is published again")
        assert again.outcomes(clones.POOL) == 306, "a demo started again sends nothing twice"
        verified = again.run("verify")
        assert "no difference" in verified.stdout, verified.stdout + verified.stderr
