"""Errors of the client."""

from collections.abc import Sequence
from typing import Any

import httpx
import msgspec

from equirank_client.structs import Item, Problem


class EquirankError(Exception):
    """Any error of a request."""


class ConnectionFailedError(EquirankError):
    """No complete answer arrived. The request may have been processed."""


class ApiError(EquirankError):
    """The API refused a request, by a problem as of RFC 9457.

    Attributes:
        status: HTTP status.
        title: What went wrong.
        detail: The cause, and what to do.
        request_id: Identifies the request in the server's log; empty without one.
        refusals: The refused outcomes, if outcomes were refused.
    """

    def __init__(self, problem: Problem) -> None:
        self.status, self.title, self.detail = problem.status, problem.title, problem.detail
        self.request_id, self.refusals = problem.request_id, list[Item](problem.refusals)
        super().__init__(f"{self.status} {self.title}: {self.detail}{_first_refusal(self.refusals)}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the problem."""
        problem = Problem(status=self.status, title=self.title, detail=self.detail, request_id=self.request_id, refusals=self.refusals)
        return type(self), (problem,)


def _first_refusal(refusals: Sequence[Item]) -> str:
    """Text of the first refused outcome with the rule that it breaks, and the number of the others; empty without refusals."""
    if not refusals:
        return ""
    first, others = refusals[0], f" (and {len(refusals) - 1} more in `refusals`)" if len(refusals) > 1 else ""
    where = "the request" if first.item < 0 else f"outcome {first.item}"
    return f"; {where}, {first.path}: {first.rule}{others}" if first.path else f"; {where}: {first.rule}{others}"


def problem_of(response: httpx.Response) -> ApiError:
    """Return the error of a response that was read. Of one that is no problem, such as a proxy's, it has the first 500 characters."""
    if "json" in response.headers.get("content-type", ""):
        try:
            return ApiError(msgspec.json.decode(response.content, type=Problem))
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass  # the text below shows the answer
    title = response.reason_phrase or "no success"
    return ApiError(Problem(status=response.status_code, title=title, detail=response.text[:500]))
