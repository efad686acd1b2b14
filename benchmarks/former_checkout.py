"""Runs a benchmark of today with a checkout of before 23 November 2026, whose modules had other names.

`python benchmarks/former_checkout.py BENCHMARK.py ARGUMENTS...`, with the checkout in PYTHONPATH. A later checkout runs unchanged.
"""

import importlib
import importlib.util
import runpy
import sys
from typing import Final

FORMER: Final = {
    "ratings_core.records": "ratings_core",
    "ratings_core.records.outcomes": "ratings_core.outcomes",
    "ratings_core.records.roster": "ratings_core.roster",
    "services.solve.intervals.replicates": "services.solve.intervals",
    "services.solve.problems": "services.solve",
    "ratings_core.problems.inputs": "services.solve.inputs",
    "services.solve.registry": "services.solve",
    "services.solve.registry.methods": "services.solve.methods",
}
"""Name of a module today, and its name then."""

if __name__ == "__main__":
    if importlib.util.find_spec("ratings_core.records") is None:
        sys.modules.update({now: importlib.import_module(then) for now, then in FORMER.items()})
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
