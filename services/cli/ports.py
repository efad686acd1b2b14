"""Checks of ports before programs start to listen on them."""

import socket

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


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
