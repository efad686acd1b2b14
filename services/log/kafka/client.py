"""Creation of kafka-python's clients: options are checked, errors become `LogError`, and each process has its own clients."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.errors import (
    BrokerNotAvailableError,
    InvalidProducerEpochError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumberError,
    RecordListTooLargeError,
    UnknownProducerIdError,
)

import services.log.kafka.batches  # noqa: F401 - replaces how kafka-python reads batches
from services.log.kafka.receiving import receive_in_larger_pieces
from services.log.kafka.refusals import REFUSALS, collect_failures
from services.log.protocol import LogError, RecordTooLarge
from services.log.records import MAX_RECORD_BYTES

OPTIONS = frozenset(
    (
        "client_dns_lookup",
        "client_id",
        "connections_max_idle_ms",
        "proxy_url",
        "receive_buffer_bytes",
        "reconnect_backoff_max_ms",
        "reconnect_backoff_ms",
        "retry_backoff_ms",
        "sasl_kerberos_domain_name",
        "sasl_kerberos_name",
        "sasl_kerberos_service_name",
        "sasl_mechanism",
        "sasl_oauth_token_provider",
        "sasl_plain_password",
        "sasl_plain_username",
        "security_protocol",
        "send_buffer_bytes",
        "socket_options",
        "ssl_cafile",
        "ssl_certfile",
        "ssl_check_hostname",
        "ssl_context",
        "ssl_crlfile",
        "ssl_keyfile",
        "ssl_password",
    )
)
"""Options of kafka-python that a user may set: those of the connection. This module sets the others, because the laws of a log depend on
them."""

FILES = ("ssl_cafile", "ssl_certfile", "ssl_crlfile", "ssl_keyfile")
DEFAULTS = {"reconnect_backoff_max_ms": 2000}
"""Values instead of kafka-python's own defaults. With its default, a client reconnects up to half a minute after the broker is back."""

receive_in_larger_pieces()  # for all clients of this process

METADATA_SECONDS = 5
"""Maximal age of a client's metadata in seconds, and so the time until a client notices that its topic was recreated. kafka-python fetches
and sends by the name of the topic, not by its id."""

RECORD_OVERHEAD = 32_768
TOPIC_MAX_BYTES = MAX_RECORD_BYTES + RECORD_OVERHEAD
BATCH_BYTES = 262_144
FETCH_PARTITION_BYTES = 4 * 1024 * 1024 + MAX_RECORD_BYTES
"""Most bytes of a partition in a fetch: as many as a shard folds in one call, because a partition has one fetch at a time."""
FETCH_BYTES = 32 * 1024 * 1024

# After these errors the producer recovers with a new epoch. Some records of the failed append were not written.
_PRODUCER_STATE = (OutOfOrderSequenceNumberError, UnknownProducerIdError, InvalidProducerEpochError)
_RETRIABLE = (BrokerNotAvailableError, *_PRODUCER_STATE)

Client = TypeVar("Client")


def check_options(options: Mapping[str, object]) -> dict[str, object]:
    """The options with `DEFAULTS`. Raises `LogError` for unknown options and unreadable files."""
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise LogError(f"unknown Kafka options {', '.join(unknown)}; there are {', '.join(sorted(OPTIONS))}", retriable=False)
    for name in FILES:
        # kafka-python treats a missing file like an unreachable broker and retries.
        if options.get(name) is not None:
            _check_file(name, str(options[name]))
    return DEFAULTS | dict(options)


