"""Check changes of a pool's bans for likely mistakes before they are written."""

from collections.abc import Collection, Iterable

from ratings_core.errors import InputError
from services.boards.store.live import LiveBoards
from services.boards.store.protocol import StoreError

_SHOWN = 10


def changed(standing: Iterable[str], ban: Collection[str], unban: Collection[str]) -> list[str]:
    """Bans after adding `ban` and removing `unban`, in order: existing ones first.

    Raises `InputError` for a name in `unban` that is not banned, or that is also in `ban`.
    """
    bans = dict.fromkeys(standing)
    for name in unban:
        if name not in bans:
            raise InputError("unban", name, "must name an agent that is banned")
        if name in ban:
            raise InputError("unban", name, "must not be in the same request's list of bans")
        del bans[name]
    return list({**bans, **dict.fromkeys(ban)})


def doubts(boards: LiveBoards | None, pool: str, standing: Collection[str], wanted: Collection[str], unban: Collection[str]) -> list[str]:
    """Describe likely mistakes in a change of bans: bans that end without being in `unban`, and banned names without an agent.

    Args:
        boards: Live boards, which list the pool's agents. If None, or if the store fails, names are not compared with agents.
        pool: Name of the pool.
        standing: Present bans.
        wanted: Bans after the change.
        unban: Names whose ban ends on purpose.

    Returns:
        One clause for each kind of mistake; an empty list without one.

    """
    clauses = []
    ended = sorted(set(standing) - set(wanted) - set(unban))
    if ended:
        clauses.append(f"the list ends the ban of {_names(ended)}")
    unknown = _unknown(boards, pool, sorted(set(wanted) - set(standing)))
    if unknown:
        clauses.append(f"the pool has no agent {_names(unknown)}")
    return clauses


def _unknown(boards: LiveBoards | None, pool: str, names: list[str]) -> list[str]:
    try:
        head = None if boards is None else boards.head(pool)
        if boards is None or head is None or not names:
            return []
        present = boards.has(pool, head.generation, names)
    except StoreError:
        return []
    return [name for name, is_there in zip(names, present, strict=True) if not is_there]


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
