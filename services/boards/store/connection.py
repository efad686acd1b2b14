"""A connection pool to Redis. It converts failures of Redis to `StoreError` and decides which of them another try can solve."""

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
"""After a server did not answer within `patience`, it is not used for this many times `patience`."""
_PASSING = (redis.exceptions.OutOfMemoryError, redis.ReadOnlyError, redis.exceptions.ClusterDownError, redis.exceptions.TryAgainError)
_PASSING_WORDS = ("OOM", "READONLY", "MISCONF", "BUSY", "MASTERDOWN", "NOREPLICAS")
"""Words that identify these errors in the text of a script's error."""

Command: TypeAlias = Callable[[Any], object]
"""Sends one command, or queues it on a pipeline: `methodcaller` of the name of redis-py's method and its arguments."""

Call: TypeAlias = tuple[Script, Sequence[str], Sequence[str | int | bytes]]
"""A script with its keys and its arguments."""


class Connection:
    """Commands and scripts on one Redis, shared by the threads of a process. Raises only `StoreError`.

    Guarantee: a command that returned was executed. A command that raised may have been executed. Nothing is retried after the server
    refused it. The connection does not send PING by itself, because a server that cannot save refuses PING but still serves readers.

    Args:
        url: redis://, rediss:// or unix://.
        patience: Time limit of a command in seconds, for callers with a waiting client. Nothing is then tried twice. After a timeout,
            every command fails at once for 3 times as long. None for other callers: 5 s and two retries.
    """

    def __init__(self, url: str, *, patience: float | None = None) -> None:
        seconds, retries = (_TIMEOUT_SECONDS, _RETRIES) if patience is None else (patience, 0)
        self._patience, self._silent_until = patience, float("-inf")
        self.garbage = 0
        """Number of values that could not be decoded or had a wrong type, and were skipped."""
        retry = Retry(ExponentialWithJitterBackoff(cap=0.2, base=0.02), retries)
        try:
            self.client: Any = redis.Redis.from_url(
                url,
                decode_responses=True,
                encoding_errors="replace",  # invalid bytes become text that is not JSON, which is then skipped
                socket_timeout=seconds,
                socket_connect_timeout=seconds,
                retry=retry,
            )
        except ValueError as error:
            raise StoreError(f"not a Redis URL ({error}): set EQUIRANK_REDIS to redis://, rediss:// or unix://", retriable=False) from error

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def run(self, command: Callable[[Any], T]) -> T:
        """Send a command and return its answer."""
        with self._asking():
            return command(self.client)

    def decoded(self, decode: Callable[[str], T], text: str | None) -> T | None:
        """The decoded value of a text; None if the text is missing or cannot be decoded. Its writer writes the value again."""
        try:
            return None if text is None else decode(text)
        except (msgspec.DecodeError, ValueError):
            self.garbage += 1
            return None

    def pipeline(self, commands: Iterable[Command], *, skip_garbage: bool = False) -> list[Any]:
        """Send several commands in one round trip, but not as a transaction. Raises the first error among their answers.

        skip_garbage: Return None for a key of a wrong type instead, so that one pool's bad key does not affect other pools.
        """
        with self._asking(), self.client.pipeline(transaction=False) as pipe:
            for command in commands:
                command(pipe)
            answers: list[Any] = pipe.execute(raise_on_error=False)
            if skip_garbage:
                foreign = [isinstance(answer, redis.ResponseError) and "WRONGTYPE" in str(answer) for answer in answers]
                self.garbage += sum(foreign)
                answers = [None if skipped else answer for answer, skipped in zip(answers, foreign, strict=True)]
            if failure := next((answer for answer in answers if isinstance(answer, redis.RedisError)), None):
                raise failure
            return answers

    def call(self, script: Script, keys: Sequence[str], arguments: Sequence[str | int | bytes]) -> Any:
        """Run a script and return its answer."""
        return self.calls([(script, keys, arguments)])[0]

    def calls(self, calls: Sequence[Call]) -> list[Any]:
        """Run several scripts in one round trip and return their answers.

        If the server lacks a script, for example after a restart, all scripts are loaded and all calls run again. This is safe because
        all scripts write absolute values.
        """
        commands = [methodcaller("evalsha", script.sha, len(keys), *keys, *arguments) for script, keys, arguments in calls]
        try:
            return self.pipeline(commands)
        except _ForgottenError:
            self.pipeline(methodcaller("script_load", text) for text in scripts.ALL.values())
            return self.pipeline(commands)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """A block that uses Redis. Errors of Redis become `StoreError`, and a timeout of `patience` starts a pause."""
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
    """The server does not have the scripts, for example after a restart."""


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
