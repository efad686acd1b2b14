"""Erasure of an agent's name: the request, and its replacement in everything that is kept beside boards and results.

The shard makes a generation without the name, and deletes checkpoints that hold it; the engine replaces it in results. What is left is
done here, for one partition at a time. Every step may be repeated, so a crash at any moment costs no more than doing it again.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.names import check_name
from services.backends import open_log
from services.boards.store.live import LiveBoards
from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.erasures import ArchiveRewrite, ErasureRequest, NameMatcher, erased_name, matchers
from services.control.log import ControlLog, NoPool
from services.control.records import Generation, GenerationRequest, decode, encode
from services.log import dead_letters
from services.log.protocol import Record, Rewrites, Topic
from services.log.reading import read_range
from services.runtime.settings import Settings

_logger = logging.getLogger("equirank.erasure")


class StillKeptError(Exception):
    """A checkpoint of an earlier generation still holds the name: its owner deletes it with the next checkpoint."""


def request_erasure(
    control: ControlLog, boards: LiveBoards | None, pool: str, name: str, by: str, *, unknown: bool = False
) -> ErasureRequest:
    """Ask for the erasure of an agent's name, if nobody did yet.

    Args:
        control: The control log.
        boards: Know the pool's agents; None where the store does not answer.
        pool: The pool.
        name: The agent's name.
        by: Who asks. It is kept in the control log for ever.
        unknown: Ask also where the pool has no such agent.

    Returns:
        The request that counts.

    Raises:
        NoPool: There is no such pool.
        InputError: The pool has no agent of that name, or `by` is empty.
        LogError, StoreError: The log or the store fails.
    """
    check_name(name, "agent")
    if not by.strip():
        raise InputError("by", by, "must say who asks for the erasure")
    state = control.refresh()
    if pool not in state.pools:
        raise NoPool(pool)
    if (found := state.erasures.find(pool, name)) is not None:
        return found
    standing = control.standing(pool)
    if not unknown and not _names(standing, name):
        _check_agent(boards, pool, name)
    request = ErasureRequest(pool=pool, name=erased_name(name, state.erasures.names(pool)), by=by, time=time.time())
    control.append(request)
    if _names(standing, name):
        _replace_wish(control, standing)
    return control.refresh().erasures.find(pool, name) or request


def erase_kept(
    settings: Settings,
    partition: int,
    requests: Sequence[ErasureRequest],
    first: Mapping[str, int],
    settled: int,
    elsewhere: Sequence[ErasureRequest] = (),
    settled_elsewhere: int = 0,
) -> ArchiveRewrite | None:
    """Replace erased names in what is kept of a partition: control records, dead letters and the archive.

    Args:
        settings: The service's settings.
        partition: Number of the partition.
        requests: Erasures of its pools, in the order of the control log; all, or the first ones.
        first: Pool -> number of the first generation that erases all of them.
        settled: How many of them the control log notes as done. Where all are, only an archive from before that is looked for.
        elsewhere: All erasures of other pools, whose outcomes the archive may hold where a producer sent them to a wrong partition.
        settled_elsewhere: How many of these are noted as done.

    Returns:
        What the newest erasure changed in the archive.

    Raises:
        StillKeptError: A checkpoint of an earlier generation is still there. A later call goes on.
        LogError, OSError: The log, the checkpoints or the archive fail. What was replaced stays replaced, and a later call goes on.
        Others: See `services.archive.erasure.erase_rows`.
    """
    _check_checkpoints(CheckpointStore(settings.checkpoint_url), partition, first)
    names, left = matchers(requests), settled < len(requests)
    with closing(open_log(settings, create=False)) as log:
        if left:
            _erase_control(log.control, names)
        if left and isinstance(log.dead_letters, Rewrites):
            log.dead_letters.rewrite(0, partial(_erased_letter, names))
        if settings.archive is None:
            return None
        from services.archive.erasure import erase_rows  # noqa: PLC0415 - needs the extra `archive`

        noted = settled, settled_elsewhere
        return erase_rows(settings.archive, partition, log.outcomes.identity, requests, elsewhere, settled=noted)


def _names(standing: Generation | GenerationRequest, name: str) -> bool:
    """Whether edits or initial ratings name an agent."""
    rated = (agent for ratings in standing.initial.values() for agent in ratings)
    return name in {*standing.aliases, *standing.aliases.values(), *standing.bans, *rated}


def _check_agent(boards: LiveBoards | None, pool: str, name: str) -> None:
    head = None if boards is None else boards.head(pool)
    if boards is None or head is None:
        raise InputError(
            "agent", name, f"must be an agent of {pool}, but the store has no list of its agents: start the engine, or use --unknown"
        )
    if not boards.outcomes_of(pool, head.generation, [name])[0]:
        raise InputError("agent", name, f"must be an agent of {pool}; use --unknown to erase a name without outcomes")


def _replace_wish(control: ControlLog, standing: Generation | GenerationRequest) -> None:
    """Ask for the same settings without the name: the newest request of a pool is all that a compacted control log keeps of them."""
    control.want(generations.wish(standing, time=time.time()))


def _check_checkpoints(checkpoints: CheckpointStore, partition: int, first: Mapping[str, int]) -> None:
    for pool, number in first.items():
        kept = [one for one in checkpoints.generations(partition, pool) if one < number]
        if kept:
            raise StillKeptError(f"a checkpoint of generation {min(kept)} of pool {pool} is kept until the next one is written")


def _erase_control(topic: Topic, names: Mapping[str, NameMatcher]) -> None:
    """Replace names in generations and requests for them, in place or, on a compacted topic, by records that take the place of these."""
    if isinstance(topic, Rewrites):
        topic.rewrite(0, partial(_erased_control, names))
        return
    newest = {record.key: record for record in read_range(topic, 0, topic.begin(0), topic.end(0))}
    changed = [(key, value) for key, record in newest.items() if (value := _erased_control(names, record)) != record.value]
    generations_only = [(key, value) for key, value in changed if isinstance(decode(value), Generation)]
    if generations_only:
        topic.append(0, generations_only)


def _erased_control(names: Mapping[str, NameMatcher], record: Record) -> bytes:
    decoded = decode(record.value)
    if not isinstance(decoded, Generation | GenerationRequest) or decoded.pool not in names:
        return record.value
    erased = generations.without_names(decoded, names[decoded.pool])
    return record.value if erased == decoded else encode(erased)[1]


def _erased_letter(names: Mapping[str, NameMatcher], record: Record) -> bytes:
    """A letter without the names. A damaged one is emptied, because nothing can be searched in it, and nothing reads it."""
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
