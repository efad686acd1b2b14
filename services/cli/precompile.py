"""`equirank precompile`: compile the kernels after an installation."""

import time

import typer

from services.precompile import warm


def precompile() -> None:
    """Compile the kernels after an installation, so that the first outcomes do not wait for the compiler."""
    began = time.perf_counter()
    warm()
    typer.echo(f"kernels are compiled ({time.perf_counter() - began:.1f} s)")
