"""Limits of a tag's key and value. The module imports nothing, for programs that check no tags."""

from typing import Final

TAG_KEY: Final = "[a-z][a-z0-9_-]{0,31}"
"""Pattern of a tag's key."""
MAX_TAG_BYTES: Final = 64
"""Largest number of bytes of a tag's value."""
