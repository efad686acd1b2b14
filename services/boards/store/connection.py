"""One connection pool to Redis, and its failures as `StoreError`: the one place that decides what is worth another try."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
import redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.retry import Retry

from services.boards.store import scripts
from services.boards.store.protocol import StoreError
from services.boards.store.scripts import Script

T = TypeVar("T")

_TIMEOUT_SECONDS: Final = 5.0
_RETRIES: Final = 2
_SILENCES: Final = 3.0
"""A server that did not answer within a caller's patience is left alone for so many times that long."""
_PASSING = (redis.exceptions.OutOfMemoryError, redis.ReadOnlyError, redis.exceptions.ClusterDownError, redis.exceptions.TryAgainError)
_PASSING_WORDS = ("OOM", "READONLY", "MISCONF", "BUSY", "MASTERDOWN", "NOREPLICAS")
"""As scripts wrap them in an error of their own."""

Command: TypeAlias = Callable[[Any], object]
"""Sends one command, or queues it on a pipeline: `methodcaller` of the name of redis-py's method and its arguments."""

Call: TypeAlias = tuple[Script, Sequence[str], Sequence[str | int | bytes]]
"""A script, its keys and its arguments."""


class Connection:
    """Commands and scripts on one Redis, shared by the threads of a process. Raises `StoreError` only.

    Guarantee: a command that returned was executed; one that raised may have been. Nothing is retried after a server's refusal.
    No PING is ever sent: a server that cannot save refuses it, and still answers readers.

    Args:
        url: redis://, rediss:// or unix://.
        patience: Seconds that one command may take, for callers that somebody waits for: nothing is tried twice, and a server that did
            not answer in time is left alone for some seconds, in which every command fails at once. None for those that have time.
    """

    def __init__(self, url: str, *, patience: float | None = None) -> None:
        seconds, retries = (_TIMEOUT_SECONDS, _RETRIES) if patience is None else (patience, 0)
        self._patience, self._silent_until = patience, float("-inf")
        self.garbage = 0
        """Values that were not what their key holds, and were skipped."""
        retry = Retry(ExponentialWithJitterBackoff(cap=0.2, base=0.02), retries)
        try:
            self.client: Any = redis.Redis.from_url(
                url,
                decode_responses=True,
                encoding_errors="replace",  # bytes that are no text become text that is no JSON, and are skipped as that
                socket_timeout=seconds,
                socket_connect_timeout=seconds,
                retry=retry,
            )
        except ValueError as error:
            raise StoreError(f"not a Redis URL ({error}): set EQUIRANK_REDIS to redis://, rediss:// or unix://", retriable=False) from error

    def close(self) -> None:
        """Give the pool's connections back."""
        self.client.close()

    def run(self, command: Callable[[Any], T]) -> T:
        """The answer to one command."""
        with self._asking():
            return command(self.client)

    def decoded(self, decode: Callable[[str], T], text: str | None) -> T | None:
        """The value that `text` holds; None if it is missing or garbage; its owner writes it again."""
        try:
            return None if text is None else decode(text)
        except (msgspec.DecodeError, ValueError):
            self.garbage += 1
            return None

    def pipeline(self, commands: Iterable[Command], *, skip_garbage: bool = False) -> list[Any]:
        """Answers of several commands in one round trip; they are not one transaction. The first refusal is raised.

        skip_garbage: None for a key of a foreign type, so that one pool's key does not keep readers from the others.
        """
        with self._asking(), self.client.pipeline(transaction=False) as pipe:
            for command in commands:
                command(pipe)
            answers = pipe.execute(raise_on_error=False)
            if skip_garbage:
                foreign = [isinstance(answer, redis.ResponseError) and "WRONGTYPE" in str(answer) for answer in answers]
                self.garbage += sum(foreign)
                answers = [None if skipped else answer for answer, skipped in zip(answers, foreign, strict=True)]
            return list(map(_answer, answers))

    def call(self, script: Script, keys: Sequence[str], arguments: Sequence[str | int | bytes]) -> Any:
        """One script's answer."""
        return self.calls([(script, keys, arguments)])[0]

    def calls(self, calls: Sequence[Call]) -> list[Any]:
        """Answers of several scripts in one round trip.

        Scripts that a restarted server forgot are loaded and all run again: harmless, as every one of ours writes absolute values.
        """
        commands = [methodcaller("evalsha", script.sha, len(keys), *keys, *arguments) for script, keys, arguments in calls]
        try:
            return self.pipeline(commands)
        except _ForgottenError:
            self.pipeline(methodcaller("script_load", text) for text in scripts.ALL.values())
            return self.pipeline(commands)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Redis's errors as `StoreError`. A server that did not answer within a caller's patience is left alone for a while."""
        began = time.monotonic()
        if began < self._silent_until:
            raise StoreError("Redis did not answer in time and is asked again in some seconds", retriable=True)
        try:
            yield
        except redis.RedisError as error:
            if self._patience is not None and time.monotonic() - began >= self._patience:
                self._silent_until = time.monotonic() + _SILENCES * self._patience
            raise _store_error(error) from error


class _ForgottenError(StoreError):
    """The server knows none of our scripts."""


def _answer(answer: object) -> object:
    if isinstance(answer, redis.RedisError):
        raise answer
    return answer


def _store_error(error: redis.RedisError) -> StoreError:
    text = str(error)
    match error:
        case redis.exceptions.NoScriptError():
            return _ForgottenError(f"Redis forgets scripts as they are loaded: {text}", retriable=True)
        case redis.AuthenticationError() | redis.exceptions.AuthorizationError() | redis.exceptions.NoPermissionError():
            return StoreError(f"Redis refuses these credentials ({text}): see EQUIRANK_REDIS", retriable=False)
        case redis.ConnectionError() | redis.TimeoutError():
            return StoreError(f"Redis does not answer: {text}", retriable=True)
    if isinstance(error, _PASSING) or any(word in text for word in _PASSING_WORDS):
        return StoreError(f"Redis refuses for now: {type(error).__name__} {text}", retriable=True)
    if "WRONGTYPE" in text:
        return StoreError(f"a key under equirank: has a foreign type; remove what else writes there: {text}", retriable=False)
    return StoreError(f"Redis refused: {text}", retriable=False)
