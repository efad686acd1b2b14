"""Loopback ports for servers whose port is chosen before they start. Standard library only."""

import itertools
import random
import socket
from pathlib import Path
from typing import Final

_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST: Final = 15_000


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that are free now, in random order.

    They are below the range from which the kernel assigns ports to outgoing connections. The kernel could assign a port of that range to a
    connection before the server listens on it.

    Args:
        count: Number of ports.

    Raises:
        OSError: Fewer ports are free.
    """
    candidates = _candidates()
    random.SystemRandom().shuffle(candidates)
    ports = list(itertools.islice(filter(_is_free, candidates), count))
    if len(ports) < count:
        raise OSError(f"{len(ports)} ports of 127.0.0.1 are free among {len(candidates)}, and {count} are needed")
    return ports


def _candidates() -> list[int]:
    """Ports below the kernel's range if these are at least a thousand, else all ports."""
    first = int(_EPHEMERAL.read_text(encoding="utf-8").split()[0]) if _EPHEMERAL.exists() else 32_768
    return list(range(_LOWEST, first if first > _LOWEST + 1_000 else 65_536))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
