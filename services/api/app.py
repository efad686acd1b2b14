"""The application: routes, middleware, and the conversion of exceptions into problems."""

import re
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ratings_core.errors import InputError
from ratings_core.records.names import MAX_NAME_BYTES
from services.api import boards, exports, generations, health, insight, methods, outcomes, pages, pools
from services.api.answers import Answers
from services.api.boards import built
from services.api.bodies import Bodies
from services.api.context import EXPORTS, Context, Pools, context
from services.api.directory import Directory
from services.api.exports import Exports
from services.api.fast_path import FastPath
from services.api.heads import AllHeads
from services.api.intake import Intake
from services.api.middleware import RequestMiddleware
from services.api.problems import RETRY, ApiError
from services.api.replies import components
from services.api.security import Access
from services.boards.store.keys import METHOD_PATTERN
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.control.log import ControlLog, NoPool, PoolExists, TooManyPools
from services.log.protocol import Log, LogError
from services.runtime.metrics import API, Metrics
from services.runtime.settings import Settings
from services.wire.pools import POOL_PATTERN

_ABOUT: Final = "Send outcomes, read live and solved ratings. Percent-encode agents' names in URLs."
_NO_TELEMETRY: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False}
"""The framework's telemetry is off: it takes a tenth of the time of a poll, and /metrics has all metrics."""
_PATH_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "pool": {"pattern": f"^{POOL_PATTERN}$"},
    "method": {"pattern": f"^{METHOD_PATTERN}$"},
    "agent": {"minLength": 1, "maxLength": MAX_NAME_BYTES},
}
"""JSON Schema rules of the names in paths, for the OpenAPI document."""


def create_app(settings: Settings, log: Log, store: RedisStore, clock: Callable[[], float] = time.time) -> FastAPI:
    """Create the API with its web page. The caller owns `log` and `store`, and closes them after the application has ended."""
    metrics, access = Metrics(API), Access(settings)
    directory = Directory(ControlLog(log.control), log.history)
    intake = Intake(settings, log, directory, metrics, clock)
    app = FastAPI(
        title="Equirank", version=version("equirank"), description=_ABOUT, docs_url=None, redoc_url=None, telemetry=_NO_TELEMETRY,
        redirect_slashes=False,  # clients that follow a redirect may lose the body or the key
    )  # fmt: skip
    metrics.gauge("equirank_api_store_garbage_values").set_function(lambda: store.connection.garbage)
    workers = Pools()
    answers = Answers(store.versions, workers.readers, partial(built, store, directory, settings.provisional, clock), clock)
    app.state.context = Context(
        settings=settings, store=store, directory=directory, intake=intake, access=access, metrics=metrics, workers=workers,
        bodies=Bodies(settings.api_body_bytes, settings.api_body_seconds), answers=answers,
        heads=AllHeads(store, workers.readers), exports=Exports(log, directory.control, EXPORTS), clock=clock,
        partitions=log.outcomes.partitions, started=clock(),
    )  # fmt: skip
    for module in (outcomes, pools, generations, methods, boards, insight, exports):
        app.include_router(module.router, dependencies=[Depends(_known_parameters)])
    for module in (health, pages):
        app.include_router(module.router)
    for kind in _PROBLEMS:
        app.add_exception_handler(kind, _refused)
    app.add_middleware(FastPath, answers=answers)
    app.add_middleware(RequestMiddleware, access=access, metrics=metrics)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI documents this way
    return app


async def _known_parameters(request: Request) -> None:
    """Raise `ApiError` for a query parameter that the route does not have. Otherwise a typo would silently give the default."""
    if not request.query_params:
        return
    told = request.app.openapi()["paths"].get(request.scope["route"].path_format, {}).get(request.method.lower())
    known = [] if told is None else [one["name"] for one in told.get("parameters", ()) if one["in"] == "query"]
    unknown = next((name for name in request.query_params if name not in known), None)
    if told is not None and unknown is not None:
        there = f"it has: {', '.join(known)}" if known else "it has none"
        raise ApiError(422, "no such parameter", f"{unknown!r} is not a query parameter of {request.scope['route'].path_format} ({there})")


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        for told in (told for verbs in found["paths"].values() for told in verbs.values() if "description" in told):
            told["summary"] = _first_sentence(told["description"])
        for parameter in (one for verbs in found["paths"].values() for route in verbs.values() for one in route.get("parameters", ())):
            if parameter["in"] == "path":
                parameter["schema"] |= _PATH_SCHEMAS[parameter["name"]]
        found.setdefault("components", {}).setdefault("schemas", {}).update(components() | outcomes.COMPONENTS)
        app.openapi_schema = found
    return app.openapi_schema


def _first_sentence(text: str) -> str:
    """Return the first sentence of a route's description, which lists of routes show."""
    return re.split(r"[.;:]\s", text.strip().rstrip("."), maxsplit=1)[0]


async def _refused(request: Request, error: Exception) -> Response:
    return _problem(request, error).response(request.state.request_id)


def _problem(request: Request, error: Exception) -> ApiError:
    """Convert an exception of a type in `_PROBLEMS` into a problem."""
    match error:
        case ApiError():
            return error
        case NoPool():
            return ApiError(404, "no such pool", str(error))
        case PoolExists() | TooManyPools():
            return ApiError(409, "pool refused", str(error))
        case InputError():
            return ApiError(422, "a rule is broken", str(error))
        case RequestValidationError():
            text = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            return ApiError(422, "a parameter breaks a rule", text)
        case HTTPException():
            return _of_framework(request, error)
        case StoreError():
            context(request).metrics.counter("equirank_api_store_failures_total").inc()
            return _unavailable("the store cannot answer", str(error), retriable=error.retriable)
        case LogError():
            detail = f"{error}; send the request again with the same ids: outcomes that are already in the log count once"
            return _unavailable("the log cannot take it", detail, retriable=error.retriable)
    raise error


def _of_framework(request: Request, error: HTTPException) -> ApiError:
    detail, headers = "/openapi.json lists all routes", dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["allow"] = ", ".join(sorted({*headers.pop("Allow", "").split(", "), *_described_methods(request)} - {""}))
    return ApiError(error.status_code, str(error.detail), detail, headers=headers)


def _described_methods(request: Request) -> set[str]:
    """Return the methods that OpenAPI names for the path of `request`. The framework's Allow header names those of one route only."""
    paths = request.app.openapi()["paths"]
    return {verb.upper() for path, verbs in paths.items() if _pattern(path).fullmatch(request.url.path) for verb in verbs}


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """Return a pattern that matches the paths of an OpenAPI path with parameters."""
    return re.compile(re.sub(r"\\\{agent\\\}", ".+", re.sub(r"\\\{(?!agent)\w+\\\}", "[^/]+", re.escape(path))))


def _unavailable(title: str, detail: str, *, retriable: bool) -> ApiError:
    return ApiError(503, title, detail, headers=RETRY) if retriable else ApiError(500, title, detail)


_PROBLEMS: Final = (ApiError, InputError, RequestValidationError, HTTPException, NoPool, PoolExists, TooManyPools, StoreError, LogError)
"""Exceptions that `_problem` converts."""
