"""Changes of a pool's bans that are easily made by mistake, found before anything is written."""

from collections.abc import Collection, Iterable

from ratings_core.errors import InputError
from services.boards.store.live import LiveBoards
from services.boards.store.protocol import StoreError

_SHOWN = 10


def changed(standing: Iterable[str], ban: Collection[str], unban: Collection[str]) -> list[str]:
    """The bans after some more and some fewer, in order. Raises `InputError` for an unban of somebody who is not banned."""
    bans = dict.fromkeys(standing)
    for name in unban:
        if name not in bans:
            raise InputError("unban", name, "must name an agent that is banned")
        if name in ban:
            raise InputError("unban", name, "must not be in the same request's list of bans")
        del bans[name]
    return list({**bans, **dict.fromkeys(ban)})


def doubts(boards: LiveBoards | None, pool: str, standing: Collection[str], wanted: Collection[str], unban: Collection[str]) -> list[str]:
    """What a change of bans may not be meant to do, as sentences: end bans that nobody named, or ban names that no agent has.

    Args:
        boards: Know the pool's agents; None, or one that does not answer, leaves out what only it knows.
        pool: The pool.
        standing: Bans as they are.
        wanted: Bans as they would be.
        unban: Names whose ban is meant to end.

    """
    found = []
    ended = sorted(set(standing) - set(wanted) - set(unban))
    if ended:
        found.append(f"the list ends the ban of {_names(ended)}")
    unknown = _unknown(boards, pool, sorted(set(wanted) - set(standing)))
    if unknown:
        found.append(f"the pool has no agent {_names(unknown)}")
    return found


def _unknown(boards: LiveBoards | None, pool: str, names: list[str]) -> list[str]:
    try:
        head = None if boards is None else boards.head(pool)
        if boards is None or head is None or not names:
            return []
        counts = boards.outcomes_of(pool, head.generation, names)
    except StoreError:
        return []
    return [name for name, count in zip(names, counts, strict=True) if not count]


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
