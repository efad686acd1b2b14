"""Requests to servers on this machine."""

import ssl
from typing import Final

PLAIN: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of plain HTTP. Without it each client reads all certificates of the machine first, which takes longer than many tests."""
