"""The installation that a command is about."""

from pathlib import Path

from services.runtime.settings import Settings


def settings_of(data: Path | None) -> Settings:
    """The settings of the environment. data: the data folder, in place of the environment's; None for the environment's."""
    return Settings(data=data) if data else Settings()
