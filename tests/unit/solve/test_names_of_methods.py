"""The table of names, which loads no method, is that of the methods themselves."""

from importlib import import_module

from ratings_core.methods.names import MODULES, ONLINE
from ratings_core.methods.registry import METHODS
from ratings_core.online import RATERS


def test_the_table_names_the_module_of_each_method() -> None:
    registered = {
        method.name: module
        for module in dict.fromkeys(MODULES.values())
        for method in import_module(f"ratings_core.methods.{module}").REGISTERED
    }
    assert registered == dict(MODULES)
    assert tuple(RATERS) == ONLINE
    assert [method.name for method in METHODS.values()] == list(MODULES)
