"""Errors of the library. Every error states the problem and the next step."""

from typing import Any


class RatingsError(Exception):
    """Base of all errors that `ratings_core` defines."""


class InputError(RatingsError, ValueError):
    """The caller's input breaks a rule.

    argument: path of the invalid argument, such as ``weight`` or ``margins[3, 5]``.
    value: the invalid value. rule: the rule for valid values, as a sentence fragment.
    """

    def __init__(self, argument: str, value: Any, rule: str) -> None:
        self.argument, self.value, self.rule = argument, value, rule
        super().__init__(f"{argument} {rule}, got {_shown(value)}")

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.argument, self.value, self.rule)


class SolverError(RatingsError, RuntimeError):
    """A solver did not reach the required accuracy.

    solution: the best result, with its certificate and status, or None if there is no usable result.
    """

    def __init__(self, message: str, solution: Any = None) -> None:
        self.solution = solution
        super().__init__(message)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (str(self), self.solution)


class MissingExtraError(RatingsError, ImportError):
    """A function needs a package that is not installed.

    Args:
        package: Name of the package.
        extra: Extra of the distribution `equirank` that installs it.
        purpose: The operation that needs it, as the subject of a sentence.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra, self.purpose = package, extra, purpose
        super().__init__(f"{purpose} needs the package {package}, which is not installed: pip install 'equirank[{extra}]'", name=package)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.package, self.extra, self.purpose)


def _shown(value: Any, limit: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
