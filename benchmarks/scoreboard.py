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

from benchmarks.common import machine, parser
from benchmarks.forecasts import SHARED, drawn
from ratings_core import scoreboard
from ratings_core.front.scoreboard import BLOCKS, REFITS, Score, Scoreboard

Table: TypeAlias = Mapping[str, Any]
"""Columns first, second, result and time (seconds since 1970)."""
INTRODUCTION: Final = """\
Each game is predicted from earlier games only. Online methods predict a game just before they learn it. Bradley-Terry and posterior
margins are solved again {refits} times in the course of a history, and predict the games until the next time. All forecasts are calibrated
by one scale that earlier games fit. Settings are chosen on the first half of the games, by log loss; all figures are of the second half.

- A coin has log loss 0.6931 and Brier score 0.25, where a tie is half a win.
- `±` is half of a 95 % interval, from {blocks} blocks of successive games.
- *Behind the best* is the difference of log losses, game by game.
- *Favourite won* counts decided games."""
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
    "battles": ("Drawn: battles of 100 models", lambda: of_drawn("battles", agents=100, games=20_000, spread=0.3, ties=0.3, seed=1)),
    "chess": ("Drawn: 2,000 chess players", lambda: of_drawn("chess", agents=2_000, games=100_000, spread=1.2, ties=0.4, seed=2)),
    "tennis": (
        "Drawn: 300 tennis players who drift",
        lambda: of_drawn("tennis", agents=300, games=30_000, spread=1.5, ties=0.0, drift=0.02, seed=3),
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


def summary(boards: Mapping[str, Scoreboard]) -> list[str]:
    """A table of the defaults of all methods over all histories, least mean distance first."""
    behind = {
        method: [score.behind for board in boards.values() for score in board.scores if score.method == method and not score.chosen]
        for method in dict.fromkeys(score.method for board in boards.values() for score in board.scores)
    }
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


def page(boards: Mapping[str, Scoreboard], missing: list[str], quick: bool) -> str:
    """The page."""
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
        lines += summary(boards)
    for name, board in boards.items():
        lines += section(HISTORIES[name][0], board)
    if missing:
        lines += [f"Not run, because their data were not on the machine: {', '.join(missing)}.", ""]
    return "\n".join([*lines, machine(("numpy", "scipy")), ""])


def _show(name: str, method: str) -> None:
    print(f"{name}: {method}", file=sys.stderr, flush=True)


def main() -> int:
    """Write or print the page. Returns the exit status."""
    options = parser(__doc__ or "")
    options.add_argument("--output", type=Path, help="file of the page; by default it is printed")
    options.add_argument("--only", action="append", choices=tuple(HISTORIES), help="only this history; repeatable")
    given = options.parse_args()
    boards, missing = {}, []
    for name in given.only or HISTORIES:
        table = HISTORIES[name][1]()
        if table is None:
            missing.append(HISTORIES[name][0])
            continue
        if given.quick:
            table = {column: values[-QUICK_GAMES:] for column, values in table.items()}
        boards[name] = scoreboard(table, refits=QUICK_REFITS if given.quick else REFITS, progress=partial(_show, name))
    text = page(boards, missing, given.quick)
    if given.output is None:
        print(text)
    else:
        given.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
