"""Why a broker let a client not in. kafka-python goes on trying, and reports a timeout in the end; the reason is in its log alone.

Three departures of kafka-python 3.0 are fixed here, until a release does: what a broker says just before it closes a connection is
thrown away with the connection, and that is how every broker refuses a password; a refusal does not end the search for a broker; and
the socket of a failed TLS handshake stays open.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from kafka.errors import (
    AuthorizationError,
    IllegalSaslStateError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

REFUSALS: Final = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError, IllegalSaslStateError, AuthorizationError)
"""Errors that waiting does not fix."""
_refused: WeakKeyDictionary[KafkaConnectionManager, dict[str, Exception]] = WeakKeyDictionary()
"""Of each client the addresses that refused it, and were not asked again yet."""


def _hear_last_words(transport: type[KafkaTCPTransport]) -> None:
    """Let a kind of transport hand out what came, without the end that came with it: reading on meets that again."""
    receive = transport._sock_recv  # noqa: SLF001

    def received(self: KafkaTCPTransport) -> tuple[bytes, Exception | None]:
        data, error = receive(self)
        return data, None if data else error

    transport._sock_recv = received  # noqa: SLF001


def _end_a_search_by_a_refusal() -> None:
    """Let the search for a broker end with a refusal, once the turn comes to ask again who gave it: where there are several addresses,
    others may be asked in between. The next search asks all again.
    """
    connect = KafkaConnectionManager.get_connection

    def connection(self: KafkaConnectionManager, node_id: Any, **how: Any) -> KafkaConnection:
        if not self.cluster.is_bootstrap(node_id):
            return connect(self, node_id, **how)
        noted = _refused.setdefault(self, {})
        if (refusal := noted.pop(node_id, None)) is not None:
            raise refusal
        found = connect(self, node_id, **how)
        found.init_future.add_errback(lambda error: noted.update({node_id: error} if isinstance(error, REFUSALS) else {}))
        return found

    KafkaConnectionManager.get_connection = connection


def _close_after_a_failed_handshake() -> None:
    """Let a TLS transport close its socket where the handshake fails: nobody else has it."""
    handshake = KafkaSSLTransport.handshake

    async def closing(self: KafkaSSLTransport) -> None:
        try:
            await handshake(self)
        except Exception:
            self._sock.close()
            raise

    KafkaSSLTransport.handshake = closing


class _Heard(logging.Handler):
    """Keeps the last failure that passes by."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.failure: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        for one in record.args if isinstance(record.args, tuple) else ():
            if isinstance(one, Exception) and not isinstance(one, KafkaTimeoutError):  # that is the end of all tries
                self.failure = one


@contextmanager
def heard() -> Iterator[_Heard]:
    """What fails inside, as kafka-python logs it."""
    handler, logger = _Heard(), logging.getLogger(KafkaConnectionManager.__module__)
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


for _transport in (KafkaTCPTransport, KafkaSSLTransport):
    _hear_last_words(_transport)
_end_a_search_by_a_refusal()
_close_after_a_failed_handshake()
