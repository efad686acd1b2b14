"""The command line: `equirank up`, `engine`, `api`, `replay`, `solve`, `top`, `insight`, `next`, `methods`, `pools`,
`partitions`, `dead-letters`, `verify`, `backup`, `restore`.

Only the command that is asked for is imported, so that `equirank top` does not wait for Ray and numba.
"""

import errno
import sys
from importlib import import_module
from typing import Final

import typer

COMMANDS: Final = (
    *("up", "engine", "api", "replay", "solve", "top", "insight", "next"),
    *("methods", "pools", "partitions", "dead-letters", "verify", "backup", "restore"),
)
_HIDDEN: Final = ("demo",)
_OF_FILES: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room, or name another folder; nothing that was accepted is lost"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "allow it for this user, or name another folder"),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG), "name another path"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise the limit of open files (ulimit -n)"),
}
"""What the caller can do about a file or folder, by the error's number."""


def main() -> None:
    """Run the command line. What the caller can mend ends with one line on stderr and status 2."""
    bare = len(sys.argv) == 1  # typer shows the help then
    try:
        status = application(None if bare else sys.argv[1])(standalone_mode=bare)
    except Exception as error:
        if (message := _expected(error)) is None:
            raise
        sys.stderr.write(f"equirank: {message}\n")
        status = 2
    sys.exit(status)


def application(only: str | None = None) -> typer.Typer:
    """The command line with all commands, or with the one named where there is such a one."""
    app = typer.Typer(
        name="equirank",
        help="Live ratings that cycles and clones do not fool.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_nothing)
    for name in (only,) if only in (*COMMANDS, *_HIDDEN) else (*COMMANDS, *_HIDDEN):
        word = str(name).replace("-", "_")
        command = getattr(import_module(f"services.commands.{word}"), word)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, hidden=name in _HIDDEN)(command)
    return app


def _nothing() -> None:
    """Live ratings that cycles and clones do not fool."""


def _expected(error: Exception) -> str | None:
    """What to tell of an error that the caller can mend; None for one that is ours."""
    from pydantic import ValidationError  # noqa: PLC0415 - only when something went wrong

    if isinstance(error, typer.TyperException):
        tell = getattr(error, "format_message", error.__str__)  # of usage errors: with the option that they are about
        return f"{' '.join(tell().split())} (--help tells more)"
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'settings'}: {one['msg']}" for one in error.errors())
    if isinstance(error, _mendable()):
        return " ".join(str(error).split())
    if isinstance(error, OSError) and error.errno in _OF_FILES:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}: {_OF_FILES[error.errno]}"
    return None


def _mendable() -> tuple[type[Exception], ...]:
    from ratings_core.errors import RatingsError  # noqa: PLC0415 - only when something went wrong
    from services.control import NoPool, PoolExists, TooManyPools  # noqa: PLC0415
    from services.engine import LocalCheckpoints, TakenOver  # noqa: PLC0415
    from services.log.protocol import LogError  # noqa: PLC0415
    from services.runtime import InUse  # noqa: PLC0415
    from services.store.protocol import StoreError  # noqa: PLC0415

    named = (InUse, LogError, StoreError, RatingsError, NoPool, PoolExists, TooManyPools, TakenOver, LocalCheckpoints)
    return (*named, ConnectionError, TimeoutError, ChildProcessError)


if __name__ == "__main__":
    main()
