"""docs/reference/commands.md: every command of `equirank` with its options and examples."""

from collections.abc import Iterator
from typing import Any, Final

import typer

from services.cli.examples import EXAMPLES
from services.cli.main import COMMANDS, command

_HEAD: Final = """# Commands

Written by `make docs`; a test compares, and another one runs the examples in the order of this page.

The commands are in `.venv/bin`. The examples work in another terminal beside the demo (`make run`), in the same folder. `equirank COMMAND
--help` prints the same text. A command ends with status 0, or with status 2 and one line that says what to change.
"""


def commands_page() -> str:
    """The page. Commands have the order of `EXAMPLES`."""
    known = {" ".join(words): found for name in COMMANDS for words, found in _leaves(name)}
    missing = set(known) ^ set(EXAMPLES)
    if missing:
        raise LookupError(f"services/cli/examples.py and the commands differ: {', '.join(sorted(missing))}")
    return "\n".join([_HEAD, *(_section(words, known[words]) for words in EXAMPLES)])


def _leaves(name: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The words and the parser of a command, or of each command of a group."""
    handler = command(name)
    if isinstance(handler, typer.Typer):
        yield from (((name, word), one) for word, one in typer.main.get_group(handler).commands.items())
    else:
        app = typer.Typer(add_completion=False)
        app.command(name)(handler)
        yield (name,), typer.main.get_command(app)


def _section(words: str, found: Any) -> str:
    with typer.Context(found, info_name=words) as context:
        records = [record for one in found.params if (record := one.get_help_record(context)) is not None]
        arguments = " ".join(one.name.upper() if one.required else f"[{one.name.upper()}]" for one in found.params if _is_argument(one))
    options = "" if all(_is_argument(one) for one in found.params) else "[OPTIONS]"
    usage = " ".join(filter(None, ("equirank", words, options, arguments)))
    lines = [f"## {words}", "", " ".join((found.help or "").split()), "", "```sh", *EXAMPLES[words], "```", "", f"Usage: `{usage}`", ""]
    if records:
        lines += ["| option | meaning |", "| --- | --- |", *(f"| `{_cell(name)}` | {_cell(about)} |" for name, about in records), ""]
    return "\n".join(lines)


def _is_argument(parameter: Any) -> bool:
    return not parameter.opts[0].startswith("-")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
