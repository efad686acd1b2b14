"""First steps of every long-running program: read the settings, configure logging, and warn of unknown EQUIRANK_* variables."""

import logging
import os
from typing import Any

from services.runtime.logging import configure
from services.runtime.settings import Settings, check_key_settings, no_settings


def begin(**given: Any) -> Settings:
    """Read the settings and configure logging.

    Args:
        given: Settings that take precedence over the environment.

    Raises:
        ValidationError: A setting is invalid.
        InputError: A setting is invalid, or a misspelled name seems to hold keys.
    """
    check_key_settings(os.environ)
    settings = Settings(**given)
    configure(settings.log_level)
    for name in no_settings(os.environ):
        logging.getLogger("equirank").warning("%s is not a setting and is ignored; docs/reference/settings.md lists all settings", name)
    return settings
