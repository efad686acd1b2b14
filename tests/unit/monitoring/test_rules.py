"""Alert rules: each one fires and stays quiet as Prometheus itself evaluates it, and each has a section in the playbook."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.support.promtool import SERIES, needs_promtool, promtool

ROOT = Path(__file__).resolve().parents[3]
RULES = ROOT / "deploy/prometheus/equirank.yaml"
PLAYBOOK = ROOT / "docs/operations/playbook.md"
MINUTES = 20
GROUPS = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
ALERTS = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}


class Case(NamedTuple):
    """Series, a sample a minute, under which an alert fires after MINUTES, and others under which it does not."""

    fires: dict[str, str]
    quiet: dict[str, str]


CASES = {
    "EquirankEngineAbsent": Case({"up": "1x20"}, {"equirank_shards": "2x20"}),
    "EquirankApiAbsent": Case({"up": "1x20"}, {"equirank_api_folding_fresh": "0x20"}),
    "EquirankTargetDown": Case(
        {'up{job="shop/equirank-metrics",instance="10.0.0.1:8000"}': "0x20"},
        {'up{job="shop/equirank-metrics"}': "0 0 1x18", 'up{job="another"}': "0x20"},
    ),
    "EquirankFoldingStopped": Case(
        {'equirank_api_folding_fresh{instance="a"}': "1x10 0x10", 'equirank_api_folding_fresh{instance="b"}': "1x10 0x10"},
        {'equirank_api_folding_fresh{instance="a"}': "1x10 0x10", 'equirank_api_folding_fresh{instance="b"}': "1x20"},
    ),
    "EquirankBoardsStale": Case(
        {"equirank_api_folding_idle_seconds": "1x10" + " Inf" * 10}, {"equirank_api_folding_idle_seconds": "0 60 120 180 240 299x15"}
    ),
    "EquirankShardSilent": Case(
        {'equirank_shard_progress_timestamp_seconds{shard="shard-1"}': "0+60x10 600x10"},
        {'equirank_shard_progress_timestamp_seconds{shard="shard-1"}': "0+60x20"},
    ),
    "EquirankLag": Case(
        {'equirank_partition_lag_seconds{partition="3"}': "0x10 35+60x10"},
        {'equirank_partition_lag_seconds{partition="3"}': "40 0 40 0 40 0x10 29x5"},
    ),
    "EquirankPartitionStopped": Case(
        {'equirank_partition_stopped{partition="3"}': "0x10 1x10"}, {'equirank_partition_stopped{partition="3"}': "1x10 0x10"}
    ),
    "EquirankPartitionIsolated": Case(
        {'equirank_partition_isolated{partition="3"}': "0x10 1x10"}, {'equirank_partition_isolated{partition="3"}': "1x10 0x10"}
    ),
    "EquirankPoolsStopped": Case(
        {'equirank_pools_stopped{partition="3"}': "0x20", 'equirank_pools_frozen{partition="3"}': "0x10 1x10"},
        {'equirank_pools_stopped{partition="3"}': "0x20", 'equirank_pools_frozen{partition="3"}': "0x20"},
    ),
    "EquirankDeadLetters": Case(
        {'equirank_dead_letters_total{reason="unparsable"}': "_x18 1x2"},  # the first one of its reason
        {'equirank_dead_letters_total{reason="unparsable"}': "0x5 4x15", 'equirank_dead_letters_total{reason="too_many_agents"}': "0x20"},
    ),
    "EquirankEpochChurn": Case(
        {'equirank_partition_epoch{partition="3"}': "1x10 2 3 4 5 6 6x5"},
        {'equirank_partition_epoch{partition="3"}': "1x10 2 2 3 3 3x5"},
    ),
    "EquirankShardRestarts": Case(
        {'equirank_shard_restarts_total{shard="shard-1"}': "0x10 1 2 3 4 4x6"},
        {'equirank_shard_restarts_total{shard="shard-1"}': "0x10 1x10"},
    ),
    "EquirankSolveFailures": Case(
        {'equirank_solve_jobs{status="failed"}': "0 1x19"},
        {'equirank_solve_jobs{status="failed"}': "0x15 1x5", 'equirank_solve_jobs{status="not_applicable"}': "5x20"},
    ),
    "EquirankSolvedBoardsStale": Case(
        {'equirank_solved_age_seconds{method="nash"}': "0+120x20"}, {'equirank_solved_age_seconds{method="nash"}': "10 800 0 890x17"}
    ),
    "EquirankCertificate": Case(
        {'equirank_solve_certificate{method="kemeny"}': "0.02x20"}, {'equirank_solve_certificate{method="kemeny"}': "1e-9 0.5 1e-9x18"}
    ),
    "EquirankStoreFailures": Case({"equirank_store_failures_total": "0x10 0+3x10"}, {"equirank_store_failures_total": "0x10 1x10"}),
    "EquirankLogFailures": Case({"equirank_api_log_failures_total": "0x10 0+3x10"}, {"equirank_api_log_failures_total": "0x10 2x10"}),
    "EquirankLogWeak": Case({"equirank_log_weaknesses": "3x20"}, {"equirank_log_weaknesses": "0x20"}),
    "EquirankPartitionsAdded": Case({"equirank_log_unread_partitions": "0x10 4x10"}, {"equirank_log_unread_partitions": "0x20"}),
    "EquirankCheckpointsOld": Case(
        {
            'equirank_partition_position{partition="3"}': "10+5x20",
            'equirank_checkpoint_position{partition="3"}': "10x20",
            'equirank_checkpoint_timestamp_seconds{partition="3"}': "0x20",
        },
        {
            'equirank_partition_position{partition="3"}': "10x20",  # nothing to write: it did not move
            'equirank_checkpoint_position{partition="3"}': "10x20",
            'equirank_checkpoint_timestamp_seconds{partition="3"}': "0x20",
        },
    ),
    "EquirankCheckpointFailures": Case(
        {"equirank_checkpoint_failures_total": "0+1x20"}, {"equirank_checkpoint_failures_total": "0x10 1x10"}
    ),
    "EquirankArchiveLags": Case(
        {'equirank_archive_lag_seconds{partition="3"}': "0 40x19", "equirank_log_retention_seconds": "60x20"},
        {'equirank_archive_lag_seconds{partition="3"}': "0 300 590 30x17", "equirank_log_retention_seconds": "Inf" + " Inf" * 19},
    ),
    "EquirankRatingsTopicLags": Case(
        {'equirank_ratings_topic_lag_seconds{partition="3"}': "0x10 60+60x10"},
        {'equirank_ratings_topic_lag_seconds{partition="3"}': "0 70 0 70 0 70x3 0x12"},
    ),
    "EquirankStoreGarbage": Case({"equirank_api_store_garbage_values": "0x10 2x10"}, {"equirank_api_store_garbage_values": "0x20"}),
    "EquirankApiErrors": Case(
        {
            'equirank_http_requests_total{status="200",route="/v1/outcomes"}': "0+600x20",
            'equirank_http_requests_total{status="503",route="/v1/outcomes"}': "0+30x20",
        },
        {
            'equirank_http_requests_total{status="200",route="/v1/outcomes"}': "0+600x20",
            'equirank_http_requests_total{status="503",route="/freshz"}': "0+30x20",
        },
    ),
}


def test_every_alert_is_tested() -> None:
    assert set(CASES) == set(ALERTS)


@needs_promtool
def test_the_rules_are_valid() -> None:
    assert f"{len(ALERTS)} rules found" in promtool("check", "rules", str(RULES))


@needs_promtool
def test_every_alert_fires_when_it_has_to_and_only_then(tmp_path: Path) -> None:
    """Each alert is evaluated without the others, which it does not depend on: all of them in every case take eight times as long."""
    files = []
    for alert, case in CASES.items():
        tests = [_test(f"{alert} {kind}", alert, kind == "fires", getattr(case, kind)) for kind in ("fires", "quiet")]
        files.append(_test_file(tmp_path, alert, tests))
    promtool("test", "rules", *files)  # one run, because each start takes a second of a busy machine


def test_no_rule_depends_on_another_or_on_its_group() -> None:
    assert all(group.keys() == {"name", "rules"} for group in GROUPS)
    assert all("alert" in rule and "ALERTS" not in rule["expr"] for rule in ALERTS.values())


@needs_promtool
@pytest.mark.parametrize("host", ["equirank-shards-x", ""])
@pytest.mark.parametrize(
    ("alert", "label", "value"), [("EquirankShardSilent", "shard", "shard-1"), ("EquirankPartitionIsolated", "partition", "3")]
)
def test_an_alert_names_the_host_of_its_shard_where_it_is_known(tmp_path: Path, alert: str, label: str, value: str, host: str) -> None:
    known = {f'equirank_partition_owner{{{label}="{value}",host="{host}"}}': "1x20"} if host else {}
    test = _test("host", alert, True, CASES[alert].fires | known)
    words = {f"{{{{ $labels.{label} }}}}": value, "{{ $value | humanizeDuration }}": "10m 0s"}
    annotations = {name: _replaced(text, words) for name, text in ALERTS[alert]["annotations"].items() if name != "host"}
    fired = {"exp_labels": ALERTS[alert]["labels"] | {label: value}, "exp_annotations": annotations | {"host": host}}
    test["alert_rule_test"] = [{"eval_time": f"{MINUTES}m", "alertname": alert, "exp_alerts": [fired]}]
    promtool("test", "rules", _test_file(tmp_path, alert, [test]))


def _replaced(text: str, words: dict[str, str]) -> str:
    for word, other in words.items():
        text = text.replace(word, other)
    return text


def _test_file(folder: Path, alert: str, tests: list[dict[str, Any]]) -> str:
    """A file of promtool's tests for one alert, with a copy of its rule beside it. Both are JSON, which is YAML."""
    rules, file = folder / f"{alert}.rules.json", folder / f"{alert}.json"
    rules.write_text(json.dumps({"groups": [{"name": alert, "rules": [ALERTS[alert]]}]}))
    file.write_text(json.dumps({"rule_files": [rules.name], "evaluation_interval": "15s", "tests": tests}))
    return str(file)


