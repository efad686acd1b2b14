"""What an API process prepares on a thread when it starts, so that first searches and profiles do not wait for it."""

import logging
import time
from typing import Final

from services.api.agent_indexes import AgentIndexes
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.boards.warm_reads import warm_reads

log = logging.getLogger("equirank.api")

_POOLS: Final = 8
"""Indexes that are loaded: those of the pools with most agents, which take longest. Others are loaded by their first request."""


def warm(store: RedisStore, indexes: AgentIndexes) -> None:
    """Load the kernels of reads, and the indexes of agents of the largest pools, largest last so that it is kept.

    One index is loaded at a time, so a request for another pool waits for one load at most. A failure is logged: first requests load the
    rest, and report what fails.
    """
    try:
        _load(store, indexes)
    except Exception:
        log.exception("kernels and indexes of agents cannot be loaded at the start: first requests load them")


def _load(store: RedisStore, indexes: AgentIndexes) -> None:
    began = time.process_time()
    warm_reads()
    try:
        heads = sorted(store.live.pools(), key=lambda head: head.agents)[-_POOLS:]
    except StoreError as error:
        log.info("indexes of agents are loaded by first requests, because the store does not answer: %s", error)
        heads = []
    for head in heads:
        indexes.load(head)
    log.info("kernels of reads and %d indexes of agents are loaded (%.1f s of processor time)", len(heads), time.process_time() - began)
