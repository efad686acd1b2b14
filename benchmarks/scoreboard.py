"""Which rating predicts best: `ratings_core.scoreboard` on real histories and on drawn ones, as a page in Markdown.

`python -m benchmarks.scoreboard [--quick] [--output FILE] [--only NAME ...]`. Real histories are in EQUIRANK_SHARED or ../shared: results
of national teams, men and women, and 29 seasons of the first English league. One that is missing is left out, and the page says so. The
drawn histories are those of `benchmarks.forecasts`: battles of models of nearly equal strength, chess players, and tennis players who
drift. Without `--output` the page is printed. `--quick` takes the last 2,000 games of each, and ten refits.
"""

import csv
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from benchmarks.common import commit, machine, parser
from benchmarks.forecasts import SHARED, drawn
from ratings_core import __version__, scoreboard
from ratings_core.front.scoreboard import BLOCKS, REFITS, SOLVED, Score, Scoreboard
from services.control.records import DEFAULT_METHODS

Table: TypeAlias = Mapping[str, Any]
"""Columns first, second, result and time (seconds since 1970)."""
INTRODUCTION: Final = """\
Each game is predicted from earlier games only. Online methods predict a game just before they learn it. Bradley-Terry and posterior
margins are solved again {refits} times in the course of a history, and predict the games until the next time ([why](#refits)). All
forecasts are calibrated by one scale that earlier games fit. Settings are chosen on the first half of the games, by log loss; all figures
are of the second half.

- A coin has log loss 0.6931; its Brier score is 0.25 in decided games and 0 in ties, because a tie counts as half a win.
- `±` is half of a 95 % interval, from {blocks} blocks of successive games.
- *Behind the best* is the difference of log losses, game by game.
- *Favourite won* counts decided games."""
CHANGED: Final = """\
**What was changed by it.** New pools had Elo and SCO. Since this table they have Glicko-2 as well
([decision 82](../decisions/0082-glicko2-by-default.md)). Elo stays the first method, because people know it and it needs no times. The
rating period of Glicko-2 is a week: without times, all games are in one period, and then it was worse than Elo on all three football
histories. The settings of the methods stay: of 31 other settings, 30 make at least one history worse by more than its interval, and the
other one gains less than 0.0001.

### Refits

A refit is before each {nth} of a history, not before each day ([decision 78](../decisions/0078-scoreboard.md)). The football
histories have 3,046 to 16,491 days of games, so daily refits take 30 to 165 times as long. In the English league they were tried: the log
loss of Bradley-Terry falls from 0.6526 to 0.6515 with the default, and from 0.6360 to 0.6345 with `half_life=0.05`. That is at most a sixth
of the `±` of these rows, and the order of the defaults stays.

### Two methods with nearly equal rows

{twins}
Both methods forecast by the same fitted strengths. A posterior margin moves from this forecast towards the results of the pair itself, with
the weight games / (games + kappa), and kappa is estimated from all pairs ([posterior margins](../concepts/posterior-margins.md)). It is
infinite unless the results speak against one order of all agents, and then both forecasts are the same numbers. So these histories hardly
speak against one order. Posterior margins are for pools with cycles.
"""
"""What people changed or tried because of the table."""
SEEDS: Final = {"battles": 1, "chess": 2, "tennis": 3}
"""Seeds of the drawn histories."""
QUICK_GAMES: Final = 2_000
QUICK_REFITS: Final = 10


def nations(folder: str) -> Table | None:
    """Results of national teams, in order of their dates; None where the shared data are missing."""
    path = SHARED / "data" / folder / "results.csv"
    if not path.exists():
        return None
    with path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["home_score"].isdigit()]
    rows.sort(key=lambda row: row["date"])
    ahead = [int(row["home_score"]) - int(row["away_score"]) for row in rows]
    return _table([(row["home_team"], row["away_team"], lead, _day(row["date"])) for row, lead in zip(rows, ahead, strict=True)])


def english_clubs() -> Table | None:
    """Results of the first English league, season by season; None where the shared data are missing."""
    seasons = sorted((SHARED / "data" / "football_england").glob("*.csv"))
    rows = []
    for season in seasons:
        with season.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                home, away = re.split(r"\D", row["FT"])  # some seasons have a hyphen, some a dash; (P) marks a postponed game
                rows.append((row["Team 1"], row["Team 2"], int(home) - int(away), _day(row["Date"].removesuffix("(P)"), "%a %b %d %Y")))
    return _table(rows) if rows else None


def _day(text: str, form: str = "%Y-%m-%d") -> float:
    return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()


