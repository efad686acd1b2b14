"""What the library raises. Every error says what was wrong and what to do about it."""

from typing import Any


class RatingsError(Exception):
    """Base of every error that `ratings_core` raises on purpose."""


class InputError(RatingsError, ValueError):
    """The caller's input breaks a rule.

    argument: path of the offending argument, such as ``weight`` or ``margins[3, 5]``.
    value: what was given. rule: what would have been accepted, as a sentence fragment.
    """

    def __init__(self, argument: str, value: Any, rule: str) -> None:
        self.argument, self.value, self.rule = argument, value, rule
        super().__init__(f"{argument} {rule}, got {_shown(value)}")

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.argument, self.value, self.rule)


class SolverError(RatingsError, RuntimeError):
    """A solver did not reach the accuracy its certificate promises.

    `solution` is the best point found, with its certificate and status, or None where nothing usable came out.
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
        purpose: What needs it, as the subject of a sentence.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra, self.purpose = package, extra, purpose
        super().__init__(f"{purpose} needs the package {package}, which is not installed: pip install 'equirank[{extra}]'", name=package)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.package, self.extra, self.purpose)


def _shown(value: Any, limit: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
