"""When a build that failed is begun again."""

from typing import Final, NamedTuple

from services.shard.generations.build import Build

_AGAIN_SECONDS: Final = (60.0, 300.0, 1800.0, 3600.0)
"""From the first, second, ... failure of a generation to the next try; the last one for all that follow."""


class _Failure(NamedTuple):
    """A build that failed, the how many-th of its generation, and when the next one is begun."""

    build: Build
    times: int
    again_at: float


class Retries:
    """Failures may pass, as those for want of memory, or of a log that was restored. Builds are tried again, ever more seldom."""

    def __init__(self) -> None:
        self._failures: dict[tuple[str, int], _Failure] = {}

    def step(self, builds: dict[tuple[str, int], Build], now: float) -> None:
        """Note builds that failed, and drop those whose next try is due. now: seconds that never go back."""
        for key, build in [(key, build) for key, build in builds.items() if build.failed is not None]:
            noted = self._failures.get(key)
            if noted is None or noted.build is not build:
                times = 0 if noted is None else noted.times
                wait = _AGAIN_SECONDS[min(times, len(_AGAIN_SECONDS) - 1)]
                self._failures[key] = _Failure(build, times + 1, now + wait)
            elif now >= noted.again_at:
                del builds[key]

    def succeeded(self, build: Build) -> None:
        """Forget the failures of a generation that serves now."""
        self._failures.pop(build.key, None)
