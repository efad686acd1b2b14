"""The engine's metrics of solves: each shows what it says, and none has a label that grows with pools."""

from prometheus_client import CollectorRegistry, generate_latest

from services.engine.metrics import EngineMetrics
from services.runtime import metrics
from services.solve.scheduler import health
from services.solve.scheduler.health import SolveHealth

METHOD = "deviation"
TOLD = SolveHealth(
    running=2,
    jobs={"running": 2, "solved": 8},
    ended={(METHOD, "optimal"): 7, (METHOD, "failed"): 1, (METHOD, "not_applicable"): 3},
    seconds={METHOD: 2.5},
    waiting={METHOD: 4},
    longest_wait={METHOD: 31.0},
    outdated={METHOD: 95.0},
    unpublished={METHOD: 1},
    certificates={METHOD: 1e-9},
    unconnected=5,
    thinly_led=6,
    replicates={METHOD: 128},
)
SHOWN = {
    "equirank_solves_running": 2,
    "equirank_solve_seconds_total": 2.5,
    "equirank_solves_waiting": 4,
    "equirank_solve_wait_seconds": 31,
    "equirank_solved_age_seconds": 95,
    "equirank_solved_unpublished": 1,
    "equirank_solve_certificate": 1e-9,
    "equirank_pools_unconnected": 5,
    "equirank_pools_thinly_led": 6,
    "equirank_bootstrap_replicates_total": 128,
}


def told(solves: SolveHealth) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    served = EngineMetrics(None)
    served.solves = solves
    registry = CollectorRegistry()
    registry.register(served)
    assert b"equirank_solves_total" in generate_latest(registry)
    return {(one.name, frozenset(one.labels.items())): one.value for family in registry.collect() for one in family.samples}


def test_every_metric_of_solves_shows_what_the_runner_tells() -> None:
    found = told(TOLD)
    of_solves = {metric.name: metric.labels for metric in metrics.ENGINE if "solve" in metric.name or metric.name in SHOWN}
    assert of_solves.keys() == SHOWN.keys() | {"equirank_solves_total", "equirank_solve_jobs"}
    for name, value in SHOWN.items():
        assert found[name, frozenset({("method", METHOD)} if of_solves[name] else ())] == value, name
    for status, count in (("optimal", 7), ("failed", 1), ("not_applicable", 3)):
        assert found["equirank_solves_total", frozenset({("method", METHOD), ("status", status)})] == count
    for status, count in TOLD.jobs.items():
        assert found["equirank_solve_jobs", frozenset({("status", status)})] == count
    assert set().union(*of_solves.values()) == {"method", "status"}, "a pool's name is no label"


def test_of_many_pools_the_worst_is_shown() -> None:
    ages = health.largest((METHOD, float(i % 7)) for i in range(50))
    assert ages == {METHOD: 6.0}
    assert len(told(SolveHealth(outdated=ages))) == len(told(SolveHealth(outdated={METHOD: 1.0})))
