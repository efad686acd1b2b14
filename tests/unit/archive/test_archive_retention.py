"""Topics that forget: with an archive one that forgets too early is refused, without one the engine names it and counts it."""

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import generate_latest

from services.engine import engine
from services.engine.archiver import check_archive, forgets_unarchived
from services.engine.engine import Engine
from services.engine.metrics import EngineMetrics
from services.log.protocol import LogError, Retention
from services.runtime.settings import Settings

ARCHIVED = Settings(archive="archive", archive_seconds=30.0, checkpoint_seconds=5.0)
DAY = Retention(86400.0)


def topic(retention: Retention | None) -> Any:
    """Of a topic only what it forgets, and its name."""
    return SimpleNamespace(name="outcomes", retention=retention)


@pytest.mark.parametrize("retention", [None, DAY, Retention(105.0), Retention(size=1), Retention()])
def test_an_archive_allows_a_retention_of_three_times_its_lag(retention: Retention | None) -> None:
    check_archive(ARCHIVED, topic(retention))


def test_a_shorter_retention_is_refused_with_what_to_set() -> None:
    with pytest.raises(LogError, match=r"after 104 s, and the archive is up to 35 s behind: set its retention.ms to 105000") as error:
        check_archive(ARCHIVED, topic(Retention(104.0)))
    assert not error.value.retriable
    check_archive(Settings(), topic(Retention(104.0)))


def test_the_engine_does_not_start_where_the_archive_would_come_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "open_log", lambda _: SimpleNamespace(outcomes=topic(Retention(1.0))))
    driver = Engine(ARCHIVED, metrics=None)  # type: ignore[arg-type]  # nothing is measured before
    with pytest.raises(LogError, match="EQUIRANK_ARCHIVE_SECONDS"):
        driver.run(threading.Event(), leave=lambda error: pytest.fail(str(error)))


@pytest.mark.parametrize(
    ("settings", "retention", "told"),
    [
        (Settings(), DAY, "topic outcomes forgets records after 86400 s, and no archive keeps them; set EQUIRANK_ARCHIVE"),
        (Settings(), Retention(size=9), "after 9 bytes of a partition"),
        (Settings(), None, ""),
        (Settings(), Retention(), ""),
        (ARCHIVED, DAY, ""),
    ],
)
def test_the_engine_names_a_topic_whose_records_nothing_keeps(
    settings: Settings, retention: Retention | None, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = EngineMetrics(None)
    with caplog.at_level(logging.WARNING):
        Engine(settings, metrics)._tell_weaknesses(SimpleNamespace(outcomes=topic(retention), weaknesses=()))  # type: ignore[arg-type]
    assert len(forgets_unarchived(settings, topic(retention))) == len(caplog.records) == bool(told)
    assert told in caplog.text
    exposed = generate_latest(metrics._registry).decode()
    assert f"equirank_log_weaknesses {float(bool(told))}" in exposed
    assert f"equirank_log_retention_seconds {'86400.0' if retention == DAY else '+Inf'}" in exposed
