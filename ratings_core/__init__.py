"""Rating methods that resist cycles and clones.

The front door:

- `rate(games, method, ...)`: ratings by any method, from a data frame, a table, a file or tuples.
- `compare(games, methods)`: several methods, and how far their rankings differ.
- `scoreboard(games)`: which method predicts the games best, each from earlier games only.
- `insight(games)`: cycles, copies, weakly connected agents, and what decides the top.
- `predict(games, a, b)`: the expected score of a against b.
- `Online(method)`: an online method that learns game by game.
- Each method is a function too: ``maximal_lottery(games, **options)`` is ``rate(games, "maximal_lottery", **options)``.

Below it, functions take and return arrays and use no clock, network, environment or process. `formats` and `front` read files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ratings_core.methods.names import MODULES, ONLINE

if TYPE_CHECKING:
    __version__: str
    from ratings_core.errors import InputError, SolverError
    from ratings_core.formats.options import ReadOptions
    from ratings_core.front.compare import Comparison, compare
    from ratings_core.front.insight import Insight, insight
    from ratings_core.front.online import Online
    from ratings_core.front.rate import predict, rate
    from ratings_core.front.rating import Rating
    from ratings_core.front.scoreboard import Scoreboard, scoreboard

__all__ = [
    "Comparison",
    "InputError",
    "Insight",
    "Online",
    "Rating",
    "ReadOptions",
    "Scoreboard",
    "SolverError",
    "compare",
    "insight",
    "predict",
    "rate",
    "scoreboard",
]

_MODULES: Final = {
    "Comparison": "front.compare",
    "InputError": "errors",
    "Insight": "front.insight",
    "Online": "front.online",
    "Rating": "front.rating",
    "ReadOptions": "formats.options",
    "Scoreboard": "front.scoreboard",
    "SolverError": "errors",
    "compare": "front.compare",
    "insight": "front.insight",
    "predict": "front.rate",
    "rate": "front.rate",
    "scoreboard": "front.scoreboard",
}
"""Name -> module. A name is imported when it is first used, so that a program loads only what it needs."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("ratings_core.front.release").release()
    if name in _MODULES:
        return getattr(import_module(f"ratings_core.{_MODULES[name]}"), name)
    if name in MODULES or name in ONLINE:
        return import_module("ratings_core.front.shortcuts").method_function(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=import_module(__name__))


def __dir__() -> list[str]:
    return sorted([*globals(), "__version__", *__all__, *MODULES, *ONLINE])
