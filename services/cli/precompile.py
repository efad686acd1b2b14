"""`equirank precompile`."""

import time

import typer

from services.precompile import warm


def precompile() -> None:
    """Compile the kernels into numba's cache and print how long it took."""
    began = time.perf_counter()
    warm()
    typer.echo(f"kernels are compiled ({time.perf_counter() - began:.1f} s)")