def _table(rows: list[tuple[str, str, int, float]]) -> Table:
    first, second, ahead, time = zip(*rows, strict=True)
    return {"first": list(first), "second": list(second), "result": (0.5 + 0.5 * np.sign(ahead)).tolist(), "time": list(time)}


def of_drawn(name: str, **drawing: Any) -> Table:
    """A drawn history as a table."""
    batch = drawn(name, **drawing).batch
    time = batch.time.tolist()
    agents, places = batch.agent.reshape(-1, 2), batch.place.reshape(-1, 2)
    first, second = ([f"p{agent}" for agent in own] for own in agents.T.tolist())
    return {"first": first, "second": second, "result": (0.5 + 0.5 * np.sign(places[:, 1] - places[:, 0])).tolist(), "time": time}


HISTORIES: Final[Mapping[str, tuple[str, Callable[[], Table | None]]]] = {
    "men": ("National teams, men", lambda: nations("football")),
    "women": ("National teams, women", lambda: nations("football_women")),
    "clubs": ("First English league, 29 seasons", english_clubs),
    "battles": (
        "Drawn: battles of 100 models",
        lambda: of_drawn("battles", agents=100, games=20_000, spread=0.3, ties=0.3, seed=SEEDS["battles"]),
    ),
    "chess": (
        "Drawn: 2,000 chess players",
        lambda: of_drawn("chess", agents=2_000, games=100_000, spread=1.2, ties=0.4, seed=SEEDS["chess"]),
    ),
    "tennis": (
        "Drawn: 300 tennis players who drift",
        lambda: of_drawn("tennis", agents=300, games=30_000, spread=1.5, ties=0.0, drift=0.02, seed=SEEDS["tennis"]),
    ),
}


