"""What a run of the benchmark finds: rows, scaling rows, the machine, and the file that holds them."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from ratings_core.errors import InputError

Versions: TypeAlias = dict[str, dict[str, str]]

FORMAT: Final = 1


@dataclass(frozen=True)
class Row:
    """One task beside one peer.

    Attributes:
        task, peer: Names.
        size: Size of the input, in units of the task.
        ours, theirs: Least CPU seconds of a run, all threads; None after an error.
        first_ours, first_theirs: CPU seconds of the first run, which may compile.
        imports_ours, imports_theirs: CPU seconds of importing the program's packages.
        runs: Number of timed runs of each.
        compared: What was compared, and after which transformation.
        difference: How far the values are apart: the largest difference, or one minus Kendall's tau for another model.
        tolerance: Largest difference that counts as equal; None where the peer's model is another one.
        why: Reason of a difference, or of another model.
        error: Why there is no answer, or none that can be compared.
    """

    task: str
    peer: str
    size: int
    ours: float | None = None
    theirs: float | None = None
    first_ours: float | None = None
    first_theirs: float | None = None
    imports_ours: float | None = None
    imports_theirs: float | None = None
    runs: int = 0
    compared: str = ""
    difference: float | None = None
    tolerance: float | None = None
    why: str = ""
    error: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the CPU seconds of ours the peer takes; None after an error."""
        return None if self.error or self.ours is None or self.theirs is None else self.theirs / max(self.ours, 1e-9)

    @property
    def equal(self) -> bool | None:
        """Whether the values are equal within the tolerance; None if the models differ or there is no answer."""
        if self.tolerance is None or self.difference is None:
            return None
        return self.difference <= self.tolerance


@dataclass(frozen=True)
class Scaling:
    """CPU seconds of Equirank by size of a task, and the exponent fitted to them. error: why a size gave no answer."""

    task: str
    unit: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    error: str = ""

    @property
    def exponent(self) -> float | None:
        """Slope of log seconds by log size, least squares; None for fewer than two sizes."""
        if len(self.sizes) < 2:
            return None
        x, y = [math.log(size) for size in self.sizes], [math.log(max(value, 1e-9)) for value in self.seconds]
        mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
        return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


@dataclass(frozen=True)
class Results:
    """One run of the benchmark. versions: `ours` and `peers`, each package -> version, as both have a numpy; quick: small sizes."""

    quick: bool
    machine: dict[str, Any]
    versions: Versions
    rows: tuple[Row, ...] = ()
    scaling: tuple[Scaling, ...] = ()
    format: int = field(default=FORMAT)

    def write(self, file: Path) -> None:
        """Write the results as JSON, with ratios and exponents for other readers."""
        whole = asdict(self)
        for row, own in zip(whole["rows"], self.rows, strict=True):
            row["ratio"] = own.ratio
        for row, own_scaling in zip(whole["scaling"], self.scaling, strict=True):
            row["exponent"] = own_scaling.exponent
        file.write_text(json.dumps(whole, indent=1, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> "Results":
        """Results from their file. Raises `InputError` if it is not one of this format."""
        rule = f"must be a bench.json of format {FORMAT}, as `equirank bench` writes it"
        try:
            whole = json.loads(file.read_text(encoding="utf-8"))
            if whole["format"] != FORMAT:
                raise InputError("compare", str(file), rule)
            rows = tuple(Row(**{name: value for name, value in row.items() if name != "ratio"}) for row in whole["rows"])
            scaling = tuple(
                Scaling(row["task"], row["unit"], tuple(row["sizes"]), tuple(row["seconds"]), row["error"]) for row in whole["scaling"]
            )
            return cls(whole["quick"], whole["machine"], whole["versions"], rows, scaling)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError("compare", str(file), rule) from error
