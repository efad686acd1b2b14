import pytest

from services.engine.metrics import EngineMetrics
from services.runtime.metrics import API, BOUNDED, ENGINE, Metrics


@pytest.mark.parametrize("metric", [*API, *ENGINE], ids=lambda metric: metric.name)
def test_names_follow_the_grammar(metric) -> None:
    assert metric.name.startswith("equirank_")
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.name.endswith("_seconds") or metric.kind != "histogram"
    assert set(metric.labels) <= BOUNDED, "a label whose number of values stays small is added to BOUNDED; others are refused"
    assert bool(metric.buckets) == (metric.kind == "histogram")


def test_names_are_unique() -> None:
    names = [metric.name for metric in [*API, *ENGINE]]
    assert len(set(names)) == len(names)


def test_the_engine_exposes_exactly_its_table() -> None:
    """A family without samples is exposed too, so an engine that knows no shard yet shows all names."""
    exposed = [(family.type, family.name + "_total" * (family.type == "counter")) for family in EngineMetrics(None).collect()]
    assert sorted(exposed) == sorted((metric.kind, metric.name) for metric in ENGINE)


def test_a_name_outside_the_table_is_an_error() -> None:
    metrics = Metrics(API)
    with pytest.raises(KeyError):
        metrics.counter("equirank_typo_total")
    metrics.counter("equirank_api_outcomes_accepted_total").inc(3)
    assert b"equirank_api_outcomes_accepted_total 3.0" in metrics.text()
