"""The command line: `equirank up`, `engine`, `api`, `replay`, `solve`, `top`, `verify`."""

import sys

import typer
from pydantic import ValidationError

from ratings_core.errors import RatingsError
from services.commands.api import api
from services.commands.demo import demo
from services.commands.engine import engine
from services.commands.replay import replay
from services.commands.solve import solve
from services.commands.top import top
from services.commands.up import up
from services.commands.verify import verify
from services.control import PoolExists, TooManyPools
from services.log.protocol import LogError
from services.runtime import InUse
from services.store.protocol import StoreError

app = typer.Typer(
    name="equirank",
    help="Live ratings that cycles and clones do not fool.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (up, engine, api, replay, solve, top, verify):
    app.command()(command)
app.command(hidden=True)(demo)

_EXPECTED = (InUse, LogError, StoreError, RatingsError, PoolExists, TooManyPools, ConnectionError, TimeoutError, ChildProcessError)


def main() -> None:
    """Run the command line. What the caller can mend ends with one line on stderr and status 2."""
    try:
        app()
    except ValidationError as error:
        _end("; ".join(f"{'.'.join(map(str, one['loc'])) or 'settings'}: {one['msg']}" for one in error.errors()))
    except _EXPECTED as error:
        _end(str(error))


def _end(message: str) -> None:
    sys.stderr.write(f"equirank: {message}\n")
    sys.exit(2)


if __name__ == "__main__":
    main()
