"""A fake of the module `ray` with the functions that the engine calls."""

from typing import Any

import ray


class Answer:
    """Result of a remote call. `FakeRay.get` raises a value that is an exception."""

    def __init__(self, value: object) -> None:
        self.value = value

    def remote(self, *_: object) -> "Answer":
        return self


class FakeRay:
    """Fake module. All results are ready at once.

    Attributes:
        options_given: Options of all started actors.
        killed: Killed actors.
        there: Whether `wait` returns results as ready; False simulates a Ray that does not answer.
    """

    exceptions = ray.exceptions

    def __init__(self, resources: dict[str, float] | None = None) -> None:
        self.resources = resources or {}
        self.options_given: list[dict[str, object]] = []
        self.killed: list[object] = []
        self.there = True

    def cluster_resources(self) -> dict[str, float]:
        return self.resources

    def remote(self, _: type) -> "FakeRay":
        return self

    def options(self, **options: object) -> Any:
        self.options_given.append(options)
        return Answer("actor")

    def wait(self, asked: list[Answer], **_: object) -> tuple[list[Answer], list[Answer]]:
        return (asked, []) if self.there else ([], asked)

    def get(self, answer: Answer) -> object:
        if isinstance(answer.value, Exception):
            raise answer.value
        return answer.value

    def kill(self, actor: object, **_: object) -> None:
        self.killed.append(actor)
