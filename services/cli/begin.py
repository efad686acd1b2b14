"""What every program that stays does first: settings, logs, and a word about variables that are meant for it and are no settings."""

import logging
import os
from typing import Any

from services.runtime.logging import configure
from services.runtime.settings import Settings, no_settings


def begin(**given: Any) -> Settings:
    """The settings, given ones first, with logs configured by them. Raises `ValidationError`, `InputError`."""
    settings = Settings(**given)
    configure(settings.log_level)
    for name in no_settings(os.environ):
        logging.getLogger("equirank").warning("%s is no setting, and is not read: docs/reference/settings.md has their names", name)
    return settings
