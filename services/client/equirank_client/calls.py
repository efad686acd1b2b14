"""Requests as values, and the rules by which they are sent again. Nothing here reads or writes a socket."""

import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

import httpx
import msgspec

from equirank_client.errors import ConnectionFailedError, EquirankError

T = TypeVar("T")
_BUSY: Final = frozenset({429, 503})
_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Errors before a request was sent."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request.

    Attributes:
        method: HTTP method.
        address: Percent-encoded path.
        query: Parameters; those that are None are not sent, so that the server's defaults apply.
        body: What is sent as JSON; None for no body.
        accept: The wanted media type.
        repeatable: Whether the request may be sent again although it may have been processed.
    """

    method: str
    address: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    accept: str = "application/json"
    repeatable: bool = False

    def arguments(self) -> dict[str, Any]:
        """Return the request as arguments of httpx."""
        headers = {"Accept": self.accept}
        query = {name: list(value) if _is_list(value) else value for name, value in self.query.items() if value is not None}
        if self.body is None:
            return {"method": self.method, "url": self.address, "params": query, "headers": headers}
        content = msgspec.json.encode(self.body)
        headers["Content-Type"] = "application/json"
        return {"method": self.method, "url": self.address, "params": query, "headers": headers, "content": content}


@dataclass(frozen=True, slots=True)
class Retries:
    """When a request is sent again. A request that may have been processed is only sent again if that changes nothing.

    Attributes:
        attempts: Most requests for one call, at least 1.
        first_seconds: Mean pause after the first failure. Each further pause is twice as long.
        longest_seconds: Longest pause. If `Retry-After` asks for more, the error is raised at once.
    """

    attempts: int = 5
    first_seconds: float = 0.25
    longest_seconds: float = 30.0

    def __post_init__(self) -> None:
        """Check the values. Raises `ValueError`."""
        if self.attempts < 1 or not 0 <= self.first_seconds <= self.longest_seconds:
            raise ValueError("retries must have attempts >= 1 and 0 <= first_seconds <= longest_seconds")

    def pause(self, call: Call, failed: int, failure: httpx.Response | httpx.RequestError) -> float | None:
        """Return the seconds to wait after failure number `failed` (from 1); None if the call has failed."""
        if failed >= self.attempts or not _may_repeat(call, failure):
            return None
        asked = retry_after(failure.headers) if isinstance(failure, httpx.Response) else None
        if asked is not None:
            return asked if asked <= self.longest_seconds else None
        return self.backoff(failed)

    def backoff(self, failed: int) -> float:
        """Return the pause after failure number `failed`, drawn between half and one and a half of its mean."""
        mean = min(self.first_seconds * 2.0 ** min(failed - 1, 60), self.longest_seconds)
        return min(mean * random.uniform(0.5, 1.5), self.longest_seconds)  # noqa: S311 - spreads clients, hides nothing


def _may_repeat(call: Call, failure: httpx.Response | httpx.RequestError) -> bool:
    if isinstance(failure, httpx.Response):
        return failure.status_code == 429 or (failure.status_code in _BUSY and call.repeatable)
    return call.repeatable or isinstance(failure, _NOT_SENT)


def retry_after(headers: httpx.Headers) -> float | None:
    """Return the seconds of `Retry-After`, which is a number or a date; None without a valid one."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()) if text else None
    except (TypeError, ValueError):
        return None


def failed_connection(call: Call, error: httpx.HTTPError) -> EquirankError:
    """Return the client's error for one of httpx."""
    return ConnectionFailedError(f"{call.method} {call.address}: {type(error).__name__}: {error}")


def decoded(response: httpx.Response, kind: type[T]) -> T:
    """Decode the body of a successful response; text is returned as it is. Raises `ConnectionFailedError` if it is not of its type."""
    if kind is str:
        return cast("T", response.text)
    try:
        return msgspec.json.decode(response.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConnectionFailedError(f"{response.request.url.path}: the answer is not as the API describes it: {error}") from error


def path(template: str, **names: str) -> str:
    """Fill names into a path, percent-encoded, including slashes. Raises `ValueError` for an empty name."""
    for name, value in names.items():
        if not value:
            raise ValueError(f"{name} must not be empty")
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
    return template


def with_ids(outcomes: Sequence[T]) -> list[T]:
    """Return the outcomes, each with an id, so that a request that is sent again counts once. New ids are random.

    Raises `TypeError` for a single outcome.
    """
    if isinstance(outcomes, str | bytes | Mapping):
        raise TypeError("outcomes must be a sequence of outcomes")
    return [_with_id(one) for one in outcomes]


def _with_id(outcome: Any) -> Any:
    if isinstance(outcome, Mapping):
        return outcome if outcome.get("id") is not None else {**outcome, "id": uuid.uuid4().hex}
    return outcome if outcome.id is not None else msgspec.structs.replace(outcome, id=uuid.uuid4().hex)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
