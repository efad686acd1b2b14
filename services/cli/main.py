"""The command line `equirank COMMAND`. `COMMANDS` lists the commands.

Only the requested command is imported, so that `equirank top` does not wait for Ray and numba. The list of commands imports none.
"""

import errno
import gc
import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from services.cli.examples import EXAMPLES
from services.runtime.arithmetic_threads import ONE_THREAD
from services.runtime.private_files import make_files_private

COMMANDS: Final = {
    "up": "Start log, store, engine, API and web pages on this machine. They run until Ctrl-C.",
    "engine": "Run shards and solves until TERM or Ctrl-C. A second signal ends the engine at once.",
    "api": "Serve the API and the web pages until TERM or Ctrl-C. Running requests are finished first.",
    "replay": "Send files of outcomes to the log of the installation. Outcomes that were sent before are not sent again.",
    "inspect": "Show what a file is taken for: its kind, the roles of its columns, agents, groups that never met, and bad rows.",
    "solve": "Rate the agents of a file or of a pool with one method. A certificate proves the quality of the result.",
    "scoreboard": "Show which method predicts the games of a file best. Each game is predicted from earlier games only.",
    "top": "Print the best agents of a board.",
    "agents": "Find agents of a pool by name, without regard to case: equal names first, then prefixes, then others, each by outcomes.",
    "agent": "Print an agent: rating and rank by each method, record, rating over time, or outcomes; change details with --set.",
    "why": "Explain an agent's rating: contributions by opponent and task, and the outcomes that decide its rank.",
    "insight": "Report cycles, clones, weakly connected agents, disagreements between methods, and prediction accuracy.",
    "next": "Recommend which games or measurements to run next to reduce the uncertainty of a target fastest.",
    "methods": "List all solved methods and the pool's choice; change the choice with --add and --drop. "
    "Online methods: `equirank pools settings`.",
    "verify": "Check the installation: checkpoints and live boards against log and archive, solved boards against files, "
    "the archive for lost rows.",
    "export": "Write a pool's outcomes and retractions to a file, in log order. They come from the archive, and newer ones from the log.",
    "erase": "Replace an agent's name by an opaque token in boards, checkpoints, results, dead letters and the archive.",
    "backup": "Copy the log, the local archive, the newest checkpoints and the results into a new folder. `equirank up` may be running.",
    "restore": "Create a data folder from a backup, with its archive in this folder or in EQUIRANK_ARCHIVE. Then start `equirank up`.",
    "pools": "List pools, and show or change how they are folded.",
    "seasons": "List the seasons of a pool, start the next one, and withdraw a requested one.",
    "partitions": "List the state of partitions, and decide how stopped partitions continue.",
    "dead-letters": "List refused outcomes and records, and send them again.",
    "store": "List the logs whose boards are in the store, and remove those of a log that is not used any more.",
    "papers": "Reproduce the tables and figures of the papers: printed values, ours, and whether they match.",
    "bench": "Compare with other packages on the same input: whether values are equal, CPU seconds, and their ratio.",
    "precompile": "Compile the kernels after an installation, so that the first outcomes do not wait for the compiler.",
}
"""Command -> first paragraph of its help. It is repeated here so that the list of commands imports none of them."""
_HIDDEN: Final = ("demo",)
_OF_FILES: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room, or use another folder; no accepted outcome is lost"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "give this user the permission, or use another folder"),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP), "use another path"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise the limit of open files (ulimit -n)"),
}
"""Error number of the operating system -> what the user can do about the file or folder."""
MENDABLE: Final = frozenset(
    {
        *("ratings_core.errors.RatingsError", "services.log.protocol.LogError", "services.boards.store.protocol.StoreError"),
        *("services.control.log.NoPool", "services.control.log.PoolExists", "services.control.log.TooManyPools"),
        *("services.engine.engine.LocalCheckpoints", "services.engine.guard.TakenOver", "services.engine.guard.RayLost"),
        *("services.engine.cluster.NoCluster", "services.engine.cluster.ShadowedPackage"),
        *("services.runtime.data_folder.InUse", "services.runtime.disk_space.DiskFull", "services.runtime.disk_space.NoTemporaryFolder"),
    }
)
"""Names of errors that the user can fix, and whose text states how. They are names because importing the classes would take seconds."""
_ONE_THREAD: Final = ("api", "next", "why", "scoreboard", "papers", "bench")
"""Commands whose arithmetic has one thread. They compute beside a running engine, give the same digits on any number of cores, or solve
thousands of small systems, for which threads that wait for each other take most of the time.
"""
_INSTALLS: Final = "precompile"
"""The command whose files all users of the installation must be able to read: kernels and bytecode, which are not private."""
_COMPLETION: Final = "_EQUIRANK_COMPLETE"
"""Variable by which a shell asks for the words that can follow."""
_OF_SETTINGS: Final = "pydantic_core._pydantic_core.ValidationError"
_OF_JSON: Final = "pydantic_settings.exceptions.SettingsError"


