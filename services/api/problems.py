"""Problems: the JSON form of all errors of the API, with the next step for the client."""

from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

import msgspec
from litestar import Response
from litestar.response.base import ASGIResponse

from services.boards.store.protocol import PoolHead
from services.wire.refusals import Refusal

PROBLEM_TYPE = "application/problem+json"
RETRY: Final[Mapping[str, str]] = {"Retry-After": "1"}
"""Headers of an error after which the client should repeat the request."""

STARTING: Final = "starting"
"""Title of the problem of a service that starts. Pages know it, and say that they will show the pool soon."""


class Item(msgspec.Struct, frozen=True):
    """A refused outcome.

    Attributes:
        item: Index of the outcome in the request; -1 for the request itself.
        path: Path of the field that breaks a rule.
        rule: The rule.
        reason: Class of the rule, as in dead letters.
    """

    item: int
    path: str
    rule: str
    reason: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request failed.

    Attributes:
        status: HTTP status.
        title: What went wrong.
        detail: The cause, and what to do.
        request_id: Identifies the request in the server's log.
        refusals: The refused outcomes, if outcomes were refused.
    """

    status: int
    title: str
    detail: str
    request_id: str = ""
    refusals: list[Item] = []


class ApiError(Exception):
    """An error that ends a request with a problem."""

    def __init__(
        self, status: int, title: str, detail: str, *, refusals: Sequence[Item] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        self.status, self.title, self.detail = status, title, detail
        self.refusals, self.headers = list(refusals), dict(headers or {})
        super().__init__(f"{status} {title}: {detail}")

    def response(self, request_id: str) -> Response[bytes]:
        """Return the response that reports the problem, for a handler of exceptions."""
        return Response(self._body(request_id), status_code=self.status, headers=self.headers, media_type=PROBLEM_TYPE)

    def application(self, request_id: str) -> ASGIResponse:
        """Return the same as an ASGI application, for a middleware."""
        return ASGIResponse(body=self._body(request_id), status_code=self.status, headers=self.headers, media_type=PROBLEM_TYPE)

    def _body(self, request_id: str) -> bytes:
        problem = Problem(status=self.status, title=self.title, detail=self.detail, request_id=request_id, refusals=self.refusals)
        return msgspec.json.encode(problem)


def release(error: BaseException | None) -> None:
    """Drop the frames of an error that is answered, and of its causes. They refer to the error and to the request's body, and the garbage
    collector, which would free them, runs rarely (`serve.py`).
    """
    while error is not None:
        error.__traceback__ = None
        if error.__cause__ is not None and error.__context__ is not error.__cause__:
            release(error.__context__)
        error = error.__cause__ or error.__context__


def refuse(refusals: Sequence[Refusal]) -> NoReturn:
    """Raise `ApiError` 422 for a request whose outcomes break rules. To be called before any outcome is written."""
    items = [Item(refusal.item, refusal.path, refusal.rule, str(refusal.reason)) for refusal in refusals]
    detail = f"{len(items)} refused, nothing was written: correct them and send the request again"
    raise ApiError(422, "outcomes break rules", detail, refusals=items)


def not_there_now(what: str) -> ApiError:
    """Return the 503 error for a pool or board that the store has lost and that is written again."""
    detail = f"the store lost {what}, for example by a restart; it is written again within seconds: send the request again"
    return ApiError(503, "not there at the moment", detail, headers=RETRY)


def starting(pool: str) -> ApiError:
    """Return the 503 error for a pool whose shard has not reported since this process started, so nobody knows yet what the pool holds."""
    detail = f"no shard has reported pool {pool} yet, because the service is starting: send the request again in some seconds"
    return ApiError(503, STARTING, detail, headers=RETRY)


def no_slice(pool: str, part: str) -> ApiError:
    """The 404 error for a slice that a pool does not have."""
    return ApiError(404, "not found", f"pool {pool} has no slice {part}: GET /v1/pools/{pool}/slices lists its slices")


def check_slice(head: PoolHead, part: str) -> None:
    """Raise `ApiError` 404 if a pool does not have a slice. part: The slice; empty for all outcomes, which every pool has."""
    if head.has_slice(part):
        return
    tag = part.partition(":")[0]
    if tag in head.slices:
        raise no_slice(head.pool, part)
    rule = f"its setting `slices` names the tags that divide it ({', '.join(head.slices) or 'none'})"
    raise ApiError(404, "not found", f"pool {head.pool} has no slice {part}, and no slices by the tag {tag}: {rule}")


def no_agent(pool: str, name: str, *, where: str = "") -> ApiError:
    """The 404 error for an unknown agent. where: The slice or the board of the pool that lacks it; empty for the pool."""
    lacks = f"{where} of pool {pool}" if where else f"pool {pool}"
    return ApiError(404, "no such agent", f"{lacks} has no agent {name!r}: {find_agents(pool)}")


def find_agents(pool: str) -> str:
    """The end of an error for unknown agents: how names are compared, and what finds them."""
    return f"names are case-sensitive; GET /v1/pools/{pool}/agents?query= finds agents, and suggests the nearest names"


def nothing_yet(pool: str) -> ApiError:
    """Return the 404 error for a pool of which no outcome is folded yet.

    It is no 503: nothing failed, and nobody knows whether outcomes will come. Retry-After is for clients that have sent some.
    """
    detail = f"no outcome of pool {pool} is folded yet: outcomes count some seconds after they are accepted. Send some if none were sent"
    return ApiError(404, "nothing yet", detail, headers=RETRY)


def not_read(pool: str) -> ApiError:
    """Return the 503 error for a pool that may be in the control log, which has not been read yet."""
    return ApiError(503, "not there at the moment", f"pool {pool} is not in the store, and the log does not answer", headers=RETRY)


def no_pool(pool: str) -> ApiError:
    """Return the 404 error for an unknown pool."""
    return ApiError(404, "no such pool", f"no pool has the name {pool}: GET /v1/pools lists them, PUT /v1/pools/{{pool}} creates one")
