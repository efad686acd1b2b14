"""What every program that stays does first: settings, logs, and a word about variables that are meant for it and are no settings."""

import logging
import os
import socket
from typing import Any

import typer

from services.runtime.logging import configure
from services.runtime.settings import Settings, no_settings


def begin(**given: Any) -> Settings:
    """The settings, given ones first, with logs configured by them. Raises `ValidationError`, `InputError`."""
    settings = Settings(**given)
    configure(settings.log_level)
    for name in no_settings(os.environ):
        logging.getLogger("equirank").warning("%s is no setting, and is not read: docs/reference/settings.md has their names", name)
    return settings


def free_port(host: str) -> int:
    """A port that nobody listens on now."""
    with _socket(host) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def refuse_busy(host: str, port: int, name: str) -> None:
    """Raises `BadParameter` where the port cannot be bound. name: what names another port; port: 0 is any, and fine."""
    if port == 0:
        return
    with _socket(host) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            msg = f"{host}:{port} cannot be used ({error.strerror}); name another by {name}, 0 picks a free one"
            raise typer.BadParameter(msg) from error


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
