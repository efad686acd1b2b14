"""Kafka keeps every law of the protocol, on a real broker, as the embedded log does."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.log_laws import LAWS, Backend, KafkaBackend, SqliteBackend


@pytest.fixture(params=["sqlite", "kafka"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    made = SqliteBackend(tmp_path) if request.param == "sqlite" else KafkaBackend(request.getfixturevalue("kafka"))
    yield made
    made.close()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_backend_keeps_the_law(backend: Backend, law: Callable[[Backend], None]) -> None:
    law(backend)
