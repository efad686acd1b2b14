"""Details of agents on the command line: changes by `--set`, files to load and to save."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from ratings_core.errors import InputError
from services.backends import open_log
from services.boards.agent_history import AgentHistory, with_events
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.logs import control_state
from services.cli.options import name_and_value
from services.control.details import NO_DETAILS, TEXT_FIELDS, AgentDetails, DetailsChange, check_tag_key
from services.control.details_records import PoolDetails
from services.control.log import ControlLog, NoPool
from services.imports.agent_details import READERS, csv_of, json_lines_of
from services.log.protocol import LogError
from services.runtime.atomic_write import write_atomically
from services.runtime.settings import Settings

_TAG: Final = "tags."
_HIDDEN: Final = {"true": True, "false": False, "": False}
_RULE: Final = f"must be KEY=VALUE, where KEY is {', '.join(TEXT_FIELDS)}, hidden or tags.NAME; an empty VALUE removes it"


def change_of(texts: Sequence[str]) -> DetailsChange:
    """The change by texts `key=value`. Raises `InputError`."""
    fields: dict[str, Any] = {}
    tags: dict[str, str | None] = {}
    for text in texts:
        key, value = name_and_value(text, "--set", _RULE)
        if key in fields or (key.startswith(_TAG) and key.removeprefix(_TAG) in tags):
            raise InputError("--set", key, "must be set once")
        if key.startswith(_TAG):
            tags[check_tag_key(key.removeprefix(_TAG))] = value or None
        elif key in TEXT_FIELDS:
            fields[key] = value or None
        elif key == "hidden" and value in _HIDDEN:
            fields[key] = _HIDDEN[value]
        else:
            raise InputError("--set", text, "must be true or false for hidden" if key == "hidden" else _RULE)
    if tags:
        fields["tags"] = tags
    return DetailsChange(**fields)


def write(settings: Settings, pool: str, changes: Mapping[str, DetailsChange], now: float) -> int:
    """Write changes to the control log. Returns the number of agents that changed. Raises as `ControlLog.write_details`."""
    with closing(open_log(settings, create=False)) as log, closing(ControlLog(log.control, details=True)) as control:
        return control.write_details(pool, changes, now, most_agents=settings.max_agents)


def read(settings: Settings, pool: str) -> PoolDetails:
    """The details of a pool's agents. Raises `NoPool`, `LogError`."""
    with closing(open_log(settings, create=False)) as log, closing(ControlLog(log.control, details=True)) as control:
        state = control.refresh()
        if pool not in state.pools:
            raise NoPool(pool)
        return state.details.of(pool)


def readable(settings: Settings, pool: str) -> PoolDetails:
    """The details of a pool's agents; none if the log cannot be read from this machine."""
    try:
        return read(settings, pool)
    except (LogError, NoPool):
        return PoolDetails()


def with_known_events(settings: Settings, history: AgentHistory, since: float | None, until: float | None) -> AgentHistory:
    """A history with its events; without them if the log cannot be read from this machine. Arguments as of `with_events`."""
    try:
        return with_events(history, control_state(settings), since, until)
    except LogError:
        return history


def index_of(settings: Settings, head: PoolHead, part: str = "") -> AgentIndex | NoIndex:
    """The index of the agents of a pool, or of its slice `part`; or why it is missing."""
    try:
        return AgentIndex.load(CheckpointStore(settings.checkpoint_url), head, part_of=part)
    except NoIndex as error:
        return error


def traced_index_of(settings: Settings, head: PoolHead, part: str) -> AgentIndex | NoIndex:
    """The index of the agents of a pool, or of its slice `part`, with the history of outcomes; or why it is missing."""
    if not part:
        return index_of(settings, head)
    from services.admin.traced_slices import TracedSlices  # noqa: PLC0415 - only slices need the log
    from services.cli.logs import opened  # noqa: PLC0415

    with opened(settings) as (log, control):
        slices = TracedSlices(log, control.refresh, partial(CheckpointStore, settings.checkpoint_url), most=head.outcomes)
        try:
            return slices.index(head, part)
        except NoIndex as error:
            return error


def read_file(path: Path) -> dict[str, DetailsChange]:
    """The changes in a file. Raises `InputError`."""
    if path.suffix not in READERS:
        raise InputError("--load", str(path), f"must end in {', '.join(READERS)}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError("--load", str(path), f"must be readable ({error.strerror})") from error
    changes: dict[str, DetailsChange] = READERS[path.suffix](data)
    return changes


def save(path: Path, details: PoolDetails) -> None:
    """Write the details of a pool's agents to a file that `read_file` reads. Raises `InputError`."""
    forms = {".csv": csv_of, ".jsonl": json_lines_of}
    if path.suffix not in forms:
        raise InputError("--save", str(path), f"must end in {' or '.join(forms)}")
    write_atomically(path, "".join(forms[path.suffix](details.items())).encode())


def lines_of(details: AgentDetails | None) -> list[str]:
    """Details as lines for people."""
    known = details or NO_DETAILS
    lines = [f"{name}: {text}" for name in TEXT_FIELDS if (text := getattr(known, name)) is not None]
    lines += [f"{_TAG}{key}: {value}" for key, value in known.tags.items()]
    return [*lines, "hidden: boards, search and streams leave this agent out"] if known.hidden else lines
