"""Who may ask what: host names (against DNS rebinding), origins (against foreign pages), bearer keys with two scopes."""

import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit

from pydantic import SecretStr
from starlette.datastructures import Headers

from services.api.problems import ApiError
from services.runtime.settings import LOOPBACK, Settings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Access:
    """The rules of one installation. Each check raises `ApiError` or returns."""

    def __init__(self, settings: Settings) -> None:
        self._hosts = {host.lower() for host in (*LOOPBACK, settings.host, *settings.allowed_hosts)}
        self._open = not (settings.write_keys or settings.admin_keys)
        self._admin = _secrets(settings.admin_keys)
        self._write = [*_secrets(settings.write_keys), *self._admin]

    def check_host(self, headers: Headers) -> None:
        """The Host header names this service: a page elsewhere whose name was pointed here is refused."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or (name := _host_name(hosts[0])) is None:
            raise ApiError(400, "bad Host header", "send exactly one Host header, name or name:port")
        if name not in self._hosts:
            raise ApiError(421, "not this host", f"requests for {name} are not answered here: add it to EQUIRANK_ALLOWED_HOSTS")

    def check_origin(self, headers: Headers, method: str) -> None:
        """Writes come from no page, or from a page of this very address."""
        if method in SAFE_METHODS:
            return
        if headers.get("sec-fetch-site") == "cross-site":
            raise ApiError(403, "foreign page", "writes are taken from programs and from pages of this address only")
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != headers.get("host", "").lower():
            raise ApiError(403, "foreign origin", f"writes from pages of {origin} are refused")

    def check_write(self, headers: Headers) -> None:
        """Outcomes may be written."""
        self._check(headers, self._write, "EQUIRANK_WRITE_KEYS")

    def check_admin(self, headers: Headers) -> None:
        """Pools may be created, and outcomes retracted."""
        self._check(headers, self._admin, "EQUIRANK_ADMIN_KEYS")

    def _check(self, headers: Headers, keys: Iterable[bytes], setting: str) -> None:
        if self._open:
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given:
            raise ApiError(401, "no key", f"send Authorization: Bearer with one of {setting}", headers={"WWW-Authenticate": "Bearer"})
        # Every key is compared, so that the time taken tells nothing about which one came near.
        matches = [hmac.compare_digest(given.strip().encode(), key) for key in keys]
        if not any(matches):
            raise ApiError(403, "key does not allow this", f"this needs one of {setting}")


def _secrets(keys: Iterable[SecretStr]) -> list[bytes]:
    return [key.get_secret_value().encode() for key in keys]


def _netloc(origin: str) -> str | None:
    """Host and port of an Origin; None where it is no URL."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _host_name(host: str) -> str | None:
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    plain = parts.hostname if parts.netloc == host and "@" not in host else None
    return plain.lower() if plain else None
