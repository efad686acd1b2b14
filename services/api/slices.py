"""The route of a pool's slices, and the query parameter `slice` of boards."""

from typing import Annotated, TypeAlias

import msgspec
from litestar import get
from litestar.params import QueryParameter

from ratings_core.errors import InputError
from services.api.context import Here, Pool, reads
from services.api.described import Described, problems
from services.api.pools import published
from services.boards.slice_boards import SliceDimension, SliceName, dimension_of, method_of
from services.wire.pools import check_pool_name

SliceText: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        name="slice",
        description="Slice of the pool's outcomes, as tag and value: `slice=language:English`. Default: all outcomes. "
        "`GET /v1/pools/{pool}/slices` lists the slices.",
    ),
]


class Slices(msgspec.Struct, frozen=True, kw_only=True):
    """The slices of a pool.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool; null before the first outcome was folded.
        position: Log offset up to which outcomes were counted, in the pool and in all slices.
        outcomes: Number of outcomes that the pool counted.
        dimensions: Key of a tag -> its slices.
        solved: Key of a tag -> methods with solved boards of its slices.
    """

    pool: str
    generation: int | None
    position: int
    outcomes: int
    dimensions: dict[str, SliceDimension]
    solved: dict[str, list[str]] = {}


@get("/v1/pools/{pool:str}/slices", tags=["boards"], operation_class=Described, responses=problems(404, 422, 503))
@reads
def list_slices(here: Here, pool: Pool) -> Slices:
    """List the slices of a pool: values of tags that have separate boards, with their numbers of outcomes and agents.

    The setting `slices` of the pool names the tags. A value beyond the setting `slice_values` has no slice; `beyond` counts its outcomes.
    """
    head = published(here, check_pool_name(pool)).head
    if head is None:
        return Slices(pool=pool, generation=None, position=0, outcomes=0, dimensions={})
    names = here.store.solved.slice_boards(pool) if head.slices else []
    solved = {tag: sorted({method_of(name) for name in names if dimension_of(name) == tag}) for tag in head.slices}
    return Slices(
        pool=pool, generation=head.generation, position=head.position, outcomes=head.outcomes, dimensions=head.slices, solved=solved
    )


def board_name(method: str, part: str | None) -> str:
    """Name of a board, or of the slice `part` of it. Raises `InputError` for a text that names no slice, and for a slice in `method`."""
    if method != method_of(method):
        raise InputError("method", method, "must be the name of a method; the parameter `slice` names a slice")
    return method if part is None else SliceName.parsed(part).board(method)


def board_text(method: str, part: str | None) -> str:
    """A board in the text of an error."""
    return f"board {method}" if part is None else f"board {method} of the slice {part} (GET /v1/pools/{{pool}}/slices lists the slices)"
