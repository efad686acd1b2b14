"""Records of a reproduction: a paper has items, an item is one table, figure or example, and its result is a list of compared values.

`paper.py` of a paper's folder has `PAPER = Paper(name="vase", title="...", reference="...", about="...")`. Its other modules add items:

    @PAPER.item("table-17", "Table 17", "Scores of seven prompts by nine methods")
    def prompts(run: Run) -> Output:
        return Output([equal("Borda, prompt 3", printed=22, ours=borda[3])], [Drawn("scores", "Caption.", figure)])
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ratings_core.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
DATA: Final = Path(__file__).parent / "data"
GOLDEN: Final = Path(__file__).parents[2] / "tests" / "golden"
"""Published numbers that tests use as well."""
SHARED: Final = "EQUIRANK_SHARED"
_PROGRESS_SECONDS: Final = 10.0
_FEW_DIGITS: Final = 1e-6
"""Smaller tolerances show six significant digits."""


class Match(StrEnum):
    """How our value compares with the printed one."""

    YES = "yes"
    """Equal to the stated tolerance, or the printed claim holds."""
    NOISE = "within noise"
    """Not equal, and no further away than the stated noise of the experiment."""
    EXPLAINED = "no, explained"
    """Different for a known reason, and our value is the one that the reason predicts."""
    OTHER = "no, other input"
    """Another value or statement on our input. The paper's input is not public, so nothing follows for or against the paper."""
    NO = "no"
    """Different without an explanation. `equirank papers` fails."""
    NONE = "not printed"
    """The paper prints no value."""


@dataclass(frozen=True)
class Value:
    """One row of an item's table: what is compared, the printed and our value as text, the match, and a reason or a tolerance."""

    label: str
    printed: str
    ours: str
    match: Match
    why: str = ""


@dataclass(frozen=True)
class Drawn:
    """A figure of an item. name: part of the file's name. caption: one or two sentences below the figure."""

    name: str
    caption: str
    figure: "Figure"


@dataclass(frozen=True)
class Output:
    """What an item returns.

    values: rows of the table. figures: drawn figures. note: paragraph before the table: what was run, and where it differs from the paper.
    """

    values: Sequence[Value]
    figures: Sequence[Drawn] = ()
    note: str = ""


class NotRunError(Exception):
    """An item lacks its input. The text says what it needs, such as `EQUIRANK_SHARED with data/preflib_sco.tar.xz`."""


