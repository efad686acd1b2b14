"""docs/concepts/lifecycles.md: the lifecycles as diagrams and tables, written from the tables that the code uses.

`python -m services.cli.lifecycles` prints the page; a test compares it with the file.
"""

import sys
from collections.abc import Sequence
from typing import Any, Final

from services.control.lifecycles import GENERATION_LIFECYCLE, PARTITION_LIFECYCLE, POOL_LIFECYCLE
from services.runtime.lifecycle import Lifecycle
from services.solve.planning.jobs import JOB_LIFECYCLE

LIFECYCLES: Final[Sequence[Lifecycle[Any, Any]]] = (PARTITION_LIFECYCLE, POOL_LIFECYCLE, GENERATION_LIFECYCLE, JOB_LIFECYCLE)
_HEAD: Final = """# Lifecycles

This page shows the statuses of long-lived things, and the events that change them. `python -m services.cli.lifecycles` writes it from the
tables that the code uses, so an event that is not shown here cannot happen. Metrics and commands use the same words.
"""


def page() -> str:
    """The page."""
    return _HEAD + "".join(map(_section, LIFECYCLES))


def _section(lifecycle: Lifecycle[Any, Any]) -> str:
    title = lifecycle.name[0].upper() + lifecycle.name[1:]
    rows = "".join(f"| `{status}` | `{event}` | `{following}` |\n" for (status, event), following in lifecycle.table.items())
    table = f"| status | event | next status |\n| --- | --- | --- |\n{rows}"
    return f"\n## {title}\n\n```mermaid\n{lifecycle.diagram()}\n```\n\n{table}"


if __name__ == "__main__":
    sys.stdout.write(page())
