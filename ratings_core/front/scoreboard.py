"""`scoreboard`: which rating predicts best, measured on games that no method had seen.

Every forecast of a game is made from earlier games only (prequential evaluation, Dawid 1984). Online methods forecast each game just
before they fold it. Methods that are solved are solved again after each part of the history, and forecast the games of the next part. All
forecasts are calibrated by one scale, which is fitted to earlier games too.

Settings are chosen on the first half of the games, by log loss, and every figure is of the second half.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.batch.pair_counts import MetPairs, of_tally
from ratings_core.columns import Games
from ratings_core.errors import InputError
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.parts import FilePart
from ratings_core.formats.reading import in_order_of_time
from ratings_core.front.counted import batch_of
from ratings_core.front.progress import on_stderr
from ratings_core.front.rate import with_columns
from ratings_core.front.release import release
from ratings_core.front.sources import part_of
from ratings_core.front.tables import drawn, drawn_html
from ratings_core.margins import posterior_margins
from ratings_core.margins.half_life import decayed
from ratings_core.online import RATERS, Prequential
from ratings_core.online.trace import RatingTrace
from ratings_core.options import Value
from ratings_core.records.outcomes import OutcomeBatch
from ratings_core.records.roster import Roster
from ratings_core.solution import Floats
from ratings_core.tallies import PairTally

Settings: TypeAlias = Mapping[str, Value]
Forecasts: TypeAlias = tuple[str, Settings, bool, Floats]
"""A method, its settings, whether they were chosen, and its forecasts of all games between two agents."""
Progress: TypeAlias = Callable[[str], None]

LEAST: Final = 1e-9
"""Forecasts are counted as at least this and at most one minus it, so that a log loss is finite."""
REFITS: Final = 100
"""Number of parts of a history. Solved methods are solved again before each."""
BLOCKS: Final = 20
"""Number of blocks of successive games whose means give the intervals."""
STUDENT: Final = 2.093
"""The 97.5 % point of Student's distribution with BLOCKS - 1 = 19 degrees of freedom."""
LEAST_GAMES: Final = 10 * BLOCKS
"""Smallest number of games between two agents: some five in each block of the second half."""

