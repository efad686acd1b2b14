"""`equirank up --demo clones`: what copies do to the boards, live, as its users see it."""

from pathlib import Path

from services.demo import attack, clones
from services.demo.clones import Report
from services.runtime.settings import Settings
from tests.support.installation import Installation, installation, until

NOTHING = 1e-6
AFTER_AGENTS = {"bradley_terry", "uniform"}
FAIR = ("nash_average", "deviation")
SCATTER = {"task": 1.0, "agent": 4.0}
"""Deviations of the noise that a fair method's ratings may move by: of 20 copies of an agent the luckiest on each task counts."""
AFTER_TASKS = {*AFTER_AGENTS, "maximal_lottery", "iterated_maximal_lotteries", "nash_average_agents"}
"""Tasks are the votes of these."""


def told(one: Installation) -> int:
    """How often the last wave's report was printed; the second start appends to the first one's output."""
    return " ".join(one.output.split()).count("after 200 copies of the task")


def reports(settings: Settings) -> list[Report]:
    noted = attack.read(settings)
    return [] if noted is None else noted.reports


def test_copies_move_the_methods_that_they_must_and_no_other(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    with installation(settings.data, "--demo", "clones") as one:
        until(lambda: len(reports(settings)) == 3 + 2 * len(clones.NOISES), "all waves are on all boards")
        moved_all = [{row.method: row.share for row in report.moved} for report in reports(settings)]
        start, agents, tasks = moved_all[:3]
        assert start == dict.fromkeys(clones.ALL_METHODS, 0.0)
        assert {method for method, share in agents.items() if share > 0.01} == AFTER_AGENTS
        assert {method for method, share in tasks.items() if share > 0.01} == AFTER_TASKS
        still = [agents[name] for name in clones.ALL_METHODS if name not in AFTER_AGENTS]
        still += [tasks[name] for name in clones.ALL_METHODS if name not in AFTER_TASKS]
        assert max(still) <= NOTHING
        assert one.outcomes(clones.POOL) == 53 + 53 + 200
        curve = [(report.copied, report.noise) for report in reports(settings)[3:]]
        assert curve == [(what, noise) for what in ("task", "agent") for noise in clones.NOISES]
        for (what, noise), near in zip(curve, moved_all[3:], strict=True):
            assert all(near[method] > 0.1 for method in AFTER_AGENTS), "near copies count as much as exact ones"
            for method in FAIR:
                assert NOTHING < near[method] <= SCATTER[what] * noise, "no further than the copies are apart"
        until(lambda: told(one) == 1, "the report is printed")
        for what in clones.NEAR:
            until(lambda what=what: f"20 near copies of the {what}" in " ".join(one.output.split()), "the curve is printed")
    with installation(settings.data, "--demo", "clones") as again:
        until(lambda: told(again) == 2, "the report is shown again")
        until(lambda: again.head(clones.POOL), "the pool is published again")
        assert again.outcomes(clones.POOL) == 306, "a demo started again sends nothing twice"
        verified = again.run("verify")
        assert "no difference" in verified.stdout, verified.stdout + verified.stderr