def main() -> None:
    """Run the command line. An error that the caller can fix ends with one line on stderr and status 2."""
    words = sys.argv if _COMPLETION not in os.environ else _words_to_complete()
    command = next((word for word in words[1:] if word != "--"), None)
    if command != _INSTALLS:
        make_files_private()
    if command in _ONE_THREAD:
        os.environ.update(ONE_THREAD)
    bare = len(sys.argv) == 1  # typer shows the help then
    try:
        status = _loaded_application(command)(standalone_mode=bare)
    except Exception as error:
        if (message := _expected(error)) is None:
            raise
        _tell(f"equirank: {message}\n" if message else "")
        status = 2
    sys.exit(status)


def _words_to_complete() -> list[str]:
    """The words of the line that a shell completes, as bash gives them in one variable and other shells in another."""
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()


def _tell(line: str) -> None:
    """Write a line to stderr. If that fails, as with a file on a full disk, only the exit status reports the error.

    Without stderr, Python does not flush it at exit; a failing flush would change the exit status.
    """
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except OSError:
        sys.stderr = None  # Python's value for a program without stderr


def _loaded_application(command: str | None) -> typer.Typer:
    """As `application`. The garbage collector never searches what was imported, neither during the imports nor at exit.

    Modules hold no garbage and stay until the exit. These searches took a quarter of the CPU time of a small `equirank solve`.
    """
    gc.disable()
    try:
        app = application(command)
    finally:
        gc.enable()
    gc.freeze()
    return app


def application(only: str | None = None) -> typer.Typer:
    """The command line with one command. For an unknown name or None: with all commands, which can be listed but do nothing."""
    app = typer.Typer(
        name="equirank",
        help="Live ratings that cycles and clones do not fool.",
        no_args_is_help=True,
        add_completion=only not in COMMANDS or _COMPLETION in os.environ,  # a command has only its own options
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    if only not in COMMANDS and only not in _HIDDEN:
        for name, about in COMMANDS.items():
            app.command(name, help=about)(_nothing)
    elif isinstance(handler := command(only), typer.Typer):
        for one in handler.registered_commands:
            one.epilog = _examples(f"{only} {one.name or one.callback.__name__}")  # type: ignore[union-attr]
        app.add_typer(handler, name=only)
    else:
        app.command(only, hidden=only in _HIDDEN, epilog=_examples(only))(handler)
    return app


def _examples(words: str) -> str | None:
    """The last lines of a command's help; None for a hidden command."""
    lines = EXAMPLES.get(words)
    return None if lines is None else "\n\n".join(("Examples:" if len(lines) > 1 else "Example:", *lines))


def command(name: str) -> Callable[..., None] | typer.Typer:
    """The function of a command, or the typer application of a group of commands."""
    word = name.replace("-", "_")
    handler: Callable[..., None] | typer.Typer = getattr(import_module(f"services.cli.{word}"), word)
    return handler


def _nothing() -> None:
    """Placeholder for a command that is only listed."""


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - takes a tenth of the start-up, which only this option needs

        typer.echo(f"equirank {version('equirank')}")
        raise typer.Exit


def _options(
    _: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)] = False,
) -> None:
    """Live ratings that cycles and clones do not fool."""


def _expected(error: Exception) -> str | None:
    """Text of an error that the user can fix, empty if it was already printed; None for a defect of this program."""
    if isinstance(error, typer.TyperException):
        tell = getattr(error, "format_message", error.__str__)  # usage errors name their option there
        message = " ".join(tell().split())
        return f"{message} (see --help)" if message else ""  # empty: a group without a command has shown its help
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    if _OF_SETTINGS in names:
        return _settings(error)
    if _OF_JSON in names:
        return f"{_json_setting(error)}: lists and tables are JSON there, as in EQUIRANK_WRITE_KEYS='[\"key-1\"]'"
    of_store = isinstance(error, OSError) and error.errno is None  # an error of an object store has only text
    if of_store or not names.isdisjoint(MENDABLE) or isinstance(error, ConnectionError | TimeoutError | ChildProcessError):
        return " ".join(str(error).split())
    if isinstance(error, OSError) and error.errno in _OF_FILES:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}: {_OF_FILES[error.errno]}"
    return None


def _json_setting(error: Exception) -> str:
    """The error of a setting that is not JSON, with the name of its variable."""
    field = re.search(r'field "(\w+)"', str(error))
    return str(error) if field is None else f"EQUIRANK_{field[1].upper()} is not JSON"


def _settings(error: Any) -> str:
    """All messages of a pydantic `ValidationError` in one line."""
    return "; ".join(f"{'.'.join(map(str, detail['loc'])) or 'settings'}: {detail['msg']}" for detail in error.errors())


if __name__ == "__main__":
    main()
