"""The application: routes, middleware, and the conversion of exceptions into problems."""

import time
from collections.abc import Callable
from functools import cache, partial
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final

import msgspec
from litestar import HttpMethod, Litestar, MediaType, Request, Response, Router, route
from litestar.di import Provide
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ASGIApp, Receive, Scope, Send

from ratings_core.errors import InputError
from services.admin.traced_slices import TracedSlices
from services.api import (
    agents,
    boards,
    details,
    exports,
    generations,
    health,
    insight,
    methods,
    operations,
    outcomes,
    pages,
    pools,
    predictions,
    seasons,
    slices,
    streams,
    why,
)
from services.api.agent_indexes import AgentIndexes
from services.api.answers import Answers
from services.api.boards import built
from services.api.bodies import Bodies
from services.api.context import EXPORTS, Context, Threads, context, here
from services.api.described import KEY, LimitsPlugin, StructsPlugin
from services.api.directory import Directory
from services.api.examples import with_examples
from services.api.export_streams import Exports
from services.api.feeds import Feeds
from services.api.head_requests import with_head
from services.api.heads import AllHeads
from services.api.intake import Intake
from services.api.middleware import RequestMiddleware
from services.api.parameters import known_parameters, parameter_error_text
from services.api.polls import Polls
from services.api.pool_agents import PoolAgents
from services.api.pools import published
from services.api.problems import RETRY, ApiError, release
from services.api.security import Access
from services.api.warming import warm
from services.boards.reading import rows_of_agents
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog, NoPool, PoolExists, TooManyPools
from services.log.protocol import Log, LogError
from services.runtime.metrics import API, Metrics
from services.runtime.settings import Settings
from services.shard.generations.past_states import PastStates

_ABOUT: Final = "Send outcomes, read live and solved ratings. Percent-encode agents' names in URLs."
_KEYS: Final = "A write key or an admin key. An installation without keys asks for none."


@route(
    [
        "/v1/pools/{pool:str}",
        "/v1/pools/{pool:str}/generations",
        "/v1/pools/{pool:str}/methods",
        "/v1/pools/{pool:str}/seasons",
        "/v1/pools/{pool:str}/agents",
        "/v1/pools/{pool:str}/agents/{agent:str}",
    ],
    http_method=HttpMethod.OPTIONS,
    status_code=204,
    include_in_schema=False,
)
async def options(request: Request) -> Response[None]:  # type: ignore[type-arg]
    """Name the methods of a path with several routes. The framework's own answer would name those of one route."""
    methods = next(one.methods for one in request.app.routes if one.path_format == request.scope["path_template"])
    return Response(None, headers={"Allow": ", ".join(sorted(methods))})


_ROUTES: Final = (
    options,  # first, because a path takes one such route
    *(outcomes.send_outcomes, pools.list_pools, pools.get_pool, pools.create_pool),
    *(generations.get_generations, generations.request_generation, methods.list_methods, methods.choose_methods),
    methods.choose_leading_method,
    *(boards.list_boards, boards.get_board, boards.get_board_around, boards.list_solves, boards.compare_solves, why.explain_rating),
    slices.list_slices,
    *(seasons.list_seasons, seasons.start_season, seasons.withdraw_season, seasons.get_season_board),
    *(agents.list_agents, agents.get_agent, agents.list_opponents, agents.get_agent_history, agents.list_agent_outcomes),
    *(details.change_agent, details.change_agents),
    *(
        insight.get_insight,
        insight.plan_next,
        predictions.predict,
        predictions.get_matchups,
        predictions.list_fair_opponents,
        exports.export_outcomes,
    ),
    *(streams.get_stream, operations.get_operations),
)
_OTHERS: Final = (health.livez, health.readyz, health.freshz, health.metrics, pages.get_page, pages.get_docs, pages.get_asset)


