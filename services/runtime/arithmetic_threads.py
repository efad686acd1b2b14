"""The number of threads of numpy's and numba's arithmetic, as environment variables. They are read when these packages are imported."""

from collections.abc import Mapping
from typing import Final

ONE_THREAD: Final[Mapping[str, str]] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""One thread for each process. Where several processes compute at once, threads of a matrix product that wait for each other on busy cores
make it many times slower: a plan of 400 agents took 6 to 37 s with two threads beside other work, and 0.2 to 0.7 s with one."""
