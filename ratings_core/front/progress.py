"""Lines about long work, for a waiting person."""

import sys


def on_stderr(line: str) -> None:
    """Write a line to stderr if a person reads it: in a terminal or a notebook. Logs of programs do not get it."""
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        sys.stderr.write(f"equirank: {line}\n")
        sys.stderr.flush()
