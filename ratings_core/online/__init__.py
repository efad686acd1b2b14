"""Online raters: ratings that move with every outcome, folded in log order, the same bits on every machine.

`RATERS` maps a method's name, as settings and boards spell it, to its class; the classes' parameters are the method's settings.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from ratings_core.online.elo import Elo
from ratings_core.online.prequential import Prequential
from ratings_core.online.protocol import Rater
from ratings_core.online.sco import Sco
from ratings_core.online.state import OnlineState

RATERS: Final[Mapping[str, type[Rater[Any]]]] = MappingProxyType({rater.name: rater for rater in (Elo, Sco)})

__all__ = ["RATERS", "Elo", "OnlineState", "Prequential", "Rater", "Sco"]
