"""Which format a client accepts, from the header Accept or the parameter `format`."""

from functools import lru_cache
from typing import Final

from services.api.bodies import JSON, STREAM
from services.api.problems import ApiError
from services.boards.formats import BoardFormat

MEDIA_TYPES: Final = {
    BoardFormat.JSON: JSON,
    BoardFormat.CSV: "text/csv",
    BoardFormat.JSONL: "application/x-ndjson",
    BoardFormat.ARROW: STREAM,
    BoardFormat.PARQUET: "application/vnd.apache.parquet",
}
"""Formats of boards, the preferred one first."""
_LONGEST: Final = 1024


@lru_cache(maxsize=256)
def accepted(accept: str, forms: tuple[BoardFormat, ...] = tuple(MEDIA_TYPES)) -> BoardFormat | None:
    """Which of `forms` a header Accept prefers, by its weights; None if it accepts none of them. Without a header: JSON."""
    if not accept.strip() or len(accept) > _LONGEST:
        return BoardFormat.JSON
    ranges = [_range(part) for part in accept.split(",") if part.strip()]
    weights = {form: _weight(MEDIA_TYPES[form], ranges) for form in forms}
    best = max(weights, key=lambda form: weights[form])  # the first one of equal weights
    return best if weights[best] > 0 else None


def chosen(asked: BoardFormat | None, accept: str, forms: tuple[BoardFormat, ...] = tuple(MEDIA_TYPES)) -> BoardFormat:
    """The format of an answer, one of `forms`; `asked`, the parameter, takes precedence. Raises `ApiError` 406."""
    form = asked or accepted(accept, forms)
    if form is None:
        media = ", ".join(MEDIA_TYPES[form] for form in forms)
        raise ApiError(406, "no such media type", f"send Accept with one of {media}, or the parameter format")
    return form


def _range(text: str) -> tuple[str, float]:
    """A range of media types, and its weight. A weight that is not a number counts as 0."""
    media, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    try:
        return media, min(1.0, max(0.0, float(weight)))
    except ValueError:
        return media, 0.0


def _weight(media: str, ranges: list[tuple[str, float]]) -> float:
    """The weight of a media type by the most specific range that contains it; 0 without one."""
    given = dict(ranges)
    for name in (media, f"{media.partition('/')[0]}/*", "*/*"):
        if name in given:
            return given[name]
    return 0.0
