"""New HiGHS models: silent, on one thread, with a fixed seed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import highspy

from ratings_core.errors import SolverError


class SilentHighs(highspy.Highs):  # type: ignore[misc]  # mypy skips highspy
    """A HiGHS model that prints nothing on standard output.

    Some versions print their banner while the constructor enables callbacks, before the caller can set an option.
    """

    def enableCallbacks(self) -> None:  # noqa: N802 - a method of highspy
        """Enable callbacks, with output switched off first."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()


def new_model(options: Mapping[str, str | float]) -> highspy.Highs:
    """Make an empty model with `options` of HiGHS.

    Raises:
        SolverError: HiGHS rejects an option.
    """
    model = SilentHighs()
    for option, value in {"output_flag": False, "threads": 1, "random_seed": 0, **options}.items():
        if model.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS rejects the option {option}={value}; install highspy >= 1.12")
    return model


@contextmanager
def silent_packages() -> Iterator[None]:
    """Silence the models that other packages make by `highspy.Highs` inside the block."""
    original = highspy.Highs
    highspy.Highs = SilentHighs
    try:
        yield
    finally:
        highspy.Highs = original