def _check_file(name: str, path: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise LogError(f"the Kafka options were refused: {name}: {error}", retriable=False) from error


@contextmanager
def kafka_errors(doing: str) -> Iterator[None]:
    """Convert kafka-python's errors to `LogError`. doing: the operation, for the message."""
    try:
        yield
    except (MessageSizeTooLargeError, RecordListTooLargeError) as error:
        raise RecordTooLarge(f"{doing}: {type(error).__name__}: {error}; raise the topic's max.message.bytes") from error
    except KafkaError as error:
        retriable = bool(error.retriable) or isinstance(error, _RETRIABLE)
        raise LogError(f"{doing}: {type(error).__name__}: {error}", retriable=retriable) from error


class Connection:
    """Address and options of a cluster. It makes clients.

    Args:
        bootstrap: `host:port` of one or more brokers.
        options: Options of kafka-python's clients, from `OPTIONS` (TLS, SASL, ...).
        timeout: Maximal seconds of a call.

    Raises:
        LogError: Not retriable, for an invalid option.

    """

    def __init__(self, bootstrap: str | list[str], options: Mapping[str, object] | None = None, timeout: float = 30.0) -> None:
        if not bootstrap:
            raise LogError("no address of a Kafka broker was given", retriable=False)
        if timeout < 1:
            raise LogError(f"timeout must be at least 1 second, not {timeout}", retriable=False)
        self.timeout = timeout
        self._bootstrap = bootstrap
        self._options = check_options(options or {})

    @property
    def timeout_ms(self) -> int:
        """The timeout in milliseconds, for kafka-python."""
        return int(self.timeout * 1000)

    def admin(self) -> KafkaAdminClient:
        """Make a client that describes and creates topics. The caller has to close it."""
        return self._make(KafkaAdminClient, {})

    def producer(self, transactional_id: str | None = None) -> KafkaProducer:
        """Make an idempotent producer. A record is acknowledged when all in-sync replicas have it.

        transactional_id: Makes a transactional producer. The broker fences earlier producers with this id.
        """
        settings = {
            "acks": "all",
            "enable_idempotence": True,
            "allow_auto_create_topics": False,
            "batch_size": BATCH_BYTES,
            "max_request_size": 4 * TOPIC_MAX_BYTES,
            "max_block_ms": self.timeout_ms,
            "delivery_timeout_ms": self.timeout_ms,
            "transactional_id": transactional_id,
            "metadata_max_age_ms": METADATA_SECONDS * 1000,
        }
        return self._make(KafkaProducer, settings)

    def consumer(self, group: str | None) -> KafkaConsumer:
        """Make a consumer for manual assignment. It never moves to another offset automatically. group: used only to commit offsets."""
        settings = {
            "group_id": group,
            "enable_auto_commit": False,
            "auto_offset_reset": "none",
            "isolation_level": "read_committed",
            "allow_auto_create_topics": False,
            "metadata_max_age_ms": METADATA_SECONDS * 1000,
            "max_partition_fetch_bytes": FETCH_PARTITION_BYTES,
            "fetch_max_bytes": FETCH_BYTES,
        }
        return self._make(KafkaConsumer, settings)

    def _make(self, client: Callable[..., Client], settings: Mapping[str, object]) -> Client:
        # A third of the call's time for a request leaves time for retries. A fetch waits up to half a second at the broker.
        request_ms = max(600, self.timeout_ms // 3)
        with kafka_errors(f"no connection to Kafka at {self._bootstrap}"), collect_failures() as collector:
            try:
                return client(
                    bootstrap_servers=self._bootstrap,
                    bootstrap_timeout_ms=self.timeout_ms,
                    request_timeout_ms=request_ms,
                    **self._options,
                    **settings,
                )
            except (OSError, ValueError, TypeError, AssertionError) as error:
                raise LogError(f"the Kafka options were refused: {error}", retriable=False) from error
            except KafkaTimeoutError as error:
                why = f"; the last try: {collector.failure}" if collector.failure is not None else ""
                raise LogError(f"no connection to Kafka at {self._bootstrap} within {self.timeout:g} s{why}", retriable=True) from error
            except REFUSALS as error:
                who = f"user {self._options.get('sasl_plain_username')} by {self._options.get('sasl_mechanism')}"
                raise LogError(f"Kafka at {self._bootstrap} refuses {who}: {error}", retriable=False) from error


class Shared(Generic[Client]):
    """A client that the threads of a process share. It is made on first use, and a process after a fork makes a new one.

    The lock is held only while the client is made or taken out, so that no thread waits for the question of another thread.
    """

    def __init__(self, make: Callable[[], Client]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._client: Client | None = None
        self._closed = False
        self._inherited: list[object] = []

    def get(self) -> Client:
        """The client. Raises `LogError` after `take`."""
        self._after_fork()
        with self._lock:
            if self._closed:
                raise LogError("this log is closed", retriable=False)
            if self._client is None:
                self._client = self._make()
            return self._client

    def take(self) -> Client | None:
        """The client, which the caller has to close; None if none was made. None is made any more."""
        self._after_fork()
        with self._lock:
            self._closed = True
            client, self._client = self._client, None
            return client

    def _after_fork(self) -> None:
        # The parent's client depends on threads that a fork does not copy. Closing it here would close the parent's sockets.
        if self._process != os.getpid():
            self._inherited += [self._client, self._lock]
            self._lock, self._client = threading.Lock(), None
            self._process = os.getpid()


class Clients:
    """The clients of a log, which all its topics and threads share. group: consumer group, to commit offsets.

    Attributes:
        producer: For appends.
        consumer: For questions about outcomes and dead letters, and for commits. kafka-python documents a consumer as one for a single
            thread, because a poll changes its state. Nothing polls this one. Its questions are coroutines on the thread of the client,
            which runs them side by side, and commits have a connection of their own.
        control: For questions about the control topic, which the fold waits for. A connection has few requests in flight, and the
            questions for all partitions of the outcomes would take their turns before it.
    """

    def __init__(self, connection: Connection, group: str | None) -> None:
        self.connection = connection
        self.producer = Shared(connection.producer)
        self.consumer = Shared(lambda: connection.consumer(group))
        self.control = Shared(lambda: connection.consumer(None))

    def close(self) -> None:
        """Close the clients of this process. Appends under way are waited for, up to the timeout of a call; questions fail at once."""
        for shared in (self.consumer, self.control):
            if (consumer := shared.take()) is not None:
                consumer.close(autocommit=False, timeout_ms=self.connection.timeout_ms)
        if (producer := self.producer.take()) is not None:
            producer.close(timeout=self.connection.timeout)
