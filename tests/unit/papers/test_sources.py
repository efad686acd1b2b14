"""The digest of a result follows import statements. So no code that decides results loads a module in another way."""

import ast

import pytest

from benchmarks.papers.registry import PAPERS
from benchmarks.papers.sources import ROOT, sources_of

TEXTS = {"exec", "eval", "compile"}
"""Functions that run a text. Other packages have methods of these names, such as `re.compile`."""
LOADERS = {"importlib", "import_module", "__import__", "runpy", "pkgutil", "resolve_name", "spec_from_file_location", "module_from_spec"}
OURS = ("ratings_core", "benchmarks", "tests", "services")


def loads(source):
    """Lines of a module that load code by a text: all uses of a loader, apart from two.

    A call of `import_module` with a constant name may name a package of others, whose version each result has. The `__getattr__` of a
    module may load what the module also imports for type checkers, under the same names, because the digest follows these imports.
    """
    tree = ast.parse(source)
    allowed = {id(node) for call in ast.walk(tree) if isinstance(call, ast.Call) and _of_others(call) for node in ast.walk(call)}
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name == "__getattr__" and _names(tree) <= _for_types(tree):
            allowed |= {id(node) for node in ast.walk(function)}
    return sorted(node.lineno for node in ast.walk(tree) if id(node) not in allowed and _loader(node))


def _loader(node):
    match node:
        case ast.Name(id=name):
            return name in LOADERS | TEXTS
        case ast.Attribute(attr=name):
            return name in LOADERS
        case ast.alias(name=name, asname=str()):
            return name.split(".")[0] in LOADERS
        case _:
            return False


def _of_others(call):
    named = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    return (
        isinstance(call.func, ast.Name) and call.func.id == "import_module" and isinstance(named, str) and named.split(".")[0] not in OURS
    )


def _names(tree):
    """The names in `__all__`."""
    lists = [node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
    return {name for value in lists for name in ast.literal_eval(value)}


def _for_types(tree):
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {
        alias.asname or alias.name for block in blocks for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def test_no_source_of_a_result_loads_code_by_a_text():
    files = {file for paper in PAPERS for item in paper.items for file in sources_of(item.compute.__module__)}
    assert len(files) > 100
    assert {str(file.relative_to(ROOT)): lines for file in files if (lines := loads(file.read_text()))} == {}


LAZY = """
from importlib import import_module
if TYPE_CHECKING:
    from ratings_core.a import one
__all__ = {names}
def __getattr__(name):
    return getattr(import_module("ratings_core.a"), name)
"""


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import ratings_core.elo\nfrom re import compile as pattern\nimport re\nre.compile('a')", []),
        ("from importlib import import_module\ngame = import_module('pyspiel').load_game('go')", []),
        ("from importlib import import_module\nimport_module('ratings_core.elo')", [2]),
        ("from importlib import import_module\nimport_module(name)", [2]),
        ("import importlib\nimportlib.import_module('ratings_core.elo')", [2, 2]),
        ("from importlib import import_module\nload = import_module", [2]),
        ("from importlib import import_module as load\nload('ratings_core.elo')", [1]),
        ("def f():\n    return __import__('ratings_core.elo')", [2]),
        ("exec(text)\neval(text)", [1, 2]),
        (LAZY.format(names=["one"]), []),
        (LAZY.format(names=["one", "two"]), [7]),
    ],
)
def test_code_that_is_loaded_by_a_text_is_found(source, lines):
    assert loads(source) == lines
