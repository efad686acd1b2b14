"""Checks of ports before programs start to listen on them."""

import errno
import socket
import sys

import typer


def free_port(host: str) -> int:
    """A port that is free now. Raises `BadParameter` if this machine cannot listen on the address."""
    with _socket(host) as probe:
        try:
            probe.bind((host, 0))
        except OSError as error:
            msg = f"the service cannot listen on {host} ({error.strerror})"
            raise typer.BadParameter(msg) from error
        return int(probe.getsockname()[1])


def refuse_busy(host: str, port: int, name: str) -> None:
    """Raise `BadParameter` if a port cannot be bound.

    Args:
        host: Address to listen on.
        port: The port; 0 means any free port and is always accepted.
        name: Setting or option that chooses another port, for the error.
    """
    if port == 0:
        return
    with _socket(host) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            msg = f"{host}:{port} cannot be used ({error.strerror}); choose another port with {name}, or 0 for a free one"
            raise typer.BadParameter(msg) from error


class HeldPorts:
    """Ports that an installation chose, reserved among the installations of this machine until they are closed or the process ends.

    Programs listen on their ports some seconds after the ports were chosen. Until then, another installation that starts would find them
    free. A reservation is an abstract socket of Linux, so it leaves no file behind. On other systems nothing is reserved.
    """

    def __init__(self) -> None:
        self._held: list[socket.socket] = []

    def take(self, host: str, port: int, name: str) -> int:
        """Reserve a port, or a free one for 0, and return it. Raises as `refuse_busy` and `free_port`."""
        if port == 0:
            while not self._hold(host, port := free_port(host)):
                pass  # another installation chose it, and its program does not listen yet
            return port
        refuse_busy(host, port, name)
        if not self._hold(host, port):
            taken = "another installation, or another port of this one, has it"
            msg = f"{host}:{port} cannot be used ({taken}); choose another port with {name}, or 0 for a free one"
            raise typer.BadParameter(msg)
        return port

    def close(self) -> None:
        """End the reservations."""
        for held in self._held:
            held.close()
        self._held = []

    def _hold(self, host: str, port: int) -> bool:
        """Whether no other installation has reserved the port."""
        held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._held.append(held)
        if sys.platform != "linux":
            return True
        try:
            held.bind(f"\0equirank {host}:{port}")
        except OSError as error:
            return error.errno != errno.EADDRINUSE
        return True


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
