"""The route that accepts outcomes: POST /v1/outcomes."""

from functools import partial
from typing import Annotated, Any, Final

from litestar import Request, post
from litestar.openapi.spec import Example
from litestar.params import Body

from services.api.bodies import JSON, STREAM, LimitedBody
from services.api.context import Here, any_key
from services.api.described import Decoded, TakesStreams, problems
from services.api.intake import MAX_BODY, Accepted
from services.wire.sent import SentOutcomes

_GAME: Final = {
    "v": 1,
    "id": "game-1",
    "pool": "blitz",
    "time": 1_790_000_000.0,
    "sides": [{"agents": ["ann"], "place": 1}, {"agents": ["bob"], "place": 2}],
}
_EXAMPLES: Final = [
    Example(id="game", value=_GAME),
    Example(id="scores", value=[{"v": 1, "pool": "marks", "task": "essay", "scores": {"ann": 0.9, "bob": 0.7}}]),
    Example(id="retraction", value={"v": 1, "pool": "blitz", "retracts": "game-1"}),
]


class OutcomesBody(Decoded[Any]):
    """The body of POST /v1/outcomes. Its bytes go to the intake, which decodes streams too, and names the rule and field of a refusal."""

    model_type = SentOutcomes  # type: ignore[assignment]  # a union

    def decode_bytes(self, value: bytes) -> bytes:
        """Return the bytes."""
        return value


@post(
    "/v1/outcomes",
    status_code=202,
    tags=["outcomes"],
    operation_class=TakesStreams,
    guards=[any_key],
    middleware=[LimitedBody(MAX_BODY, (JSON, STREAM))],
    dto=OutcomesBody,
    return_dto=None,
    responses=problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
    response_description="All outcomes are durable in the log.",
)
async def send_outcomes(request: Request, here: Here, data: Annotated[bytes, Body(examples=_EXAMPLES)] = b"") -> Accepted:  # type: ignore[type-arg]
    """Write one outcome, an array, or an Arrow IPC stream of outcomes. Either all of them are written or none.

    Send your own ids to make retries safe: an id counts once. Where keys are set, retractions need an admin key.
    """
    take = partial(here.intake.take, data, may_retract=lambda: here.access.check_key(request, admin=True))
    return await here.workers.log.run(take)