def _test(name: str, alert: str, fires: bool, series: dict[str, str]) -> dict[str, Any]:
    """A test group of promtool: whether one instance of the alert fires after the minutes, or none."""
    samples = [{"labels": "{}", "value": 1}] if fires else []
    expected = {"expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', "eval_time": f"{MINUTES}m", "exp_samples": samples}
    inputs = [{"series": metric, "values": values} for metric, values in series.items()]
    return {"name": name, "interval": "1m", "input_series": inputs, "promql_expr_test": [expected]}


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_uses_metrics_that_exist(alert: str) -> None:
    used = set(re.findall(r"equirank_\w+", str(ALERTS[alert])))
    assert used <= SERIES
    assert used or "up{" in ALERTS[alert]["expr"]


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_a_section_in_the_playbook(alert: str) -> None:
    sections = re.findall(r"^### (\w+)$(.*?)(?=^##|\Z)", PLAYBOOK.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    text = dict(sections)[alert]
    assert text.index("**Means.**") < text.index("**Check.**") < text.index("**Act.**")
    assert ALERTS[alert]["annotations"]["runbook_url"].endswith(f"docs/operations/playbook.md#{alert.lower()}")


def test_the_playbook_has_no_section_of_an_alert_that_is_gone() -> None:
    assert set(re.findall(r"^### (Equirank\w+)$", PLAYBOOK.read_text(encoding="utf-8"), re.MULTILINE)) == set(ALERTS)
