"""Reports why a broker refused a client. Without this module, kafka-python retries, ends with a timeout, and only logs the reason.

The module works around two defects of kafka-python 3.0. `receiving.py` works around a third one: it loses a refusal that a broker sends
just before it closes the connection.

1. A refusal does not end the search for a broker.
2. The socket of a failed TLS handshake stays open.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kafka.errors import (
    AuthorizationError,
    IllegalSaslStateError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport

REFUSALS: Final = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError, IllegalSaslStateError, AuthorizationError)
"""Errors for which a retry is useless."""


def _end_a_search_by_a_refusal() -> None:
    """Patch the connection manager so that a refusal ends the search for a broker.

    The refusal is raised when the manager tries the same address again. Before that, it may try other addresses. The next search tries all
    addresses.
    """
    connect = KafkaConnectionManager.get_connection

    def connection(self: KafkaConnectionManager, node_id: Any, **how: Any) -> KafkaConnection:
        refused: dict[Any, Exception] = vars(self).setdefault("refused_by_address", {})
        if node_id in refused:
            raise refused.pop(node_id)
        opened = connect(self, node_id, **how)
        if self.cluster.is_bootstrap(node_id):
            opened.init_future.add_errback(lambda error: refused.update({node_id: error} if isinstance(error, REFUSALS) else {}))
        return opened

    KafkaConnectionManager.get_connection = connection


def _close_after_a_failed_handshake() -> None:
    """Patch the TLS transport so that it closes its socket after a failed handshake."""
    handshake = KafkaSSLTransport.handshake

    async def closing(self: KafkaSSLTransport) -> None:
        try:
            await handshake(self)
        except Exception:
            self._sock.close()
            raise

    KafkaSSLTransport.handshake = closing


class _FailureCollector(logging.Handler):
    """Log handler that keeps the last logged exception."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.failure: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        for argument in record.args if isinstance(record.args, tuple) else ():
            if isinstance(argument, Exception) and not isinstance(argument, KafkaTimeoutError):  # the timeout is not the reason
                self.failure = argument


@contextmanager
def collect_failures() -> Iterator[_FailureCollector]:
    """Collect the exceptions that kafka-python logs inside of the `with` block."""
    handler, logger = _FailureCollector(), logging.getLogger(KafkaConnectionManager.__module__)
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


_end_a_search_by_a_refusal()
_close_after_a_failed_handshake()
