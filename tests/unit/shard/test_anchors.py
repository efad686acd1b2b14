"""Topics that forget: refused without anchors, taken with those that lie close enough; and which checkpoints stay as anchors."""

import logging
import threading
from types import SimpleNamespace

import pytest

from services.checkpoints.anchors import Anchors, check_retention, spacing
from services.engine import engine
from services.log.protocol import LogError, Retention
from services.runtime.settings import Settings


class Topic:
    """Of a topic only what it forgets, and how it is called."""

    def __init__(self, retention: Retention | None) -> None:
        self.name, self.retention = "outcomes", retention


DAY = Retention(86400.0)


@pytest.mark.parametrize(
    ("retention", "seconds", "words"),
    [
        (DAY, None, r"forgets records after 86400 s: set .* or set EQUIRANK_ANCHOR_SECONDS \(at most 43200\)"),
        (Retention(size=10**9), None, "after 1000000000 bytes of a partition: .* or set EQUIRANK_ANCHOR_SECONDS:"),
        (DAY, 43201.0, "EQUIRANK_ANCHOR_SECONDS is 43201, .*must be at most 43200"),
    ],
)
def test_a_topic_that_forgets_what_no_anchor_holds_is_refused(retention: Retention, seconds: float | None, words: str) -> None:
    with pytest.raises(LogError, match=words) as caught:
        check_retention(Topic(retention), seconds)  # type: ignore[arg-type]  # the rest of a topic is not asked
    assert not caught.value.retriable


@pytest.mark.parametrize(
    ("retention", "seconds", "kept"),
    [
        (None, None, None),
        (None, 60.0, None),
        (DAY, 43200.0, 43200.0),
        (Retention(size=1), 60.0, 60.0),
        (Retention(), None, None),
        (Retention(), 60.0, 60.0),
    ],
)
def test_others_are_taken_and_anchors_kept_where_something_is_forgotten(
    retention: Retention | None, seconds: float | None, kept: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(retention)
    with caplog.at_level(logging.WARNING):
        check_retention(topic, seconds)  # type: ignore[arg-type]
    assert spacing(topic, seconds) == kept  # type: ignore[arg-type]
    idle = retention is None and seconds is not None
    assert ("though EQUIRANK_ANCHOR_SECONDS is set" in caplog.text) is idle, "a setting without effect is named"


def test_anchors_lie_within_the_log_and_apart() -> None:
    older = [(5, 0.0), (10, 10.0), (20, 12.0), (30, 19.0), (40, 20.0), (50, 31.0)]
    assert list(Anchors(10.0, 6).choose(older)) == [1, 4, 5]
    assert list(Anchors(10.0, 0).choose(older)) == [0, 1, 4, 5]
    assert list(Anchors(10.0, 51).choose(older)) == []


def test_a_clock_that_was_put_back_leaves_no_hour_without_an_anchor() -> None:
    older = [(1, 5000.0), (2, 5005.0), (3, 1410.0), (4, 1415.0), (5, 1420.0)]
    assert list(Anchors(10.0, 0).choose(older)) == [0, 2, 4]


def test_an_engine_does_not_start_on_a_topic_that_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "open_log", lambda _: SimpleNamespace(outcomes=Topic(DAY)))
    driver = engine.Engine(Settings(), metrics=None)  # type: ignore[arg-type]  # nothing is measured before
    with pytest.raises(LogError, match="EQUIRANK_ANCHOR_SECONDS"):
        driver.run(threading.Event(), leave=lambda error: pytest.fail(str(error)))
