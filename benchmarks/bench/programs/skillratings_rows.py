"""skillratings: a crate of Rust. `scripts/peers` builds functions over arrays as a library in the peers' environment."""

import ctypes
import sys
import tomllib
from pathlib import Path

import numpy as np

BUILT = Path(sys.prefix) / "skillratings"
LIBRARY = BUILT / "target" / "release" / "libskillratings_rows.so"
PACKAGES = ()


def versions():
    """Version of the crate that the library was built with."""
    crates = tomllib.loads((BUILT / "Cargo.lock").read_text())["package"]
    return {crate["name"]: crate["version"] for crate in crates if crate["name"] == "skillratings"}


def elo(data):
    first, second, result = played(data)
    return called("elo_games", data, len(first), first, second, result)


def glicko2(data):
    return over_periods(data, limited=False)


def glicko2_corrected(data):
    """With deviations of at most a newcomer's, as Equirank has them, and volatilities to 1e-12."""
    return over_periods(data, limited=True)


def over_periods(data, *, limited):
    period = np.ascontiguousarray(data["period"], dtype=np.int64)
    more = [ctypes.c_double(1e-12 if limited else 1e-6), ctypes.c_bool(limited)]
    return called("glicko2_periods", data, len(period), period, *played(data), more=more)


def played(data):
    """Both agents and the result of each game, as the library takes them."""
    kinds = {"first": np.int64, "second": np.int64, "result": np.float64}
    return [np.ascontiguousarray(data[name], dtype=kind) for name, kind in kinds.items()]


def called(function, data, games, *columns, more=()):
    """A call of the library with these columns, and the ratings of those who played."""
    if not LIBRARY.exists():
        raise RuntimeError("skillratings is not built: install Rust, then run `make peers` once more")
    agents = int(data["agents"])
    rated = getattr(ctypes.CDLL(str(LIBRARY)), function)
    rated.restype = None

    def run():
        ratings = np.empty(agents)
        pointers = [ctypes.c_void_p(column.ctypes.data) for column in columns]
        rated(ctypes.c_size_t(games), *pointers, ctypes.c_size_t(agents), *more, ctypes.c_void_p(ratings.ctypes.data))
        return ratings

    def values(ratings):
        seen = np.zeros(agents, dtype=bool)
        seen[data["first"]] = seen[data["second"]] = True
        return {"ratings": np.where(seen, ratings, np.nan)}

    return run, values