SOLVED: Final = ("bradley_terry", "posterior_margins")
CANDIDATES: Final[Mapping[str, Sequence[Settings]]] = {
    "elo": [{"k": k} for k in (4.0, 8.0, 16.0, 24.0, 48.0, 64.0)],
    "glicko2": [{"deviation": deviation} for deviation in (100.0, 200.0)],
    "weng_lin": [{"beta": beta} for beta in (25 / 12, 25 / 3, 25 / 2)],
    "melo": [{"k": k, "rate": rate} for k in (8.0, 16.0, 32.0) for rate in (0.03, 0.1) if (k, rate) != (32.0, 0.1)],
    "sco": [{"alpha": alpha} for alpha in (0.125, 0.25, 1.0)],
    "fenchel_young": [{"alpha": alpha} for alpha in (0.05, 0.1, 0.4)],
    "bradley_terry": [{"half_life": share} for share in (0.05, 0.1, 0.2, 0.4)],
    "posterior_margins": [{"half_life": share} for share in (0.05, 0.1, 0.2, 0.4)],
}
"""Method -> settings among which the first half of the games chooses, beside the defaults. half_life: share of the history after which a
game counts half; by default none.
"""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over games, and half of the length of its 95 % interval, from the means of `BLOCKS` blocks of successive games."""

    value: float
    half: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.half:.4f}"


@dataclass(frozen=True, slots=True)
class Score:
    """How well a method predicted the games of the second half.

    Attributes:
        method: Name of the method.
        settings: Settings that differ from the defaults.
        chosen: Whether the first half of the games chose the settings; else they are the defaults.
        log_loss: Nats a game. A coin has ln 2 = 0.693; a tie is half a win.
        brier: Mean of the squared distance of forecast and result.
        right: Share of the decided games that the favourite won; an even forecast counts half.
        calibration_error: Mean distance of forecast and result in ten classes of forecasts.
        behind: Log loss less that of the best method. The interval is of the difference, game by game.
    """

    method: str
    settings: Settings
    chosen: bool
    log_loss: Mean
    brier: Mean
    right: Mean
    calibration_error: float
    behind: Mean

    @property
    def name(self) -> str:
        """The method with its settings."""
        return " ".join([self.method, *(f"{key}={value:g}" for key, value in self.settings.items())])


@dataclass(frozen=True, slots=True, eq=False)
class Scoreboard:
    """Scores of methods on one history of games.

    Attributes:
        scores: The scores, least log loss first.
        games: Number of games that were scored, the second half of those between two agents.
        history: Number of all games.
        agents: Number of agents.
    """

    scores: tuple[Score, ...]
    games: int
    history: int
    agents: int

    def table(self) -> Any:
        """The scores as an Arrow table."""
        import pyarrow as pa  # noqa: PLC0415 - takes time to load

        means = {
            f"{figure}{suffix}": [getattr(getattr(one, figure), part) for one in self.scores]
            for figure in ("log_loss", "brier", "right", "behind")
            for suffix, part in (("", "value"), ("_half", "half"))
        }
        names = {"method": [one.method for one in self.scores], "settings": [one.name for one in self.scores]}
        chosen = {"chosen": [one.chosen for one in self.scores]}
        errors = {"calibration_error": [one.calibration_error for one in self.scores]}
        return pa.table(names | chosen | means | errors, metadata={"equirank_version": release()})

    def __str__(self) -> str:
        return drawn(self._title(), _HEADS, self._rows(), self._notes(), left=0)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return drawn_html(self._title(), _HEADS, self._rows(), self._notes())

    def _title(self) -> str:
        return f"{self.games} games predicted, each from earlier games only; {self.history} games of {self.agents} agents in all"

    def _notes(self) -> list[str]:
        """What a coin has, and which defaults forecast these games as well as the best row does."""
        level = [one.name for one in self.scores if not one.chosen and one.behind.value <= one.behind.half]
        first = next(one.name for one in self.scores if not one.chosen)
        best = f"as good as the best row, within their intervals: {', '.join(level)}" if level else f"the best one is {first}"
        coin = "A coin has log loss 0.6931; its Brier score is 0.25 in decided games and 0 in ties."
        return [coin, f"Of the default settings, {best}."]

    def _rows(self) -> list[list[str]]:
        return [
            [
                one.name,
                "chosen" if one.chosen else "default",
                str(one.log_loss),
                str(one.behind) if one.behind.half else "best",
                str(one.brier),
                f"{100 * one.right.value:.1f} ± {100 * one.right.half:.1f} %",
                f"{one.calibration_error:.4f}",
            ]
            for one in self.scores
        ]


_HEADS: Final = ("method", "settings", "log loss", "behind the best", "Brier", "favourite won", "calibration error")


def scoreboard(
    games: Any,
    methods: Sequence[str] = (*RATERS, *SOLVED),
    *,
    columns: Mapping[str, str] | None = None,
    reading: ReadOptions = PLAIN,
    refits: int = REFITS,
    choose: bool = True,
    progress: Progress | None = None,
) -> Scoreboard:
    """Compare how well methods predict games, each game from earlier games only.

    Args:
        games: Games in one of the forms that `rate` takes, at least `LEAST_GAMES` between two agents. They are taken in the order of their
            times if all have one, else in the order of the rows. Games of more than two agents are learnt from and not scored.
        methods: Names of one or more online methods, or of `SOLVED`, each once.
        columns: Role -> column, as in `rate`.
        reading: Further options for reading a table or a file.
        refits: Number of parts of the history, 2 or more. Solved methods are solved again before each.
        choose: Whether the first half of the games also chooses settings (`CANDIDATES`). Methods then have a second row if the choice is
            not the default.
        progress: Called with a line of text: at the start how much will be computed, then before each method. None for stderr, if that is
            a terminal or a notebook.

    Time grows with the games, and for `SOLVED` with the pairs of agents that met, times `refits`, times the settings that are tried. Both
    methods of `SOLVED` share their fits. The guide of the library has times. For a quick look at many games, give fewer `refits`,
    ``choose=False``, or online methods only.

    Raises:
        InputError: A method is unknown, there are too few games, or a rule of `rate` is broken.
        SolverError: A solved method did not reach its accuracy.
    """
    chosen = with_columns(reading, columns, ())
    return scoreboard_of(part_of(games, chosen), methods, refits=refits, choose=choose, progress=progress)


def scoreboard_of(
    part: FilePart,
    methods: Sequence[str] = (*RATERS, *SOLVED),
    *,
    refits: int = REFITS,
    choose: bool = True,
    progress: Progress | None = None,
) -> Scoreboard:
    """The scoreboard of games that were read. Arguments and errors are those of `scoreboard`."""
    if isinstance(methods, str) or not len(methods) or len(set(methods)) != len(methods):
        raise InputError("methods", methods, "must be names of one or more methods, each once")
    for method in methods:
        checks.choice("method", method, (*RATERS, *SOLVED))
    checks.whole("refits", refits, low=2)
    history = _History.of(part)
    parts = _Parts.of(history, refits) if any(method in SOLVED for method in methods) else None
    forecasts: list[Forecasts] = []
    progress = on_stderr if progress is None else progress
    progress(_plan(history, methods, 0 if parts is None else len(parts.ends) - 1, choose=choose))
    for number, method in enumerate(methods, 1):
        progress(f"{method} ({number} of {len(methods)} methods)")
        forecasts += _of_method(history, method, _online if parts is None or method in RATERS else parts.forecasts, choose=choose)
    return _scored(history, forecasts)


def _plan(history: "_History", methods: Sequence[str], refits: int, *, choose: bool) -> str:
    """What a scoreboard computes, as a line of text."""
    tried = {method: 1 + choose * len(CANDIDATES[method]) for method in methods}
    folds = sum(number for method, number in tried.items() if method in RATERS)
    fits = max((number for method, number in tried.items() if method in SOLVED), default=0) * refits
    work = [f"{folds} folds of {len(history.batch)} games"] * (folds > 0) + [f"{fits} fits to up to as many games"] * (fits > 0)
    chosen = "; the first half of the games chooses settings" if choose else ""
    return f"scoreboard of {len(methods)} methods: {' and '.join(work)}{chosen}; the second half is scored"


@dataclass(frozen=True, slots=True)
class _History:
    """Games in order.

    batch: all games; agents: their number; duels: int64, the games between two agents; sides: int64 (duels,), the first side of each;
    first, second: int64 (duels,), agents; result: float64 (duels,), of the first agent.
    """

    batch: OutcomeBatch
    agents: int
    duels: NDArray[np.int64]
    sides: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    result: Floats

    @classmethod
    def of(cls, part: FilePart) -> "_History":
        """The games of a part, by time if all have one. Raises `InputError` for scores, and for too few games."""
        if part.timed is not None and part.timed.all():
            part = in_order_of_time([part])[0]
        columns, agents = part.columns, Roster()
        if not isinstance(columns, Games):
            raise InputError("games", "scores", "must be games: a table of scores has no results to predict")
        batch = batch_of(columns, agents, Roster())
        sides_of = np.diff(batch.side_start)
        lone = np.diff(batch.agent_start) == 1
        start = batch.side_start[:-1]
        duels = np.flatnonzero((sides_of == 2) & lone[start] & lone[np.minimum(start + 1, len(lone) - 1)])
        if len(duels) < LEAST_GAMES:
            raise InputError("games", len(duels), f"must be at least {LEAST_GAMES} games between two agents")
        sides = start[duels]
        ids = batch.agent.astype(np.int64)
        first, second = ids[batch.agent_start[sides]], ids[batch.agent_start[sides + 1]]
        result = 0.5 + 0.5 * np.sign(batch.place[sides + 1] - batch.place[sides])
        return cls(batch, len(agents), duels, sides, first, second, result)


def _of_method(
    history: _History, method: str, forecasts: Callable[["_History", str, Settings], Floats], *, choose: bool
) -> list[Forecasts]:
    """Forecasts by the defaults, and by the chosen settings if they differ. forecasts: Gives those of settings."""
    plain = forecasts(history, method, {})
    made: list[Forecasts] = [(method, {}, False, plain)]
    if not choose:
        return made
    early = slice(0, len(history.duels) // 2)
    tried: Iterator[tuple[Settings, Floats]] = ((settings, forecasts(history, method, settings)) for settings in CANDIDATES[method])
    least = float(_log_loss(plain, history.result)[early].mean())
    best: Forecasts | None = None
    for settings, made_by in tried:
        if (loss := float(_log_loss(made_by, history.result)[early].mean())) < least:
            least, best = loss, (method, settings, True, made_by)
    return made if best is None else [*made, best]


def _online(history: _History, method: str, settings: Settings) -> Floats:
    """Calibrated forecasts of an online method, each made just before its game was folded."""
    rater = RATERS[method](**settings)
    trace = RatingTrace.of(history.batch)
    rater.fold(rater.init(history.agents), history.batch, Prequential(), trace)
    return trace.expected[history.sides]


@dataclass(frozen=True, slots=True)
class _Parts:
    """A history in parts of about equally many games.

    ends: int64 (parts,), number of games up to the end of each part; counts: counts of the pairs of each part; shares: half-life in parts,
    and method -> shares that were computed and not yet used.
    """

    ends: NDArray[np.int64]
    counts: tuple[MetPairs, ...]
    shares: dict[tuple[float, str], Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, history: _History, refits: int) -> "_Parts":
        ends = np.unique(np.linspace(0, len(history.batch), refits + 1).astype(np.int64))[1:]
        counts = []
        for start, end in zip((0, *ends[:-1].tolist()), ends.tolist(), strict=True):
            tally = PairTally()
            tally.add(history.batch.slice(start, end), np.zeros(end - start, np.int64))
            counts.append(of_tally(tally.counts(), history.agents))
        return cls(ends, tuple(counts))

    def forecasts(self, history: _History, method: str, settings: Settings) -> Floats:
        """Forecasts of the duels of each part, from the parts before it, with the scale that fits their duels; 1/2 in the first part."""
        p, scale = np.full(len(history.duels), 0.5), 1.0
        share = self._shares(history, method, float(settings.get("half_life", np.inf)) * len(self.ends))
        log_odds = np.log(share) - np.log1p(-share)
        for start, end in self._later(history):
            p[start:end] = 1 / (1 + np.exp(-scale * log_odds[start:end]))
            scale = _scale(log_odds[:end], history.result[:end], scale)
        return p

    def _later(self, history: _History) -> list[tuple[int, int]]:
        """First duel, and the one after the last, of each part but the first."""
        cuts = np.searchsorted(history.duels, self.ends).tolist()
        return list(pairwise(cuts))

    def _shares(self, history: _History, method: str, life: float) -> Floats:
        """Expected share of the first side of each duel, before calibration; 1/2 in the first part. life: half-life in parts.

        One fit of strengths serves both methods: posterior margins are those of the fit with a correction at the pairs that met.
        """
        if (life, method) not in self.shares:
            both = {one: np.full(len(history.duels), 0.5) for one in SOLVED}
            counts = self.counts[0]
            for part, (start, end) in enumerate(self._later(history), 1):
                first, second = history.first[start:end], history.second[start:end]
                margins = posterior_margins(counts)
                both["bradley_terry"][start:end] += margins.predicted(margins.strength[first] - margins.strength[second]) / 2
                both["posterior_margins"][start:end] += margins.win_less_loss(first, second) / 2
                counts = decayed([counts, self.counts[part]], life)
            self.shares.update({(life, one): np.clip(share, LEAST, 1 - LEAST) for one, share in both.items()})
        return self.shares.pop((life, method))


def _scale(log_odds: Floats, result: Floats, scale: float) -> float:
    """The scale of least log loss, within 1/10 to 10, by Newton steps in its logarithm."""
    for _ in range(20):
        x = scale * log_odds
        p = 1 / (1 + np.exp(-x))
        slope, curvature = float(((result - p) * x).sum()), 1.0 + float((p * (1 - p) * x * x).sum())
        step = float(np.clip(slope / curvature, -0.5, 0.5))
        scale = float(np.clip(scale * np.exp(step), 0.1, 10.0))
        if abs(step) < 1e-6:
            break
    return scale


def _log_loss(p: Floats, result: Floats) -> Floats:
    near = np.clip(p, LEAST, 1 - LEAST)
    return np.asarray(-(result * np.log(near) + (1 - result) * np.log1p(-near)), np.float64)


def _scored(history: _History, forecasts: Sequence[Forecasts]) -> Scoreboard:
    """Scores of the second half of the duels."""
    late = slice(len(history.duels) // 2, None)
    result = history.result[late]
    losses = [_log_loss(p[late], result) for *_, p in forecasts]
    best = losses[int(np.argmin([own.mean() for own in losses]))]
    decided = result != 0.5
    scores = []
    for (method, settings, chosen, p), own in zip(forecasts, losses, strict=True):
        expected = p[late]
        right = 0.5 + 0.5 * np.sign(expected - 0.5) * np.sign(result - 0.5)
        scores.append(
            Score(
                method, settings, chosen, _mean(own), _mean((result - expected) ** 2), _mean(right, decided), _distance(expected, result),
                _mean(own - best),
            )
        )  # fmt: skip
    return Scoreboard(tuple(sorted(scores, key=lambda one: one.log_loss.value)), len(result), len(history.batch), history.agents)


def _mean(values: Floats, counted: NDArray[np.bool_] | None = None) -> Mean:
    """The mean of the counted values, with an interval for a ratio of sums over blocks (Cochran 1977, eq. 6.13)."""
    counted = np.ones(len(values), bool) if counted is None else counted
    block = np.arange(len(values)) * BLOCKS // len(values)
    sizes = np.bincount(block[counted], minlength=BLOCKS)
    total = int(sizes.sum())
    if not total:
        return Mean(float("nan"), float("nan"))
    mean = float(values[counted].sum() / total)
    beyond = np.bincount(block[counted], values[counted], BLOCKS) - mean * sizes
    return Mean(mean, float(STUDENT * np.sqrt(BLOCKS / (BLOCKS - 1) * (beyond**2).sum()) / total))


def _distance(expected: Floats, result: Floats) -> float:
    """Mean distance of forecast and result of the favourite in ten classes, by number of games (as `Prequential.calibration_error`)."""
    first = expected >= 0.5
    favoured, won = np.where(first, expected, 1 - expected), np.where(first, result, 1 - result)
    row = np.minimum(((favoured - 0.5) * 20).astype(np.int64), 9)
    return float(np.abs(np.bincount(row, favoured - won, 10)).sum() / len(result))
