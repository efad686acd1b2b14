"""What the cluster tests measure: shown together at the end of a run, whether it passed or not."""

from typing import Final

LINES: Final[list[str]] = []
"""In the order of the measurements."""


def note(line: str) -> None:
    """Add a line to what the run shows at its end."""
    LINES.append(line)
