"""What a method solves of a checkpointed pool."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from services.solve.problems.checkpointed import featured, problem
from services.solve.problems.inputs import FeaturesInput, GamesInput, ScoresInput
from services.solve.registry import methods
from services.solve.registry.method import Takes
from services.wire.pools import Kind


def problem_for(method: str, kind: Kind, arrays: Mapping[str, NDArray[Any]]) -> GamesInput | ScoresInput | FeaturesInput:
    """The pool's games with their features where the method takes them, else its tallies.

    Raises:
        InputError: The method takes features, and no game has had all of them yet.
    """
    return featured(arrays) if methods.find(method).takes is Takes.FEATURES else problem(kind, arrays)
