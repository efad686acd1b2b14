"""Tasks of people who run a live game or an arena: docs/tasks.md, with the call of each and its answer on the pools of the examples."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from equirank_client import ApiError, Client, structs
from equirank_client.connection import Download, Events
from tests.support.installation import Installation, until

PAGE: Final = Path(__file__).parents[2] / "docs/tasks.md"
_NOT_YET: Final = {404, 503}
_SHOWN: Final = 3
"""Items of a list that the page shows."""
_HEAD: Final = """# Tasks, one call each

This page lists questions of people who run a live game, and of a team that runs an arena: each with the call that answers it, and the
answer.

Written by `scripts/tasks`; a test compares the answers. `league` is a pool of 4,000 simulated games of 14 players in three seasons. Every
eighth of them is between two teams of two. `battles` is a pool of 4,000 simulated battles between 8 models, with tags and the difference
of the lengths of two answers. `client` is a [client](guides/client.md) of the installation. An answer names its fields before the colon,
and shows at most three items of a list. `ms` is the time of one call with its transport, in milliseconds, measured once on two cores that
did other work as well.
[The API](reference/api.md) has each operation for curl.
"""


@dataclass(frozen=True)
class Task:
    """A task. call: expression of the client, or an `equirank` command. fields: fields of the answer that are shown; "" for all of it."""

    question: str
    call: str
    fields: str = ""


LIVE_GAME: Final = (
    Task("Who leads the ladder?", 'client.get_board("league", "glicko2", count=3).rows', "rank agent rating"),
    Task(
        "Where is a player, and who is next to her?",
        'client.get_board_around("league", "glicko2", "Mia", count=3).rows',
        "rank agent rating",
    ),
    Task("A player types a part of a name.", 'client.list_agents("league", query="mi").agents', "agent outcomes rank"),
    Task("A player types a wrong name.", 'client.list_agents("league", query="Fatina").suggestions'),
    Task("Show a player's page: her record.", 'client.get_agent("league", "Mia").games', "games wins draws losses"),
    Task("Show her rating and rank by each method.", 'client.get_agent("league", "Mia").methods["glicko2"]', "rating rank total"),
    Task("Is she on a streak?", 'client.get_agent("league", "Mia").streak', "result length"),
    Task("Draw her rating over time.", 'client.get_agent_history("league", "Mia", method="glicko2", points=4).points', "rating"),
    Task(
        "What did her last games do to her rating?",
        'client.list_agent_outcomes("league", "Mia", method="elo", count=2).outcomes',
        "result before after expected_score",
    ),
    Task(
        "How does she fare against each opponent?", 'client.list_opponents("league", "Mia", count=2).opponents', "agent games wins losses"
    ),
    Task("Why does she have this rating?", 'client.explain_rating("league", "elo", "Mia", count=2).sums[0].terms', "name value"),
    Task(
        "Why did her rating change in November?",
        'client.explain_rating("league", "elo", "Mia", since="2026-11-01", until="2026-11-20").change.moves',
        "opponent wins losses effect",
    ),
    Task(
        "Who will win this game?",
        'client.predict("league", PredictAsked(matches=[Match(sides=[["Mia"], ["Noah"]])], methods=["elo"])).methods[0].matches[0].sides',
        "agents win",
    ),
    Task(
        "Is this game of two teams fair?",
        'client.predict("league", PredictAsked(matches=[Match(sides=[["Mia", "Ada"], ["Noah", "Emil"]])])).methods[0].matches',
        "evenness",
    ),
    Task("Whom should she play next?", 'client.list_fair_opponents("league", "Mia", count=2).opponents', "agent rank expected_score"),
    Task("Show the players of one country.", 'client.get_board("league", "elo", country="DE").rows', "rank filter_place agent"),
    Task("Who led on the first of November?", 'client.get_board("league", "elo", at="2026-11-01", count=2).rows', "rank agent rating"),
    Task(
        "Show the final table of a season that ended.",
        'client.get_season_board("league", "2026-summer", "elo", count=2).rows',
        "rank agent rating",
    ),
    Task("Tell my page when the top changes.", 'client.get_stream("league", methods=["elo"], count=1)'),
)
ARENA: Final = (
    Task(
        "Which model is best, and how sure is it?",
        'client.get_board("battles", "bradley_terry", count=3).rows',
        "rank_low rank_high agent rating low high",
    ),
    Task(
        "Rank without the effect of long answers.",
        'client.get_board("battles", "contextual_bradley_terry", count=3).rows',
        "rank agent rating",
    ),
    Task(
        "How much does length help?",
        'client.get_board("battles", "contextual_bradley_terry").extra["features"]',
        "feature coefficient low high",
    ),
    Task(
        "Which categories and languages have boards?",
        'client.list_slices("battles").dimensions["language"].values',
        "value outcomes agents",
    ),
    Task(
        "Which model is best in English?",
        'client.get_board("battles", "bradley_terry", slice="language:English", count=2).rows',
        "rank agent rating",
    ),
    Task("Which mixture of models does no model beat?", 'client.get_board("battles", "maximal_lottery").rows', "agent rating"),
    Task("Are there cycles, or no single order?", 'client.get_insight("battles").findings.cyclicity', "against_order within_noise"),
    Task(
        "Would a few other results change a model's rank?",
        'client.explain_rating("battles", "bradley_terry", "borealis", flips=True).flips',
        "direction rank rank_after verified",
    ),
    Task("Which battles should be sampled next?", 'client.plan_next("battles", target="top:1", games=100, count=2).matches', "agents rate"),
    Task(
        "What changed between two moments?",
        'client.compare_solves("battles", "bradley_terry", against=1000, position=3000).moved',
        "agent rank_before rank",
    ),
    Task(
        "How good are the forecasts?",
        'client.get_insight("battles").findings.prequential.forecasts',
        "method log_loss brier calibration_error",
    ),
    Task("Give me the board as a file.", 'client.download_board("battles", "bradley_terry", format="csv")'),
    Task("Give me all battles as a file.", 'client.export_outcomes("battles", format="jsonl")'),
    Task(
        "Rate one language offline, by the same numbers.",
        "equirank solve --pool battles --method bradley_terry --where language=English --format json",
        "rank agent rating",
    ),
)
TASKS: Final = (*LIVE_GAME, *ARENA)


def tasks_page(system: Installation) -> str:
    """docs/tasks.md, with the answers of an installation that has the pools of the examples."""
    with Client(system.api) as client:
        tables = [f"\n## {title}\n\n{_table(tasks, client, system)}" for title, tasks in (("A live game", LIVE_GAME), ("An arena", ARENA))]
    return _HEAD + "".join(tables)


def without_times(page: str) -> str:
    """The page without its last column."""
    return re.sub(r" \d+ \|$", "", page, flags=re.MULTILINE)


def _table(tasks: Sequence[Task], client: Client, system: Installation) -> str:
    rows = [f"| {number} | {_row(task, client, system)}\n" for number, task in enumerate(tasks, 1 + (TASKS.index(tasks[0])))]
    return "".join(["| | task | operation | call | answer | ms |\n| --- | --- | --- | --- | --- | --- |\n", *rows])


def _row(task: Task, client: Client, system: Installation) -> str:
    answer, seconds = until(lambda: _answer(task, client, system), f"an answer of {task.call}")
    if task.call.startswith("equirank "):
        operation = f"[equirank {task.call.split()[1]}](reference/commands.md)"
    else:
        name = re.findall(r"^client\.(\w+)", task.call)[0]
        found = name.replace("download_", "get_")
        operation = f"[{name}](reference/api.md#{found})"
    return f"{task.question} | {operation} | `{task.call}` | {answer} | {1000 * seconds:.0f} |"


def _answer(task: Task, client: Client, system: Installation) -> tuple[str, float] | None:
    """The answer in words, and the seconds of its call; None if it is not there yet."""
    begun = time.perf_counter()
    try:
        value = _value(task.call, client, system)
    except ApiError as error:
        if error.status in _NOT_YET:
            return None
        raise
    seconds = time.perf_counter() - begun
    fields = task.fields.split()
    shown = [_text(one, fields) for one in (value if isinstance(value, list) else [value])[:_SHOWN]]
    if not shown or "-" in " ".join(shown).split():  # a value that a later solve or checkpoint has
        return None
    names = f"{' '.join(fields)}: " if fields else ""
    return (names + "; ".join(shown)).replace("|", "\\|"), seconds


def _value(call: str, client: Client, system: Installation) -> Any:
    if call.startswith("equirank "):
        done = system.run(*call.split()[1:])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["agents"]
    value = eval(call, {"client": client, **vars(structs)})  # noqa: S307 - an expression of this file
    if isinstance(value, Events):
        with value as events:
            return [", ".join(_until_pool(events))]
    if isinstance(value, Download):
        with value as download:
            return [f"`{b''.join(download.chunks()).decode().splitlines()[0][:80]}`"]
    return value


def _until_pool(events: Events) -> list[str]:
    names: list[str] = []
    for event in events:
        names.append(event.name)
        if event.name == "pool":
            break
    return [f"event `{name}`" for name in names]


def _text(value: Any, fields: Sequence[str]) -> str:
    """The fields of a value in words, or all of it without fields."""
    if not fields:
        return _word(value)
    found: Mapping[str, Any] = value if isinstance(value, Mapping) else msgspec.structs.asdict(value)
    return " ".join(_word(found[name]) for name in fields)


def _word(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "+".join(map(_word, value)) if isinstance(value, list) else str(value)
