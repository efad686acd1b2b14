"""Access checks: host names (against DNS rebinding), origins (against pages of other sites), and bearer keys with two scopes."""

import math
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.datastructures import Headers

from services.api.keys import Keys
from services.api.problems import ApiError
from services.api.rates import Buckets
from services.runtime.settings import LOOPBACK, Settings

_FAILURES: Final = 10.0
"""Wrong keys per minute and address that are answered 403; further ones are answered 429. A valid key is always accepted: many clients may
share the address of a proxy, and a client with a wrong key must not lock out the others."""
_BURST_SECONDS: Final = 2.0
"""Burst of a key, as seconds of its rate: a rate of 10 requests per second allows 20 requests at once."""
Connection: TypeAlias = ASGIConnection[Any, Any, Any, Any]
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Access:
    """The access rules of one installation. Each check raises `ApiError` if it fails."""

    def __init__(self, settings: Settings) -> None:
        self._hosts = {host.lower() for host in (*LOOPBACK, settings.host, *settings.allowed_hosts)}
        self._keys = Keys(settings)
        self._failures = Buckets(_FAILURES / 60.0, _FAILURES)
        rate = settings.api_key_rate
        self._requests = None if rate is None else Buckets(rate, max(1.0, _BURST_SECONDS * rate))

    def check_host(self, headers: Headers) -> None:
        """Check that the Host header names this service. Refuses pages of other sites whose host name resolves to this address."""
        hosts = headers.getall("host", [])
        if len(hosts) != 1 or (name := _host_name(hosts[0])) is None:
            raise ApiError(400, "bad Host header", "send exactly one Host header, name or name:port")
        if name not in self._hosts:
            raise ApiError(421, "not this host", f"the service does not answer requests for host {name}: add it to EQUIRANK_ALLOWED_HOSTS")

    def check_origin(self, headers: Headers, method: str) -> None:
        """Check that a request that writes comes from a program or from a page of this origin."""
        if method in SAFE_METHODS:
            return
        if headers.get("sec-fetch-site") == "cross-site":
            raise ApiError(403, "foreign page", "writes are accepted only from programs and from pages of this address")
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != headers.get("host", "").lower():
            raise ApiError(403, "foreign origin", f"writes from pages of {origin} are refused")

    def check_key(self, request: Connection, *, admin: bool = False) -> None:
        """Check the request's key, if the installation has keys, and its rate. admin: whether an admin key is required.

        Any key may write outcomes and export them. Retractions and changes of pools require an admin key.
        """
        address = _address(request)
        if not self._keys.any:
            self._pace(request, address)
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given:
            detail = f"send Authorization: Bearer with {'an admin' if admin else 'a write or admin'} key"
            raise ApiError(401, "no key", detail, headers={"WWW-Authenticate": "Bearer"})
        key = self._keys.find(given.strip())
        if key is None:
            if (seconds := self._failures.wait(address)) > 0:
                raise _slow_down("too many wrong keys from this address", seconds)
            self._failures.take(address)
            raise ApiError(403, "key does not allow this", "the key is unknown: send one of the installation's keys")
        request.scope["state"]["key"] = key.name
        if admin and not key.admin:
            raise ApiError(403, "key does not allow this", "this request needs an admin key")
        self._pace(request, key.name)

    def _pace(self, request: Connection, name: str) -> None:
        """Count a request toward the rate of `name`, once even if several checks call this. Raises `ApiError` 429."""
        if self._requests is None or "paced" in request.scope["state"]:
            return
        if (seconds := self._requests.wait(name)) > 0:
            raise _slow_down("too many requests with this key, or from this address if no keys are set", seconds)
        self._requests.take(name)
        request.scope["state"]["paced"] = True


def _slow_down(why: str, seconds: float) -> ApiError:
    return ApiError(429, "too many requests", f"{why}: wait as Retry-After says", headers={"Retry-After": str(math.ceil(seconds))})


def _address(request: Connection) -> str:
    """Return the client's IPv4 address, or the /64 network of its IPv6 address."""
    client = "" if request.client is None else request.client.host
    try:
        address = ip_address(client)
    except ValueError:
        return client
    if address.version == 4:
        return client
    mapped = address.ipv4_mapped  # a dual-stack socket, or a proxy on one, shows IPv4 clients in this form
    return str(ip_network((int(address) >> 64 << 64, 64)) if mapped is None else mapped)


def _netloc(origin: str) -> str | None:
    """Return host and port of an Origin header; None if it is not a URL."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _host_name(host: str) -> str | None:
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    plain = parts.hostname if parts.netloc == host and "@" not in host else None
    return plain.lower() if plain else None
