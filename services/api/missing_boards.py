"""Why a pool has no board of a method, in the text of a 404: the name is no method, the method is off, or it has no result yet."""

from ratings_core.checks import similar
from ratings_core.methods.registry import METHODS
from ratings_core.online import RATERS
from services.boards.slice_boards import dimension_of, method_of
from services.boards.store.protocol import INSIGHT, PoolHead
from services.control.records import ControlState
from services.solve.registry.choice import choices
from services.wire.pools import Kind


def why_missing(head: PoolHead, control: ControlState, board: str) -> str:
    """Why a board, or a solve of it, is not there, and what to do.

    Args:
        head: Head of the pool.
        control: State of the control log, which has the pool's methods.
        board: Name of the board: of the method, or of a slice's board of it.
    """
    method, tag = method_of(board), dimension_of(board)
    if method == INSIGHT:
        return f"insight is no method: GET /v1/pools/{head.pool}/insight answers it"
    if method in RATERS:
        return _why_not_online(head, method, tag)
    if method in METHODS:
        return _why_not_solved(head, control, method, tag)
    return f"no method has the name {method!r}{similar(method, [*RATERS, *METHODS])}; GET /v1/pools/{head.pool}/boards lists its boards"


def _why_not_online(head: PoolHead, method: str, tag: str | None) -> str:
    if head.kind != Kind.GAMES:
        return f"{method} is an online method, which rates games, and the pool has {head.kind}"
    if method not in head.online:
        keep = ",".join([*head.online, method])
        add = f"`equirank pools settings {head.pool} --set online={keep}`, or POST /v1/pools/{head.pool}/generations, adds it"
        return f"{method} is an online method that the pool does not keep: {add}"
    if tag is not None and method not in (kept := head.slices[tag].methods if tag in head.slices else []):
        return f"slices by {tag} do not keep {method} (they keep {', '.join(kept) or 'no online method'}): the setting `slices` chooses it"
    return f"{method} is an online method, which is never solved: `position` of its board, and `/diff` with `against`, read earlier boards"


def _why_not_solved(head: PoolHead, control: ControlState, method: str, tag: str | None) -> str:
    soon = "a solved board appears some seconds after the first outcomes, and another solve after further ones"
    if head.stopped is not None:
        soon += f", and the pool stopped at position {head.position} ({head.stopped}): `equirank pools resume {head.pool}` folds it again"
    if head.pool not in control.pools:
        return f"{method} is a solved method; {soon}"
    choice = next(one for one in choices(control, head.pool) if one.method == method)
    if choice.why_not is not None:
        return f"{method} does not apply to the pool: it {choice.why_not}"
    if choice.chosen is None:
        add = f"`equirank methods --pool {head.pool} --add {method}`, or PUT /v1/pools/{head.pool}/methods, adds it"
        return f"the pool is not solved by {method}: {add}"
    if tag is not None and tag not in choice.slices:
        choose = f"`equirank methods --pool {head.pool} --slices`, or PUT /v1/pools/{head.pool}/methods, chooses what solves them"
        return f"slices by {tag} are not solved by {method}: {choose}"
    return f"the pool is solved by {method}; {soon}"
