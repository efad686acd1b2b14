"""Errors of the client hold no secrets."""

import httpx
import pytest

from equirank_client import Client, ConnectionFailedError


def test_an_undecodable_answer_does_not_show_the_password_of_the_address() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=b"x"))
    with Client("http://user:hidden@api", transport=transport) as client, pytest.raises(ConnectionFailedError) as caught:
        client.list_pools()
    assert "hidden" not in str(caught.value)
