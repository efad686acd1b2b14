"""Compare a round of solves of an installation with `equirank solve`, both on the same file of games."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from ratings_core.methods.method import Takes
from ratings_core.methods.registry import METHODS
from tests.support.installation import Installation, installation, until

POOL: Final = "football"
WORKERS: Final = 2
PAIRWISE: Final[Mapping[str, Mapping[str, str]]] = {
    name: {"missing": "zero"} if any(one.name == "missing" for one in method.parameters) else {}
    for name, method in METHODS.items()
    if method.takes in (Takes.PAIRS, Takes.MARGINS, Takes.PLACES)
}
"""Methods of games without tasks -> parameters that a pool needs if some pairs of agents have no games."""


class Line(NamedTuple):
    """Comparison of a method's two boards.

    Attributes:
        method: Name of the method.
        live_seconds: Seconds of the installation's solve.
        file_seconds: Seconds of the command's solve.
        status: Status of the installation's solve.
        certificate: Certificate of the installation's solve, as text.
        apart: Largest difference between ratings of the same agent.
        tolerance: Largest difference of ratings that count as tied.
        ranks: Whether all ranks are equal.
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
    """Replay `file` into a new installation, and solve it by all pairwise methods in one round.

    Yields the installation, and method -> its board.
    """
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
    """Compare a board of the installation (`live`) with the JSON of `equirank solve` (`offline`)."""
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
    """Run `equirank solve` on the file, and return its JSON."""
    options = [word for name, value in PAIRWISE[method].items() for word in ("--param", f"{name}={value}")]
    ran = one.run("solve", str(file), "--method", method, *options, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def show(lines: Sequence[Line]) -> None:
    """Print the comparisons as a table."""
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
    return one.get(f"/v1/pools/{POOL}/boards/{method}?count=1000&all=true")
