"""`equirank dead-letters`: list refused outcomes with the reasons, and send them again after the cause was fixed."""

import sys
import time
from collections import Counter
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from ratings_core.errors import InputError
from services.admin import dead_letter_replay as letters
from services.admin.dead_letter_replay import Outcome
from services.cli.fitted import FittedTable, cut, folded, whole
from services.cli.installation import Data, settings_of
from services.cli.logs import opened
from services.wire.refusals import Reason

dead_letters = typer.Typer(help="List refused outcomes and records, and send them again.", no_args_is_help=True, add_completion=False)

_WithReason = Annotated[Reason | None, typer.Option(help="Only dead letters with this reason.")]
_OfPool = Annotated[str | None, typer.Option(help="Only dead letters of this pool. Records whose pool could not be read have no pool.")]
_SHOWN: Final = 60
_SENT: Final = (Outcome.SENT, Outcome.REPEATED)


@dead_letters.command("list")
def list_(
    reason: _WithReason = None,
    pool: _OfPool = None,
    count: Annotated[int, typer.Option(min=1, help="Largest number of dead letters to list; the newest ones.")] = 50,
    data: Data = None,
) -> None:
    """Count dead letters by reason, and list the newest ones. A key is generation, partition, offset and item of the refused outcome."""
    with opened(settings_of(data)) as (log, _):
        selected = list(letters.read(log.dead_letters, reason, pool, _tell_damage))
        sent = letters.sent_before(log.control)
    texts = folded("pool"), folded("path"), cut("begins with")
    table = FittedTable(whole("key"), whole("reason"), *texts, whole("sent again"), least=("sent again",))
    for letter in selected[-count:]:
        cells = letter.key, letter.reason, letter.pool or "-", letter.path, letter.excerpt[:_SHOWN]
        table.add_row(*cells, "yes" if letter.key in sent else "no")
    console = Console(soft_wrap=True)
    if selected:
        console.print(table)
    counts = Counter(letter.reason for letter in selected)
    summary = _counted(len(selected)) + "".join(f", {name} {number}" for name, number in sorted(counts.items()))
    listed = f"; the newest {count} are listed; use --count for more" if len(selected) > count else ""
    console.print(f"{summary}{listed}", highlight=False)


@dead_letters.command("show")
def show(
    key: Annotated[str, typer.Argument(help="Key of the dead letter, as shown by `list`.")],
    whole: Annotated[bool, typer.Option("--whole", help="Print the complete refused text, from the outcome log.")] = False,
    data: Data = None,
) -> None:
    """Show a dead letter: the broken rule and the refused text."""
    with opened(settings_of(data)) as (log, _):
        letter = next((letter for letter in letters.read(log.dead_letters) if letter.key == key), None)
        if letter is None:
            raise InputError("key", key, "must be the key of a dead letter (`equirank dead-letters list` shows them)")
        text = letters.original(log, letter).decode("utf-8", "backslashreplace") if whole else letter.excerpt
    where = f"partition {letter.partition}, offset {letter.offset}" + (f", item {letter.item}" if letter.item >= 0 else "")
    console = Console(soft_wrap=True)
    console.print(Text(f"{letter.reason}: {letter.path} {letter.rule}\npool {letter.pool or '-'}, {where}, generation {letter.generation}"))
    console.print(Text(text))


@dead_letters.command("replay")
def replay(
    reason: _WithReason = None,
    pool: _OfPool = None,
    again: Annotated[bool, typer.Option("--again", help="Also send dead letters that an earlier run sent.")] = False,
    data: Data = None,
) -> None:
    """Send dead letters to the log again, each once, if they are valid now.

    Invalid ones are listed, and the exit status is then 1.
    """
    with opened(settings_of(data)) as (log, control):
        selected = list(letters.read(log.dead_letters, reason, pool, _tell_damage))
        done = list(letters.send_again(log, control.refresh(), selected, time.time(), all_=again))
    console = Console(soft_wrap=True)
    for result in done:
        if result.outcome not in {*_SENT, Outcome.SENT_BEFORE}:
            console.print(Text(f"{result.letter.key} {result.letter.reason}: {result.outcome}{': ' * bool(result.rule)}{result.rule}"))
    sent, before = sum(result.outcome in _SENT for result in done), sum(result.outcome is Outcome.SENT_BEFORE for result in done)
    earlier = f", {before} by an earlier run" if before else ""
    console.print(f"{sent} of {_counted(len(done))} sent again{earlier}", highlight=False)
    sys.exit(int(sent + before < len(done)))


def _tell_damage(error: InputError) -> None:
    """Report a record that is not a dead letter, on stderr, so that it does not mix with output for programs."""
    typer.echo(f"skipped: {error}", err=True)


def _counted(letters: int) -> str:
    return "1 dead letter" if letters == 1 else f"{letters} dead letters"
