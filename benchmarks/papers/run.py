"""Running items: each result is stored in a file as soon as it is known, and used again while the code is the same."""

import hashlib
import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.common import commit as commit_of
from benchmarks.papers.figures import save
from benchmarks.papers.items import DATA, GOLDEN, Item, Match, NotRunError, Output, Paper, Run, Value, write_json
from benchmarks.papers.sources import ROOT, code_of, sources_of

PACKAGES: Final = ("equirank", "numpy", "scipy", "numba", "highspy")
_SOURCES: Final = ("ratings_core", "benchmarks/papers", "tests/golden")
"""Folders that decide results."""


class Status(StrEnum):
    """State of a stored result."""

    DONE = "done"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class FigureFile:
    """A saved figure: name of its files without the ending, and caption."""

    name: str
    caption: str


@dataclass(frozen=True)
class Stored:
    """The stored result of an item.

    size: `quick` or `full`; `full` also of an item that has one size. code: digest of the code that computed it. commit: of the checkout
    then, with `+` if its sources had changes; empty if unknown. day: of the computation, ISO date in UTC; empty if unknown. versions: of
    Python and packages. seeds: of all random generators; empty if the item draws nothing at random. needs: what an item needs that was
    not run.
    """

    item: str
    status: Status
    size: str
    code: str
    versions: dict[str, str]
    values: list[Value] = field(default_factory=list)
    figures: list[FigureFile] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    note: str = ""
    needs: str = ""
    commit: str = ""
    day: str = ""

    def count(self, *matches: Match) -> int:
        """Number of values with one of these matches."""
        return sum(value.match in matches for value in self.values)


@dataclass(frozen=True)
class Progress:
    """One item of a run. seconds: 0 if its result was stored before."""

    paper: Paper
    item: Item
    result: Stored
    seconds: float
    place: int
    total: int


def run_papers(papers: Sequence[Paper], folder: Path, *, quick: bool, again: bool = False, seed: int | None = None) -> Iterator[Progress]:
    """Run all items of papers whose results are not in the folder, and yield each item's result.

    A stored full result also serves a quick run. A result of other code, of smaller sizes, or without its input is computed. If an item's
    input is missing now, a stored result stays, although the item counts as not run.

    Args:
        papers: Papers, in order.
        folder: Where results, figures and results of parts are stored.
        quick: Small sizes.
        again: Compute also what is stored.
        seed: In place of each item's first seed. A folder has results of one seed: a stored result does not say which was asked for.
    """
    work = [(paper, item) for paper in papers for item in paper.items]
    for place, (paper, item) in enumerate(work, 1):
        code, began = code_digest(paper.name, item), time.monotonic()
        stored = read_result(folder, paper.name, item.name)
        if again or stored is None or stored.status is Status.NOT_RUN or stored.code != code or (stored.size == "quick" and not quick):
            computed = _computed(paper, item, folder, quick=quick, code=code, seed=seed)
            if stored is None or computed.status is Status.DONE:
                write_json(_result_file(folder, paper.name, item.name), asdict(computed))
            yield Progress(paper, item, computed, time.monotonic() - began, place, len(work))
        else:
            yield Progress(paper, item, stored, 0.0, place, len(work))


def read_result(folder: Path, paper: str, item: str) -> Stored | None:
    """The stored result of an item; None if there is none, or one that an older version of this program wrote in another form."""
    file = _result_file(folder, paper, item)
    try:
        return msgspec.json.decode(file.read_bytes(), type=Stored) if file.exists() else None
    except msgspec.ValidationError:
        return None


def code_digest(paper: str, item: Item) -> str:
    """Digest of everything that decides the result of an item.

    These are the code of its module and of all that it imports (without comments and docstrings), the data of its paper and of all
    papers, and the published numbers of the tests.
    """
    return _digest(paper, item.compute.__module__)


@cache
def _digest(paper: str, module: str) -> str:
    data = sorted(path for path in (*DATA.glob("*"), *(DATA / paper).rglob("*"), *GOLDEN.rglob("*")) if path.is_file())
    digest = hashlib.sha256()
    for file in sources_of(module):
        digest.update(f"{file.relative_to(ROOT)}\n{code_of(file)}\n".encode())
    for file in data:
        digest.update(f"{file.name}\n".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _computed(paper: Paper, item: Item, folder: Path, *, quick: bool, code: str, seed: int | None) -> Stored:
    size = "quick" if quick else "full"
    parts = folder / "parts" / f"{code}-{size}" / paper.name / item.name
    versions = {"Python": platform.python_version()} | {package: version(package) for package in PACKAGES}
    commit, day = commit_of(*_SOURCES), datetime.now(UTC).date().isoformat()
    run = Run(quick=quick, parts=parts, name=f"{paper.name} {item.name}", seed=seed)
    try:
        output = item.compute(run)
    except NotRunError as missing:
        return Stored(item.name, Status.NOT_RUN, size, code, versions, needs=str(missing), commit=commit, day=day)
    figures, size = _saved(paper, item, output, folder), "quick" if quick and run.sized else "full"
    _remove_parts(parts, folder)
    values, seeds = list(output.values), list(dict.fromkeys(run.used_seeds))
    return Stored(item.name, Status.DONE, size, code, versions, values, figures, seeds, output.note, commit=commit, day=day)


def _remove_parts(parts: Path, folder: Path) -> None:
    """Remove the parts of an item that is done, and folders that are empty then."""
    if parts.exists():
        shutil.rmtree(parts)
    for parent in parts.relative_to(folder).parents:
        if parent.name and (folder / parent).exists() and not any((folder / parent).iterdir()):
            (folder / parent).rmdir()


def _saved(paper: Paper, item: Item, output: Output, folder: Path) -> list[FigureFile]:
    files = [FigureFile(f"{paper.name}-{item.name}-{drawn.name}", drawn.caption) for drawn in output.figures]
    for file, drawn in zip(files, output.figures, strict=True):
        save(drawn.figure, folder / "figures" / file.name)
    return files


def _result_file(folder: Path, paper: str, item: str) -> Path:
    return folder / "results" / paper / f"{item}.json"
