"""A real Prometheus scrapes the release: every dashboard shows something, and the lag alert fires and clears."""

import json
import re
from contextlib import suppress

import pytest

from tests.cluster.cluster import CHART, FULL, NAMESPACE, RELEASE, Loader, kubectl, wait_until
from tests.cluster.prometheus import Prometheus

EMPTY = {
    *("equirank_dead_letters_total", "equirank_api_outcomes_refused_total", "equirank_fold_pause_seconds_bucket"),
    *("equirank_solve_wait_seconds", "equirank_solved_age_seconds", "equirank_solved_unpublished"),
}
"""Metrics whose series begin with the first event of their label, which a release in good health may not have had."""


def test_it_scrapes_the_engine_and_every_api(monitoring: Prometheus) -> None:
    wait_until("three targets are up", lambda: monitoring.value('count(up{job=~".*equirank.*"} == 1)') == 3, 60)
    assert monitoring.value('count(up{job=~".*equirank.*"})') == 3


def test_every_dashboard_shows_something(monitoring: Prometheus, loader: Loader) -> None:
    loader.rate(20)
    panels = [panel for path in (CHART / "dashboards").glob("*.json") for panel in json.loads(path.read_text())["panels"]]
    queries = {target["expr"].replace("$__rate_interval", "1m") for panel in panels for target in panel.get("targets", [])}
    expected = [query.replace("$namespace", NAMESPACE) for query in queries if not EMPTY & set(re.findall(r"equirank_\w+", query))]
    assert len(expected) > 30

    def empty() -> list[str]:
        return [query for query, results in zip(expected, monitoring.query(*expected), strict=True) if not results]

    with suppress(AssertionError):
        wait_until("every query has results", lambda: not empty(), 60)
    assert not empty(), empty()


def test_no_alert_fires_on_a_release_in_good_health(monitoring: Prometheus) -> None:
    assert monitoring.query("ALERTS") == [[]]


@pytest.mark.skipif(not FULL, reason="EQUIRANK_CLUSTER_FULL is not set")
def test_the_lag_alert_fires_and_clears(monitoring: Prometheus, loader: Loader) -> None:
    """A quota of the brokers lets consumers read less than producers write; without it they catch up."""
    loader.rate(100)
    _limit_consumers("--add-config", "consumer_byte_rate=5000")
    wait_until("the lag alert fires", lambda: "EquirankLag" in monitoring.firing(), 300)
    _limit_consumers("--delete-config", "consumer_byte_rate")
    wait_until("the lag alert clears", lambda: "EquirankLag" not in monitoring.firing(), 300)
    loader.settled(120)


def _limit_consumers(*change: str) -> None:
    """Change the quota of every client at each of the demo's brokers."""
    tool = ["java", "-cp", "/opt/kafka/libs/*", "kafka.admin.ConfigCommand", "--bootstrap-server", "localhost:9092"]
    kubectl("exec", f"{RELEASE}-kafka-0", "--", *tool, "--alter", *change, "--entity-type", "clients", "--entity-default")
