"""What replaces kafka-python's way to receive bytes, on a pair of sockets."""

import socket
from collections.abc import Iterator

import pytest
from kafka.errors import KafkaConnectionError
from kafka.net.transport import KafkaTCPTransport
from kafka.protocol.frame import KafkaBytes

import services.log.kafka.client  # noqa: F401 - replaces the methods
from services.log.kafka import receiving


@pytest.fixture
def ends() -> Iterator[tuple[KafkaTCPTransport, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    transport = object.__new__(KafkaTCPTransport)
    transport._sock = ours
    yield transport, theirs
    ours.close()
    theirs.close()


def test_all_that_arrived_is_returned_in_order(ends: tuple[KafkaTCPTransport, socket.socket]) -> None:
    transport, theirs = ends
    assert transport._sock_recv() == (b"", None)
    sent = bytes(range(256)) * (receiving._PIECE_BYTES // 128)
    theirs.setblocking(False)
    taken = theirs.send(sent)
    assert taken > receiving._PIECE_BYTES
    assert transport._sock_recv() == (sent[:taken], None)


def test_the_last_words_of_a_broker_come_before_the_end(ends: tuple[KafkaTCPTransport, socket.socket]) -> None:
    transport, theirs = ends
    theirs.sendall(b"no such user")
    theirs.close()
    assert transport._sock_recv() == (b"no such user", None)
    data, error = transport._sock_recv()
    assert data == b""
    assert isinstance(error, KafkaConnectionError)


def test_a_transport_without_a_socket_reports_an_error(ends: tuple[KafkaTCPTransport, socket.socket]) -> None:
    transport, _ = ends
    transport._sock.close()
    assert isinstance(transport._sock_recv()[1], KafkaConnectionError)
    transport._sock = None
    assert isinstance(transport._sock_recv()[1], KafkaConnectionError)


def test_a_response_is_read_piece_by_piece() -> None:
    response = KafkaBytes(5)
    response.write(b"abcde")
    response.seek(1)
    assert [response.read(2), response.read(0), response.read(None), response.read(3)] == [b"bc", b"", b"de", b""]
    assert response.tell() == 5
    response.seek(3)
    assert response.read(9) == b"de"
    assert isinstance(response.read(), bytes)