def section(title: str, board: Scoreboard) -> list[str]:
    """The table of a history in Markdown."""
    heads = ("method", "settings", "log loss", "behind the best", "Brier", "favourite won", "calibration error")
    lines = [
        f"## {title}",
        "",
        f"{board.games:,} games predicted; {board.history:,} games of {board.agents:,} agents in all.",
        "",
        f"| {' | '.join(heads)} |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    return [*lines, *(f"| {' | '.join(_cells(score))} |" for score in board.scores), ""]


def _cells(score: Score) -> tuple[str, ...]:
    right = f"{100 * score.right.value:.1f} ± {100 * score.right.half:.1f} %"
    behind = str(score.behind) if score.behind.half else "best"
    settings = "chosen" if score.chosen else "default"
    return (score.name, settings, str(score.log_loss), behind, str(score.brier), right, f"{score.calibration_error:.4f}")


def defaults(boards: Mapping[str, Scoreboard]) -> dict[str, list[Score]]:
    """Method -> its rows with default settings, one a history."""
    rows = [score for board in boards.values() for score in board.scores if not score.chosen]
    return {method: [score for score in rows if score.method == method] for method in dict.fromkeys(score.method for score in rows)}


def conclusion(boards: Mapping[str, Scoreboard], refits: int) -> list[str]:
    """What the tables say about our defaults, and what was done about it."""
    return ["## What it says against our defaults", "", *_against_pools(boards), *_against_settings(boards), "", *_changed(boards, refits)]


def _against_pools(boards: Mapping[str, Scoreboard]) -> list[str]:
    """How far the live boards of a new pool are behind the best rows."""
    behind = {method: [score.behind.value for score in scores] for method, scores in defaults(boards).items()}
    own = [method for method in DEFAULT_METHODS if method in behind]
    first = min(behind, key=lambda method: float(np.mean(behind[method])))
    before = np.mean(np.min([behind[method] for method in own if method != "glicko2"], axis=0))
    best = np.mean(np.min([behind[method] for method in own], axis=0))
    far = [f"{method} by {np.mean(behind[method]):.4f}" for method in own if method != first]
    return [
        f"- `{first}` is the best default: {np.mean(behind[first]):.4f} nats behind the best row on average.",
        f"- A new pool has {', '.join(own)}. On average the others are behind the best row: {', '.join(far)}.",
        f"- The better one of Elo and SCO is {before:.4f} behind on average. With Glicko-2 beside them, the best one is {best:.4f} behind.",
    ]


def _against_settings(boards: Mapping[str, Scoreboard]) -> list[str]:
    """What settings that the first half chose gain over the defaults."""
    lines = []
    for method, scores in defaults(boards).items():
        chosen = [next((own for own in board.scores if own.method == method and own.chosen), None) for board in boards.values()]
        gains = [
            0.0 if better is None else score.log_loss.value - better.log_loss.value for score, better in zip(scores, chosen, strict=True)
        ]
        settings = dict.fromkeys("default" if own is None else own.name.removeprefix(f"{method} ") for own in chosen)
        lines.append(f"| {method} | {np.mean(gains):.4f} | {min(gains):.4f} to {max(gains):.4f} | {', '.join(settings)} |")
    return [
        "- The next table says by how much the settings that the first half chose lower the log loss of the second half; a negative number",
        "  means that they raise it. The choices differ by history, so no other setting is better everywhere.",
        "",
        "| method | mean gain | from, to | chosen |",
        "| --- | --- | --- | --- |",
        *lines,
    ]


def _changed(boards: Mapping[str, Scoreboard], refits: int) -> list[str]:
    """`CHANGED`, with how far the rows of the two solved methods are apart."""
    first, second = SOLVED
    pairs = [
        {score.method: score.log_loss.value for score in board.scores if score.chosen is chosen and score.method in SOLVED}
        for board in boards.values()
        for chosen in (False, True)
    ]
    apart = max(abs(own[first] - own[second]) for own in pairs if len(own) == len(SOLVED))
    twins = f"The log losses of Bradley-Terry and posterior margins differ by at most {apart:.4f}."
    return [*CHANGED.format(nth=f"{refits}th part", twins=twins).splitlines(), ""]


def summary(boards: Mapping[str, Scoreboard]) -> list[str]:
    """A table of the defaults of all methods over all histories, least mean distance first."""
    behind = {method: [score.behind for score in scores] for method, scores in defaults(boards).items()}
    lines = [
        "## Defaults over all histories",
        "",
        "*Level* counts histories where the default is not behind the best row of the table, or by no more than the interval.",
        "",
        "| method | mean log loss behind the best | largest | level |",
        "| --- | --- | --- | --- |",
    ]
    for method, means in sorted(behind.items(), key=lambda item: np.mean([one.value for one in item[1]])):
        values = [one.value for one in means]
        level = sum(one.value <= one.half for one in means)
        lines.append(f"| {method} | {np.mean(values):.4f} | {max(values):.4f} | {level} of {len(means)} |")
    return [*lines, ""]


def sources() -> str:
    """Commit of everything that decides the page."""
    return commit("ratings_core", "services", "benchmarks") or "unknown"


def page(boards: Mapping[str, Scoreboard], missing: list[str], quick: bool, made_by: str) -> str:
    """The page. made_by: commit of the sources when the run began."""
    refits, command = (QUICK_REFITS, " --quick") if quick else (REFITS, "")
    lines = [
        "# Which rating predicts best",
        "",
        INTRODUCTION.format(refits=refits, blocks=BLOCKS),
        "",
        "```sh",
        f".venv/bin/python -m benchmarks.scoreboard{command} --output docs/papers/scoreboard.md",
        ".venv/bin/equirank scoreboard FILE      # your own games",
        "```",
        "",
    ]
    if boards:
        lines += summary(boards) + conclusion(boards, refits)
    for name, board in boards.items():
        lines += section(HISTORIES[name][0], board)
    if missing:
        lines += [f"Not run, because their data were not on the machine: {', '.join(missing)}.", ""]
    drawn_by = ", ".join(f"{HISTORIES[name][0].removeprefix('Drawn: ')} {seed}" for name, seed in SEEDS.items() if name in boards)
    made = f"Made on {datetime.now(UTC).date()} by Equirank {__version__}, commit {made_by}."
    lines.append(f"{made} Seeds of the drawn histories: {drawn_by or 'none'}. Nothing else is random.")
    return "\n".join([*lines, "", machine(("numpy", "scipy", "numba")), ""])


def _show(name: str, method: str) -> None:
    print(f"{name}: {method}", file=sys.stderr, flush=True)


def main() -> int:
    """Write or print the page. Returns the exit status."""
    options = parser(__doc__ or "")
    options.add_argument("--output", type=Path, help="file of the page; by default it is printed")
    options.add_argument("--only", action="append", choices=tuple(HISTORIES), help="only this history; repeatable")
    given = options.parse_args()
    boards, missing, made_by = {}, [], sources()
    for name in given.only or HISTORIES:
        table = HISTORIES[name][1]()
        if table is None:
            missing.append(HISTORIES[name][0])
            continue
        if given.quick:
            table = {column: values[-QUICK_GAMES:] for column, values in table.items()}
        boards[name] = scoreboard(table, refits=QUICK_REFITS if given.quick else REFITS, progress=partial(_show, name))
    text = page(boards, missing, given.quick, made_by)
    if given.output is None:
        print(text)
    else:
        given.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