class Run:
    """What an item knows of the run: sizes, seeds, progress, inputs outside the project, and results of parts that are kept.

    Attributes:
        sized: True once the item has asked for the size. An item that never asks has the same result in both sizes.
        used_seeds: Seeds that the item has asked for. It is empty if the item draws nothing at random.
    """

    def __init__(self, *, quick: bool, parts: Path, name: str = "", seed: int | None = None) -> None:
        self.sized, self.used_seeds = False, list[int]()
        self._quick, self._parts, self._name, self._seed, self._shown = quick, parts, name, seed, time.monotonic()

    @property
    def quick(self) -> bool:
        """Whether sizes are small: all papers together take at most five minutes on two cores."""
        self.sized = True
        return self._quick

    def pick(self, quick: T, full: T) -> T:
        """The value for this run's size."""
        return quick if self.quick else full

    def seeds(self, count: int, first: int = 0) -> list[int]:
        """Consecutive seeds from `first` on, or from the run's seed if it has one. An item takes the seeds of all its generators here."""
        start = first if self._seed is None else self._seed
        seeds = list(range(start, start + count))
        self.used_seeds += seeds
        return seeds

    def part(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return the stored result of a part, or compute and store it, so that an interrupted run resumes after its last part.

        Args:
            name: Name of the part, unique in the item: a part of a file's name.
            compute: Returns a value that JSON can hold. Floats come back exactly, tuples as lists, and keys of dictionaries as text.
        """
        file = self._parts / f"{name}.json"
        if not file.exists():
            write_json(file, compute())
        return json.loads(file.read_text(encoding="utf-8"))

    def each(self, named: Iterable[tuple[str, Callable[[], Any]]], total: int | None = None) -> list[Any]:
        """Results of `part` for each name, with progress."""
        results = []
        for done, (name, compute) in enumerate(named, 1):
            results.append(self.part(name, compute))
            self.progress(f"{done}{'' if total is None else f' of {total}'}")
        return results

    def progress(self, text: str) -> None:
        """Say on stderr how far the item is, at most every ten seconds."""
        if time.monotonic() - self._shown >= _PROGRESS_SECONDS:
            self._shown = time.monotonic()
            print(f"    {self._name}: {text}", file=sys.stderr, flush=True)

    def shared(self, path: str) -> Path:
        """A file of the folder that EQUIRANK_SHARED names. Raises `NotRunError` if it is missing."""
        folder = os.environ.get(SHARED)
        if not folder or not (Path(folder) / path).exists():
            raise NotRunError(f"{SHARED} with {path}")
        return Path(folder) / path


Compute = Callable[[Run], Output]


@dataclass(frozen=True)
class Item:
    """One table, figure or example of a paper. name: part of file names. source: where it is in the paper, such as `Table 17`."""

    name: str
    source: str
    title: str
    compute: Compute


@dataclass
class Paper:
    """A paper. name: of its page. reference: authors and identifier. about: introduction of its page. items: in the paper's order."""

    name: str
    title: str
    reference: str
    about: str
    items: list[Item] = field(default_factory=list)

    def item(self, name: str, source: str, title: str) -> Callable[[Compute], Compute]:
        """Decorator that adds an item. Raises `InputError` if the paper has an item of this name."""
        if any(item.name == name for item in self.items):
            raise InputError("name", name, f"must be used once in the paper {self.name}")

        def add(compute: Compute) -> Compute:
            self.items.append(Item(name, source, title, compute))
            return compute

        return add


def equal(
    label: str,
    printed: object,
    ours: object,
    *,
    tolerance: float = 0.0,
    reason: str = "",
    other_input: str = "",
    expected: object = None,
) -> Value:
    """Compare a number, a text or a sequence with the printed one.

    Args:
        label: What is compared.
        printed: The printed value.
        ours: Our value. Sequences are compared element by element.
        tolerance: Largest allowed difference of numbers. With printed decimals it is half a unit of the last one.
        reason: Why the printed value does not reproduce. Give `expected` as well.
        other_input: In place of `reason`: how our input differs from the paper's, which is not public. Give `expected` as well.
        expected: The value that the reason or our input predicts. If ours is another one, the match is `no`.
    """
    if _near(printed, ours, tolerance):
        return Value(label, shown(printed), shown(ours, tolerance), Match.YES, f"tolerance {tolerance:g}" if tolerance else "")
    match = Match.NO
    if expected is not None and _near(expected, ours, tolerance):
        match = Match.EXPLAINED if reason else Match.OTHER if other_input else Match.NO
    return Value(label, shown(printed), shown(ours, tolerance), match, reason or other_input)


def within(label: str, printed: float, ours: float, *, noise: float, tolerance: float = 0.0, what: str = "") -> Value:
    """Compare numbers of a random experiment.

    Args:
        label: What is compared.
        printed: The printed value.
        ours: Our value.
        noise: Largest difference that the experiment's randomness explains.
        tolerance: Up to it the match is `yes`.
        what: What the noise is, such as `three standard errors of 200 seeds`.
    """
    difference = abs(printed - ours)
    match = Match.NOISE if difference <= noise else Match.NO
    match = Match.YES if difference <= tolerance else match
    why = f"difference {difference:.2g}, noise {noise:.2g}" + (f" ({what})" if what else "")
    return Value(label, shown(printed), shown(ours, tolerance or noise / 10), match, why)


def claim(label: str, printed: str, ours: str, *, holds: bool, reason: str = "", other_input: str = "") -> Value:
    """Check a statement of the paper.

    Args:
        label: What the statement is about.
        printed: The statement.
        ours: What we find, in words or numbers.
        holds: Whether it agrees with the statement.
        reason: Why the statement does not follow from the paper, as the caller has checked; it turns `no` into `no, explained`.
        other_input: How our input differs from the paper's, which is not public; it turns `no` into `no, other input`.
    """
    if holds:
        return Value(label, printed, ours, Match.YES)
    match = Match.EXPLAINED if reason else Match.OTHER if other_input else Match.NO
    return Value(label, printed, f"does not hold ({ours})", match, reason or other_input)


def unprinted(label: str, ours: object, why: str = "") -> Value:
    """A value of ours of which the paper prints none, such as a point of a curve."""
    return Value(label, "", shown(ours), Match.NONE, why)


def shown(value: object, tolerance: float = 0.0) -> str:
    """A value as text. Floats have the digits that the tolerance needs, and at most six; sequences are in parentheses."""
    if isinstance(value, str):
        return value
    if _many(value):
        return "(" + ", ".join(shown(one, tolerance) for one in _listed(value)) + ")"
    if not isinstance(value, float):
        return str(value)
    if tolerance < _FEW_DIGITS:
        return f"{round(value, 10) + 0.0:.6g}"
    digits = next(n for n in range(7) if 10.0**-n <= 2.1 * tolerance)
    return f"{round(value, digits) + 0.0:.{digits}f}"


def write_json(file: Path, value: object) -> None:
    """Write a file by renaming a complete one, so that an interrupted run leaves no half of a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(f".{os.getpid()}.part")
    unfinished.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(file)


def _near(one: object, other: object, tolerance: float) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if _many(one) or _many(other):
        ones, others = _listed(one), _listed(other)
        return len(ones) == len(others) and all(_near(a, b, tolerance) for a, b in zip(ones, others, strict=True))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(float(one) - float(other)) <= tolerance * (1 + 1e-9) + 1e-12
    return one == other


def _many(value: object) -> bool:
    """Whether a value is a sequence, or an array with dimensions: numpy's numbers are none."""
    return isinstance(value, Sequence) or getattr(value, "ndim", 0) > 0


def _listed(value: Any) -> list[Any]:
    listed = value.tolist() if hasattr(value, "tolist") else list(value)
    return listed if isinstance(listed, list) else [listed]
