"""Texts of types and their attributes, from docstrings. Schemas and the API's documentation show them."""

import re
from inspect import cleandoc
from typing import Final

_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
"""An attribute in a docstring: its name, and its text of one or more lines."""


def docstring_texts(kind: type) -> tuple[str, dict[str, str]]:
    """Return the text of a type's docstring, and the texts of its attributes by name."""
    text, _, attributes = cleandoc(kind.__doc__ or "").partition("\n\nAttributes:\n")
    entries = _ATTRIBUTE.findall(attributes.partition("\n\n")[0])  # other sections may follow
    return text, {name: " ".join(meaning.split()) for name, meaning in entries}
