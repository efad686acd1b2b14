"""What the chaos tests share."""

import gc
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def sockets_of_lost_brokers() -> Iterator[None]:
    """kafka-python leaves sockets of brokers that went away to the collector, which warns of each."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
