"""Rates by name, and which addresses share one."""

import pytest
from litestar.connection import ASGIConnection

from services.api import rates
from services.api.rates import Buckets
from services.api.security import _address


class Timer:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_refills_by_its_rate_up_to_its_burst() -> None:
    timer = Timer()
    buckets = Buckets(0.5, 2.0, timer)
    for _ in range(2):
        assert buckets.wait("a") == 0.0
        buckets.take("a")
    assert buckets.wait("a") == pytest.approx(2.0)
    assert buckets.wait("b") == 0.0
    timer.now += 1.0
    assert buckets.wait("a") == pytest.approx(1.0)
    timer.now += 1000.0
    for _ in range(2):
        assert buckets.wait("a") == 0.0
        buckets.take("a")
    assert buckets.wait("a") == pytest.approx(2.0)


def test_an_empty_bucket_goes_no_further_down() -> None:
    buckets = Buckets(1.0, 1.0, Timer())
    for _ in range(5):
        buckets.take("a")
    assert buckets.wait("a") == pytest.approx(1.0)


def test_the_name_that_was_used_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "_NAMES", 3)
    buckets = Buckets(0.001, 1.0, Timer())
    for name in ("a", "b", "c", "a", "d"):
        buckets.take(name)
    assert [name for name in "abcd" if buckets.wait(name) > 0] == ["a", "c", "d"]


@pytest.mark.parametrize(
    ("client", "name"),
    [("192.0.2.7", "192.0.2.7"), ("2001:db8::1", "2001:db8::/64"), ("2001:db8::ffff:0:0:1", "2001:db8::/64"),
     ("2001:db8:0:1::1", "2001:db8:0:1::/64"), ("2001:db8:0:2::1", "2001:db8:0:2::/64"), ("testclient", "testclient"),
     ("::ffff:192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.8", "192.0.2.8")],
)  # fmt: skip
def test_addresses_of_one_ipv6_network_share_a_rate(client: str, name: str) -> None:
    assert _address(ASGIConnection({"type": "http", "client": (client, 1234), "headers": []})) == name


def test_a_request_without_an_address_has_a_name_all_the_same() -> None:
    assert _address(ASGIConnection({"type": "http", "client": None, "headers": []})) == ""
