"""One round of solves of a whole installation on a file of games, beside `equirank solve` on the same file."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from services.solve.registry.method import Takes
from services.solve.registry.methods import METHODS
from tests.support.installation import Installation, installation, until

POOL: Final = "football"
WORKERS: Final = 2
PAIRWISE: Final[Mapping[str, Mapping[str, str]]] = {
    name: {"missing": "zero"} if any(one.name == "missing" for one in method.parameters) else {}
    for name, method in METHODS.items()
    if method.takes in (Takes.PAIRS, Takes.MARGINS, Takes.PLACES)
}
"""Methods of games that are not counted by task, with the parameters that a pool needs in which not everybody met."""


class Line(NamedTuple):
    """A method on both ways. certificate: as text; apart: largest difference of a rating; tolerance: within which ratings are equal;
    ranks: whether all are the same.
    """

    method: str
    live_seconds: float
    file_seconds: float
    status: str
    certificate: str
    apart: float
    tolerance: float
    ranks: bool


@contextmanager
def solved_live(folder: Path, file: Path) -> Iterator[tuple[Installation, dict[str, Any]]]:
    """An installation in which `file` was replayed and then solved by all pairwise methods in one round; boards by method."""
    with installation(folder / "data", environment={"EQUIRANK_SOLVE_WORKERS": str(WORKERS)}) as one:
        assert one.request("PUT", f"/v1/pools/{POOL}", {"kind": "games"})[0] in (200, 201)
        assert one.request("PUT", f"/v1/pools/{POOL}/methods", {"methods": {}})[0] == 200
        sent = one.run("replay", str(file), "--pool", POOL)
        assert sent.returncode == 0, sent.stdout + sent.stderr
        status, told = one.request("PUT", f"/v1/pools/{POOL}/methods", {"methods": dict(PAIRWISE)})
        assert status == 200, told
        outcomes = one.outcomes(POOL)
        until(lambda: all((board := _board(one, method)) and board["outcomes"] == outcomes for method in PAIRWISE), "all are solved")
        yield one, {method: _board(one, method) for method in PAIRWISE}


def compared(method: str, live: Mapping[str, Any], offline: Mapping[str, Any]) -> Line:
    """A board of the installation beside what `equirank solve --format json` says."""
    rows = {row["agent"]: row for row in live["rows"]}
    pairs = [(rows[row["agent"]], row) for row in offline["agents"]]
    assert len(pairs) == len(rows) == live["total"]
    assert all((one["rating"] is None) == (other["rating"] is None) for one, other in pairs)
    certificate = live["certificate"]
    return Line(
        method=method,
        live_seconds=live["seconds"],
        file_seconds=offline["seconds"],
        status=live["status"],
        certificate=f"{certificate['kind']} {certificate['value']:.2g}",
        apart=max((abs(one["rating"] - other["rating"]) for one, other in pairs if one["rating"] is not None), default=0.0),
        tolerance=offline["extra"]["tie_tolerance"],
        ranks=all(one["rank"] == other["rank"] for one, other in pairs),
    )


def offline(one: Installation, file: Path, method: str) -> dict[str, Any]:
    """What the command line says of the file."""
    options = [word for name, value in PAIRWISE[method].items() for word in ("--param", f"{name}={value}")]
    ran = one.run("solve", str(file), "--method", method, *options, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def show(lines: Sequence[Line]) -> None:
    """Prints the table."""
    head = ("method", "live s", "file s", "status", "certificate", "apart", "tolerance", "ranks")
    row = "{:<28}{:>9}{:>9}  {:<12}{:<34}{:>10}{:>11}  {}\n".format
    sys.stdout.write(row(*head))
    for line in lines:
        ranks = "same" if line.ranks else "differ"
        cells = (line.method, f"{line.live_seconds:.2f}", f"{line.file_seconds:.2f}", line.status, line.certificate)
        sys.stdout.write(row(*cells, f"{line.apart:.1e}", f"{line.tolerance:.1e}", ranks))
    spent = sum(line.live_seconds for line in lines)
    sys.stdout.write(f"{len(lines)} methods, {spent:.1f} s of solving on {WORKERS} workers\n")


def _board(one: Installation, method: str) -> Any:
    return one.get(f"/v1/pools/{POOL}/boards/{method}?count=1000")
