"""What orchestrators and scrapers ask. /livez: this process; /readyz: the store answers (not how fresh it is)."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from services.api.context import context, reads
from services.runtime.metrics import CONTENT_TYPE

router = APIRouter(tags=["health"])


@router.get("/livez", response_class=PlainTextResponse)
async def livez() -> str:
    """The process answers."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse)
@reads
def readyz(request: Request) -> Response:
    """The store answers; 503 where it does not."""
    context(request).store.ping()
    return PlainTextResponse("ok\n")


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Metrics of this process for Prometheus."""
    # Short work, done here: in the writers' threads it would wait for a log that hangs, just when it is looked for.
    return Response(context(request).metrics.text(), headers={"Content-Type": CONTENT_TYPE})
