"""The parts of docs that the code knows best: settings.md whole, and the tables of parameters inside methods.md.

`python -m services.cli.reference` rewrites both below the working folder's `docs`; tests compare them with what this module says.
In methods.md a table stands between `<!-- parameters of NAME -->` and `<!-- end -->`; what surrounds it is written by hand.
"""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from pydantic.fields import FieldInfo

from ratings_core.errors import InputError
from ratings_core.online import RATERS
from ratings_core.options import Parameter
from services.runtime.settings import Settings
from services.solve.registry.method import Method
from services.solve.registry.methods import METHODS

_SETTINGS_HEAD: Final = """# Settings

Written by `python -m services.cli.reference`; a test compares.

Every setting is an environment variable. A TOML file named by `EQUIRANK_CONFIG` takes the same names in lower case and without
the prefix; the environment wins over the file, and `equirank up --data --port` over both. Lists and tables are JSON in the
environment: `EQUIRANK_WRITE_KEYS='["key-1"]'`. An unknown name in the file is an error. An unknown variable is a warning in the log.

| setting | type | default | meaning |
| --- | --- | --- | --- |
"""
_SIGNS: Final = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_BLOCK: Final = re.compile(r"(?<=<!-- parameters of )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def settings_page() -> str:
    """docs/reference/settings.md."""
    prefix = Settings.model_config["env_prefix"]
    rows = [
        f"| `{prefix}{name.upper()}` | {_kind(field)} | {_default(field.get_default(call_default_factory=True))} | {field.description} |\n"
        for name, field in Settings.model_fields.items()
    ]
    return _SETTINGS_HEAD + "".join(rows)


def with_parameters(page: str) -> str:
    """`page` (docs/reference/methods.md) with its tables as the code says. Raises `InputError` if a method is unknown or has no table."""
    named = {match[1] for match in _BLOCK.finditer(page)}
    if lacking := [name for name in (*RATERS, *METHODS) if name not in named]:
        raise InputError("page", lacking, "must hold `<!-- parameters of NAME -->` and `<!-- end -->` for each method")
    return _BLOCK.sub(lambda match: f"{match[1]}{match[2]}{parameter_table(match[1])}", page)


def parameter_table(method: str) -> str:
    """Parameters of an online or solved method with their defaults, and the limits of solved ones. Raises `InputError` for another name."""
    if method in RATERS:
        return _online_table(method)
    if method in METHODS:
        return _solved_table(METHODS[method])
    raise InputError("method", method, f"must be one of {', '.join([*RATERS, *METHODS])}")


def _online_table(method: str) -> str:
    parameters = fields(RATERS[method])  # type: ignore[arg-type]  # raters are dataclasses by their protocol
    rows = [f"| `{field.name}` | {_default(field.default)} |\n" for field in parameters]
    return "".join(["| parameter | default |\n| --- | --- |\n", *rows])


def _solved_table(method: Method) -> str:
    rows = [f"| `{one.name}` | {_value(one.default)} | {_accepted(one)} | {one.meaning} |\n" for one in method.parameters]
    most = "" if method.most_agents is None else f"; the {method.most_agents:,} most active of more"
    facts = f"Input: {method.takes}, of at least {method.least_agents} agents{most}. {_ranked(method.tie_tolerance)}.\n"
    if not rows:
        return f"No parameters.\n\n{facts}"
    return "".join(["| parameter | default | accepted | meaning |\n| --- | --- | --- | --- |\n", *rows, "\n", facts])


def _ranked(tie_tolerance: float | None) -> str:
    if tie_tolerance is None:
        return "It ranks by itself"
    return f"Ratings within {tie_tolerance:g} share a rank" if tie_tolerance else "Equal ratings share a rank"


def _accepted(parameter: Parameter) -> str:
    if parameter.free:
        return "text"
    if parameter.choices:
        return ", ".join(f"`{choice}`" for choice in parameter.choices)
    if isinstance(parameter.default, bool):
        return "`true`, `false`"
    return f"{parameter.low:.10g} to {parameter.high:.10g}"


def _default(value: Any) -> str:
    return "none" if value is None or value in ((), {}) else _value(value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:.10g}`" if isinstance(value, float) else f"`{value}`"


def _kind(field: FieldInfo) -> str:
    """The type as people write it, and its bounds."""
    bounds = [f"{sign} {getattr(bound, name):.10g}" for bound in field.metadata for name, sign in _SIGNS.items() if hasattr(bound, name)]
    text = field.annotation.__name__ if type(field.annotation) is type else str(field.annotation)
    if choices := re.fullmatch(r"typing\.Literal\[(.*)\]", text):
        return choices[1].replace("'", "`")
    text = re.sub(r"\b(?:\w+\.)+", "", text).removesuffix(" | None").replace("SecretStr", "str")
    for written, read in (("tuple[str, ...]", "list of str"), ("dict[", "table["), ("Path", "path"), ("|", "or")):
        text = text.replace(written, read)
    return " ".join([text, ", ".join(bounds)]).strip()


def main(docs: Path) -> None:
    """Rewrite both pages in the folder `docs`."""
    (docs / "reference" / "settings.md").write_text(settings_page(), encoding="utf-8")
    methods = docs / "reference" / "methods.md"
    methods.write_text(with_parameters(methods.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path("docs"))