def create_app(settings: Settings, log: Log, store: RedisStore, clock: Callable[[], float] = time.time) -> RequestMiddleware:
    """Create the API with its web page. The caller owns `log` and `store`, and closes them after the application has ended."""
    metrics, access = Metrics(API), Access(settings)
    directory = Directory(ControlLog(log.control, details=True), log.history)
    intake = Intake(settings, log, directory, metrics, clock)
    metrics.gauge("equirank_api_store_garbage_values").set_function(lambda: store.connection.garbage)
    workers = Threads()
    indexes = AgentIndexes(partial(CheckpointStore, settings.checkpoint_url), workers.indexes)
    pool_agents = PoolAgents(indexes, directory)
    build = partial(built, store, directory, clock, pool_agents)
    answers = Answers(store.versions, workers.readers, build, clock, pool_agents)
    polls, past = Polls(answers), PastStates(log, directory.control.refresh, CheckpointStore(settings.checkpoint_url))
    feeds = Feeds(
        answers, workers.readers, partial(rows_of_agents, store), lambda pool: published(shared, pool),
        most=settings.api_connections // 2, metrics=metrics,
    )  # fmt: skip
    shared = Context(
        settings=settings, store=store, directory=directory, intake=intake, access=access, metrics=metrics, workers=workers,
        bodies=Bodies(settings.api_body_bytes, settings.api_body_seconds), answers=answers, polls=polls,
        heads=AllHeads(store, workers.readers), exports=Exports(log, directory.control, EXPORTS),
        feeds=feeds, agents=indexes, pool_agents=pool_agents, past=past, dead_letters=log.dead_letters,
        traced_slices=TracedSlices(log, directory.control.refresh, partial(CheckpointStore, settings.checkpoint_url)),
        clock=clock, partitions=log.outcomes.partitions, started=clock(),
    )  # fmt: skip

    def before_stop() -> None:
        feeds.end()
        past.stop()

    return RequestMiddleware(with_head(polls.around(_serving(shared))), access, metrics, before_stop, partial(warm, store, indexes))


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document, with an example of each answer. No log, store or setting is needed."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(_routes().openapi_schema.to_schema()))
    return with_examples(document)


def _serving(shared: Context) -> ASGIApp:
    """Return the routes with a context, which `context` finds in a request's state."""
    routes = _routes()

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["context"] = shared
        await routes(scope, receive, send)

    return answered


@cache
def _routes() -> Litestar:
    """Return the routes, which all applications of this process share and keep no state in. To make them takes 50 ms."""
    return Litestar(
        [Router("/", route_handlers=_ROUTES, before_request=known_parameters), *_OTHERS],
        dependencies={"here": Provide(here)},
        exception_handlers={**dict.fromkeys(_PROBLEMS, _refused), Exception: _fault},
        openapi_config=_document(),
        plugins=[LimitsPlugin(), StructsPlugin()],
        request_max_body_size=None,  # `LimitedBody` has the limits
        logging_config=None,
    )


class _Document(JsonRenderPlugin):
    """Sends the document with an example of each answer."""

    def render(self, request: Request, openapi_schema: dict[str, Any]) -> bytes:  # type: ignore[type-arg]
        """Return the document as JSON."""
        return super().render(request, with_examples(openapi_schema))


def _document() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Equirank",
        version=version("equirank"),
        description=_ABOUT,
        path="/openapi.json",
        render_plugins=[_Document(path="/", media_type=MediaType.JSON)],
        use_handler_docstrings=True,
        operation_id_creator=lambda handler, *_: handler.handler_name,
        components=Components(security_schemes={KEY: SecurityScheme(type="http", scheme="bearer", description=_KEYS)}),
    )


def _refused(request: Request, error: Exception) -> Response[bytes]:  # type: ignore[type-arg]
    response = _problem(request, error).response(request.scope["state"]["request_id"])
    release(error)
    return response


def _fault(_: Request, error: Exception) -> Response[Any]:  # type: ignore[type-arg]
    """Raise an error of ours again: `RequestMiddleware` logs and answers it."""
    raise error


def _problem(request: Request, error: Exception) -> ApiError:  # type: ignore[type-arg]
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
        case ValidationException():
            return ApiError(422, "a parameter breaks a rule", parameter_error_text(request, error))
        case HTTPException():
            title = HTTPStatus(error.status_code).phrase
            return ApiError(error.status_code, title, "/openapi.json lists all routes", headers=error.headers)
        case StoreError():
            context(request).metrics.counter("equirank_api_store_failures_total").inc()
            return _unavailable("the store cannot answer", str(error), retriable=error.retriable)
        case LogError():
            detail = f"{error}; send the request again with the same ids: outcomes that are already in the log count once"
            return _unavailable("the log cannot take it", detail, retriable=error.retriable)
    raise error


def _unavailable(title: str, detail: str, *, retriable: bool) -> ApiError:
    return ApiError(503, title, detail, headers=RETRY) if retriable else ApiError(500, title, detail)


_PROBLEMS: Final = (ApiError, InputError, HTTPException, NoPool, PoolExists, TooManyPools, StoreError, LogError)
"""Exceptions that `_problem` converts."""
