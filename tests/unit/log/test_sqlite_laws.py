"""The embedded log keeps every law of the protocol."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.log_laws import LAWS, Backend, SqliteBackend


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Backend]:
    backend = SqliteBackend(tmp_path)
    yield backend
    backend.close()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_sqlite_keeps_the_law(backend: Backend, law: Callable[[Backend], None]) -> None:
    law(backend)


def test_the_table_of_laws_is_whole() -> None:
    assert len(LAWS) == 16
