"""The settings of a pool as `equirank pools settings` shows them, reads them from files and options, and compares them."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from ratings_core.checks import similar
from ratings_core.errors import InputError
from services.cli.edits import read_aliases, read_bans, read_initial
from services.cli.options import name_and_value
from services.control.records import FoldSettings, Generation, GenerationRequest, Start
from services.wire.pools import Kind


class PoolSettings(FoldSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of a pool. Types, bounds and defaults are those of the records that the API writes.

    Attributes:
        initial: Method -> agent -> initial rating.
        aliases: Name in outcomes -> the agent that it counts for.
        bans: Banned agents in order.
        start: As in `GenerationRequest`.
        leading_method: Method that pages show first; empty if they choose. A change of it alone makes no generation.
    """

    initial: dict[str, dict[str, float]] = msgspec.field(default_factory=dict)
    aliases: dict[str, str] = msgspec.field(default_factory=dict)
    bans: tuple[str, ...] = ()
    start: Start = "same"
    leading_method: str = ""


KEYS: Final = PoolSettings.__struct_fields__
_TABLES: Final[Mapping[str, Callable[[Path], Any]]] = {"aliases": read_aliases, "bans": read_bans, "initial": read_initial}
"""Keys whose value can be a CSV file, with their readers."""
_NAMES: Final = ("online", "features", "bans")
"""Keys whose value can be names with commas between them."""
_FORM: Final = "must be key=value, such as per_task=true, online.elo.k=20 or bans=@bans.csv"
_SHOWN: Final = 20
"""Largest number of lines that a comparison shows for a key."""


def present(standing: Generation | GenerationRequest, kind: Kind, leading_method: str = "") -> PoolSettings:
    """The settings of a pool of this kind. Its methods are listed, also if they are the default ones."""
    start = standing.start if isinstance(standing, GenerationRequest) else "same"
    fold = asdict(standing.fold) | {"online": standing.fold.methods(kind), "by_shape": bool(standing.fold.by_shape)}
    return PoolSettings(
        **fold, initial=standing.initial, aliases=standing.aliases, bans=standing.bans, start=start, leading_method=leading_method
    )


def changed(settings: PoolSettings, kind: Kind, file: Path | None, assignments: Sequence[str]) -> PoolSettings:
    """Settings with the values of a file, and then those of the texts key=value in their order. Other keys keep their values.

    Args:
        settings: Present settings.
        kind: Kind of the pool.
        file: JSON or TOML file with any of the keys.
        assignments: Texts key=value. An empty value is the default of the key.

    Raises:
        InputError: A key is unknown, or a value has another type or breaks a bound.
    """
    for key, value in _read(file).items() if file is not None else ():
        settings = _with(settings, kind, key, value)
    for text in assignments:
        settings = _with(settings, kind, *_parsed(settings, *name_and_value(text, "--set", _FORM)))
    return settings


def edits(standing: FoldSettings, before: PoolSettings, after: PoolSettings) -> dict[str, Any]:
    """The changed settings as arguments of `generations.wish`; empty if no generation is needed."""
    new = {key: getattr(after, key) for key in KEYS if getattr(after, key) != getattr(before, key) and key != "leading_method"}
    fold = {key: new.pop(key) for key in FoldSettings.__struct_fields__ if key in new}
    return new | {"fold": replace(standing, **fold)} if fold else new


def rows(settings: PoolSettings, key: str) -> dict[str, str]:
    """Path -> value, as text, of everything that a key holds. Each method, alias, ban and initial rating has its own path."""
    value = getattr(settings, key)
    return dict(_leaves(key, dict.fromkeys(value, "banned") if key == "bans" else value))


def difference(before: PoolSettings, after: PoolSettings) -> Iterator[str]:
    """Lines that show what changes: `-` is removed, `+` is added. A key with many changes has its first ones and their number."""
    for key in KEYS:
        old, new = rows(before, key), rows(after, key)
        paths = [path for path in {**old, **new} if old.get(path) != new.get(path)]
        lines = [f"{sign} {path}: {side[path]}" for path in paths for sign, side in (("-", old), ("+", new)) if path in side]
        yield from lines[:_SHOWN]
        if len(lines) > _SHOWN:
            yield f"  and {len(lines) - _SHOWN} more lines of {key}"


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, below in value.items():
            yield from _leaves(f"{path}.{name}", below)
    elif value in (None, {}, (), ""):
        yield path, "default parameters" if path.startswith("online.") else "none"
    else:
        yield path, value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _with(settings: PoolSettings, kind: Kind, key: str, value: Any) -> PoolSettings:
    _check_key(key)
    try:
        new = getattr(msgspec.convert({key: value}, PoolSettings), key)
    except msgspec.ValidationError as error:
        raise InputError(key, value, f"must have the form of this setting ({error})") from error
    if key == "bans":
        new = tuple(sorted(set(new)))
    return replace(settings, **{key: new}).with_defaults(kind)


def _check_key(key: str) -> None:
    if key not in KEYS:
        raise InputError("setting", key, f"must be one of {', '.join(KEYS)}, or online.METHOD.PARAMETER{similar(key, KEYS)}")


def _read(file: Path) -> dict[str, Any]:
    """The keys and values of a JSON or TOML file. Raises `InputError`."""
    decoders: dict[str, Callable[[str], Any]] = {".json": msgspec.json.decode, ".toml": tomllib.loads}
    if file.suffix not in decoders:
        raise InputError("--file", str(file), "must end in .json or .toml")
    try:
        content = decoders[file.suffix](file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("--file", str(file), f"must be readable ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError("--file", str(file), f"must be a {file.suffix[1:].upper()} file ({error})") from error
    if not isinstance(content, dict):
        raise InputError("--file", str(file), "must hold an object with settings")
    return content


def _parsed(settings: PoolSettings, key: str, text: str) -> tuple[str, Any]:
    """Key and value of `key=text`: the default, a CSV file, names, or a value in JSON. Other text stays text."""
    if key.startswith("online."):
        return "online", _with_parameter(settings.online or {}, key, text)
    _check_key(key)
    if not text:
        return key, getattr(PoolSettings(), key)
    if text[0] == "@" and key in _TABLES:
        return key, _TABLES[key](Path(text[1:]))
    if text[0] not in "[{" and key in _NAMES:
        names = text.split(",")
        return key, {name: (settings.online or {}).get(name, {}) for name in names} if key == "online" else names
    try:
        return key, msgspec.json.decode(text)
    except msgspec.DecodeError:
        return key, text


def _with_parameter(online: Mapping[str, Mapping[str, float]], key: str, text: str) -> dict[str, Any]:
    """Methods with a changed parameter. An empty text removes it, so that its default counts."""
    _, method, name = (*key.split(".", 2), "")[:3]
    if not name:
        raise InputError("--set", key, "must be online.METHOD.PARAMETER, such as online.elo.k")
    if method not in online:
        rule = f"must name an online method of the pool ({', '.join(online) or 'none'}): first set online to all methods to keep"
        raise InputError("--set", key, rule)
    others = {parameter: value for parameter, value in online[method].items() if parameter != name}
    if not text:
        return {**online, method: others}
    try:
        return {**online, method: {**others, name: float(text)}}
    except ValueError as error:
        raise InputError(key, text, "must be a number") from error
