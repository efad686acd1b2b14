"""`equirank erase`: replace an agent's name by an opaque token in all stored data, in the background."""

import time
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from rich.console import Console

from ratings_core.errors import InputError
from services.admin.erasure import request_erasure
from services.archive.location import unused_archive
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.cli.confirm import Yes, confirm
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import Data, reached, settings_of
from services.cli.logs import opened
from services.control.erasures import ErasureRequest
from services.control.log import ControlLog
from services.control.records import ControlState

_LOOK_SECONDS: Final = 0.2
_STILL: Final = "the log and backups may still contain an erased name (docs/operations/erasure.md states until when)"


def erase(
    pool: Annotated[str | None, typer.Option(help="Pool of the agent.")] = None,
    agent: Annotated[str | None, typer.Option(help="Name to erase.")] = None,
    by: Annotated[
        str | None, typer.Option(help="Who requested the erasure, or a case number. The control log keeps it permanently.")
    ] = None,
    unknown: Annotated[bool, typer.Option("--unknown", help="Erase the name even if the pool has no outcome with this agent.")] = False,
    yes: Yes = False,
    status: Annotated[bool, typer.Option("--status", help="Only list erasures; with --pool, those of the pool.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until the engine has replaced the name everywhere except in the log.")] = True,
    data: Data = None,
) -> None:
    """Replace an agent's name by an opaque token in boards, checkpoints, results, dead letters and the archive.

    The engine does this in the background, also after a restart, and records it in the control log. Ratings stay the same. Later outcomes
    with the name count for the token. docs/operations/erasure.md states what the log and backups still contain. An erasure cannot be
    undone: on a terminal, the command asks first.
    """
    settings, console = settings_of(data), Console(soft_wrap=True)
    with opened(settings) as (log, control):
        if status:
            with reached(settings, log.outcomes.identity) as store:
                _list(console, control.refresh(), pool, store)
            return
        if pool is None or agent is None or by is None:
            missing = next(name for name, value in (("--pool", pool), ("--agent", agent), ("--by", by)) if value is None)
            raise InputError(missing, None, "must be given: `equirank erase --pool POOL --agent NAME --by WHO`, or --status")
        confirm(f"Erase {agent} of pool {pool}? This cannot be undone.", yes=yes)
        with reached(settings, log.outcomes.identity) as store:
            request = request_erasure(control, None if store is None else store.live, pool, agent, by, unknown=unknown)
            console.print(f"{agent} of {pool} becomes {request.name.token}", highlight=False)
            for warning in unused_archive(settings, log.outcomes):
                console.print(warning, highlight=False)
            _follow(console, control, request, store, wait=wait)


def _follow(console: Console, control: ControlLog, request: ErasureRequest, store: RedisStore | None, *, wait: bool) -> None:
    """Print each new state of the erasure until it is done. Without `wait`, print the present state only."""
    reported = ""
    while True:
        state = control.refresh()
        if (now := _state(state, request, store)) != reported:
            reported = now
            console.print(now, highlight=False)
        if state.erasures.is_done(request):
            console.print(_STILL, highlight=False)
            return
        if not wait:
            return
        time.sleep(_LOOK_SECONDS)


def _list(console: Console, state: ControlState, pool: str | None, store: RedisStore | None) -> None:
    table = FittedTable(whole("token"), folded("pool"), folded("asked by"), whole("asked at"), folded("state"), least=("asked at",))
    for request in state.erasures.requests:
        if pool in {None, request.pool}:
            table.add_row(request.name.token, request.pool, request.by, _time(request.time), _state(state, request, store))
    console.print(table)
    if state.erasures.done:
        console.print(_STILL, highlight=False)


def _state(state: ControlState, request: ErasureRequest, store: RedisStore | None) -> str:
    """The state of an erasure as text. store: The log's store, None if it does not answer."""
    if (done := state.erasures.done.get((request.pool, request.name.token))) is not None:
        return f"erased at {_time(done.time)}"
    serving = state.serving(request.pool)
    if serving is not None and request.name not in serving.erased:
        return "the engine folds the pool again without the name; boards show the name until then"
    if boards := _boards_left(store, request.pool):
        return f"live boards show the token; the engine now replaces the name in solved boards, of which {boards} may still show it"
    return "live boards show the token; the engine now replaces the name in all other data"


def _boards_left(store: RedisStore | None, pool: str) -> int:
    """Number of solved boards that the engine has not searched; 0 if it is not known."""
    try:
        return 0 if store is None else store.solved.erasing(pool)
    except StoreError:  # the state in the control log is shown all the same
        return 0


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
