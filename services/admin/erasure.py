"""Request the erasure of a name, and replace the name in files of ended seasons, dead letters, details of agents and the archive.

Two other programs do the rest. The shard makes a generation without the name, and deletes checkpoints that hold it. The engine replaces
the name in results. Every step may be repeated: after a crash, the erasure starts again.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Final

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.names import check_name
from services.backends import open_log
from services.boards.season_files import SeasonFiles
from services.boards.store.live import LiveBoards
from services.checkpoints.checkpoint import CheckpointStore
from services.control.details_records import KEY_PREFIX, DetailsWritten
from services.control.erasures import ErasureRequest, NameMatcher, erased_name, matchers
from services.control.log import ControlLog, NoPool
from services.control.records import Generation, GenerationRequest, decode, encode
from services.log import dead_letters
from services.log.protocol import Record, Rewrites, Topic
from services.log.reading import read_parts
from services.runtime.settings import Settings

_PARTITION: Final = 0
"""The only partition of the control log."""
_logger = logging.getLogger("equirank.erasure")


class StillKeptError(Exception):
    """A checkpoint of an earlier generation still holds the name. The shard deletes it when it writes the next checkpoint."""


def request_erasure(
    control: ControlLog, boards: LiveBoards | None, pool: str, name: str, by: str, *, unknown: bool = False
) -> ErasureRequest:
    """Request the erasure of an agent's name. An existing request is returned unchanged.

    Args:
        control: The control log.
        boards: Live boards, which list the pool's agents; None if the store is not available.
        pool: Name of the pool.
        name: Name of the agent.
        by: Person who requests the erasure. The control log keeps this text for ever.
        unknown: Accept a name that no agent of the pool has.

    Returns:
        The first request for this name in the control log.

    Raises:
        NoPool: The pool does not exist.
        InputError: The pool has no agent of this name, the store is not available to check it, or `by` is empty.
        LogError, StoreError: The log or the store failed.
    """
    check_name(name, "agent")
    if not by.strip():
        raise InputError("by", by, "must say who asks for the erasure")
    state = control.refresh()
    if pool not in state.pools:
        raise NoPool(pool)
    request = state.erasures.find(pool, name)
    if request is None:
        if not unknown and not _names(control.standing(pool), name):
            _check_agent(boards, pool, name)
        request = ErasureRequest(pool=pool, name=erased_name(name, state.erasures.names(pool)), by=by, time=time.time())
        control.append(request)
    return control.refresh().erasures.find(pool, name) or request


def erase_kept(
    settings: Settings,
    partition: int,
    requests: Sequence[ErasureRequest],
    first: Mapping[str, int],
    settled: int,
    elsewhere: Sequence[ErasureRequest] = (),
    settled_elsewhere: int = 0,
) -> None:
    """Replace erased names in files of ended seasons, dead letters and one partition's archive, and remove details of their agents.

    Args:
        settings: The service's settings.
        partition: Number of the partition.
        requests: Erasures in the partition's pools, in the order of the control log: all, or the first ones.
        first: Pool -> number of its first generation without any of these names.
        settled: Number of `requests` that the control log notes as done. If all are done, only an archive that lacks some of them is
            rewritten, such as one from a backup.
        elsewhere: All erasures in pools of other partitions. The archive holds outcomes of such a pool if a producer used a wrong
            partition.
        settled_elsewhere: Number of `elsewhere` that the control log notes as done.

    Raises:
        StillKeptError: A checkpoint of an earlier generation exists. Call again after the next checkpoint.
        LogError, OSError: The log, the checkpoints or the archive failed. Replaced names stay replaced; call again for the others.
        Others: See `services.archive.erasure.erase_rows`.
    """
    checkpoints = CheckpointStore(settings.checkpoint_url)
    _check_checkpoints(checkpoints, partition, first)
    names, left = matchers(requests), settled < len(requests)
    with closing(open_log(settings, create=False)) as log:
        if left:
            for pool, erased in names.items():
                SeasonFiles(checkpoints, log.outcomes.identity).erase(pool, erased)
        if left and isinstance(log.dead_letters, Rewrites):
            log.dead_letters.rewrite(0, partial(_erased_letter, names))
        if left:
            erase_details(log.control, names)
        if settings.archive_url is None:
            return
        from services.archive.erasure import erase_rows  # noqa: PLC0415 - needs the extra `archive`

        noted = settled, settled_elsewhere
        erase_rows(settings.archive_url, partition, log.outcomes.identity, requests, elsewhere, settled=noted)


def erase_details(topic: Topic, names: Mapping[str, NameMatcher]) -> None:
    """Remove the details of erased names from the control log.

    A log that cannot replace records gets an empty record with the key of each agent's own record, so that compaction removes that one.
    Records that hold many agents stay there; their readers leave the names out. It may be repeated.

    Args:
        topic: The control topic.
        names: Pool -> matcher of its erased names.

    Raises:
        LogError: The log failed; call again.
    """
    if isinstance(topic, Rewrites):
        topic.rewrite(_PARTITION, lambda record: _without_details(names, record) or record.value)
        return
    newest: dict[bytes, bytes | None] = {}
    for part in read_parts(topic, _PARTITION, topic.begin(_PARTITION), topic.end(_PARTITION)):
        newest |= {record.key: _without_details(names, record) for record in part if record.key is not None and _is_of_one(record.key)}
    if empty := [(key, value) for key, value in newest.items() if value is not None]:
        topic.append(_PARTITION, empty)


def _names(standing: Generation | GenerationRequest, name: str) -> bool:
    """Whether aliases, bans or initial ratings contain a name."""
    rated = (agent for ratings in standing.initial.values() for agent in ratings)
    return name in {*standing.aliases, *standing.aliases.values(), *standing.bans, *rated}


def _check_agent(boards: LiveBoards | None, pool: str, name: str) -> None:
    head = None if boards is None else boards.head(pool)
    if boards is None or head is None:
        raise InputError(
            "agent", name, f"must be an agent of {pool}, but the store has no list of its agents: start the engine, or use --unknown"
        )
    if not boards.has(pool, head.generation, [name])[0]:
        raise InputError("agent", name, f"must be an agent of {pool}; use --unknown to erase a name without outcomes")


def _check_checkpoints(checkpoints: CheckpointStore, partition: int, first: Mapping[str, int]) -> None:
    for pool, number in first.items():
        kept = [generation for generation in checkpoints.generations(partition, pool) if generation < number]
        if kept:
            raise StillKeptError(f"a checkpoint of generation {min(kept)} of pool {pool} is kept until the next one is written")


def _is_of_one(key: bytes) -> bool:
    """Whether a key is that of details of one agent."""
    return key.startswith(KEY_PREFIX.encode()) and key.split(b"/")[2] == b"agent"


def _without_details(names: Mapping[str, NameMatcher], record: Record) -> bytes | None:
    """Value of a record of details without those of erased names; None if it has none of them, or is another record."""
    if not (record.key or b"").startswith(KEY_PREFIX.encode()):
        return None
    written = decode(record.value)
    if not isinstance(written, DetailsWritten) or (matcher := names.get(written.pool)) is None:
        return None
    kept = {agent: details for agent, details in written.agents.items() if matcher.token(agent) is None}
    return None if len(kept) == len(written.agents) else encode(msgspec.structs.replace(written, agents=kept))[1]


def _erased_letter(names: Mapping[str, NameMatcher], record: Record) -> bytes:
    """Value of a dead letter without the names; empty for a damaged letter, because its names cannot be recognized."""
    try:
        letter = erased = dead_letters.decode(record)
    except InputError as error:
        if record.value:
            _logger.warning("dead letter at offset %d is damaged and was emptied: it %s", record.offset, error.rule)
        return b""
    for pool, matcher in names.items():
        if letter.pool in {pool, None}:
            erased = erased.edited(matcher.in_text)
    return record.value if erased == letter else msgspec.json.encode(erased)
