"""A client of Equirank's API, synchronous (`Client`) and asynchronous (`AsyncClient`). It needs httpx and msgspec alone.

`client.py` and `structs.py` are written from the OpenAPI document by `make docs`. By hand are `connection.py` (requests), `calls.py` (what
may be sent again, and when), `events.py` (server-sent events and lines) and `errors.py`.
"""

from equirank_client import structs
from equirank_client.client import AsyncClient, Client
from equirank_client.errors import ApiError, ConnectionFailedError, EquirankError
from equirank_client.events import Event

__all__ = ["ApiError", "AsyncClient", "Client", "ConnectionFailedError", "EquirankError", "Event", "structs"]
