"""Why a broker let a client not in. kafka-python goes on trying, and tells of a timeout in the end; the reason is in its log alone.

Two departures of kafka-python 3.0 are mended here, until a release does: what a broker says just before it closes a connection is
thrown away with the connection, and that is how every broker refuses a password; and a refusal does not end the search for a broker.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka.errors import (
    AuthorizationError,
    IllegalSaslStateError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

REFUSALS: Final = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError, IllegalSaslStateError, AuthorizationError)
"""What waiting does not mend."""
_MANAGER: Final = "kafka.net.manager"


def _hear_last_words(transport: type[KafkaTCPTransport]) -> None:
    """Let a kind of transport hand out what came, without the end that came with it: reading on meets that again."""
    receive = transport._sock_recv  # noqa: SLF001

    def received(self: KafkaTCPTransport) -> tuple[bytes, Exception | None]:
        data, error = receive(self)
        return data, None if data else error

    transport._sock_recv = received  # noqa: SLF001


class _Heard(logging.Handler):
    """Keeps the last failure that passes by, and the last refusal among them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.failure: Exception | None = None
        self.refusal: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        for one in record.args if isinstance(record.args, tuple) else ():
            if isinstance(one, Exception) and not isinstance(one, KafkaTimeoutError):  # that is the end of all tries
                self.failure = one
            if isinstance(one, REFUSALS):
                self.refusal = one


@contextmanager
def heard() -> Iterator[_Heard]:
    """What brokers refuse inside."""
    handler, logger = _Heard(), logging.getLogger(_MANAGER)
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


for _transport in (KafkaTCPTransport, KafkaSSLTransport):
    _hear_last_words(_transport)
