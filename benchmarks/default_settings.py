"""What the histories of `benchmarks.scoreboard` say of default choices.

`python -m benchmarks.default_settings [--quick]`. Two tables in Markdown, of online methods:

1. other settings than the defaults: difference of log loss from the default, in the first half of the games, which may choose, and in the
   second, which reports; the mean over histories, and the number of histories that the setting makes better or worse by more than the
   interval of 95 %;
2. default methods where a history takes less time: log loss in the second half if all its times are scaled to so many weeks. A pool whose
   outcomes have no times is the last column.

`--quick` takes the last 2,000 games of each history.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from benchmarks.common import arguments
from benchmarks.scoreboard import HISTORIES, QUICK_GAMES, Table
from ratings_core import scoreboard
from ratings_core.formats.options import PLAIN
from ratings_core.front.scoreboard import CANDIDATES, Settings, _History, _log_loss, _mean, _online
from ratings_core.front.sources import part_of
from ratings_core.online import RATERS

MORE: Final[Mapping[str, Sequence[Settings]]] = {
    "glicko2": [*({"period_seconds": 86_400.0 * days} for days in (1, 30)), *({"tau": tau} for tau in (0.2, 1.0))],
    "weng_lin": [{"tau": tau} for tau in (0.0, 25 / 150, 25 / 75)],
    "sco": [{"tau": tau} for tau in (0.5, 2.0)],
}
"""Settings beside those among which the scoreboard chooses."""
COMPARED: Final = ("elo", "sco", "weng_lin", "glicko2")
WEEKS: Final = (100.0, 20.0, 4.0, 1e-3)
WEEK: Final = 604_800.0


def main() -> None:
    quick = arguments(__doc__ or "").quick
    tables = {name: table for name, (_, make) in HISTORIES.items() if (table := make()) is not None}
    if quick:
        tables = {name: {column: values[-QUICK_GAMES:] for column, values in table.items()} for name, table in tables.items()}
    settings(tables)
    times(tables)


def settings(tables: Mapping[str, Table]) -> None:
    """Print the table of settings."""
    print("| method | setting | first half | second half | better | worse |\n| --- | --- | --- | --- | --- | --- |")
    histories = [_History.of(part_of(table, PLAIN)) for table in tables.values()]
    for method in RATERS:
        plain = [_log_loss(_online(history, method, {}), history.result) for history in histories]
        for chosen in (*CANDIDATES[method], *MORE.get(method, ())):
            early, late = [], []
            for history, default in zip(histories, plain, strict=True):
                more = _log_loss(_online(history, method, chosen), history.result) - default
                early.append(more[: len(more) // 2].mean())
                late.append(_mean(more[len(more) // 2 :]))
            mean, half = np.mean([one.value for one in late]), np.sqrt(sum(one.half**2 for one in late)) / len(late)
            better, worse = sum(one.value < -one.half for one in late), sum(one.value > one.half for one in late)
            name = " ".join(f"{key}={value:g}" for key, value in chosen.items())
            print(f"| {method} | {name} | {np.mean(early):+.4f} | {mean:+.4f} ± {half:.4f} | {better} | {worse} |", flush=True)


def times(tables: Mapping[str, Table]) -> None:
    """Print the table of times."""
    print(f"\n| history | method | as it was | {' | '.join(f'{weeks:g} weeks' for weeks in WEEKS)} |")
    print("| --- " * (len(WEEKS) + 3) + "|")
    for name, table in tables.items():
        time = np.asarray(table["time"], np.float64)
        share = (time - time.min()) / (time.max() - time.min())
        scaled = [table, *({**table, "time": (WEEK * weeks * share).tolist()} for weeks in WEEKS)]
        boards = [{one.method: one.log_loss.value for one in scoreboard(each, COMPARED, choose=False).scores} for each in scaled]
        for method in COMPARED:
            print(f"| {name} | {method} | {' | '.join(f'{board[method]:.4f}' for board in boards)} |", flush=True)


if __name__ == "__main__":
    main()
