"""Online raters: ratings that each outcome updates, folded in log order, with the same bits on every machine.

`RATERS` maps the name of a method, as settings and boards spell it, to its class. The fields of the class are the parameters of the method.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from ratings_core.online.elo import Elo
from ratings_core.online.fenchel_young import FenchelYoung
from ratings_core.online.glicko2 import Glicko2
from ratings_core.online.melo import Melo
from ratings_core.online.prequential import Prequential
from ratings_core.online.protocol import Rater
from ratings_core.online.reading import Reading
from ratings_core.online.sco import Sco
from ratings_core.online.state import OnlineState
from ratings_core.online.weng_lin import WengLin

RATERS: Final[Mapping[str, type[Rater[Any]]]] = MappingProxyType(
    {rater.name: rater for rater in (Elo, Sco, FenchelYoung, Melo, WengLin, Glicko2)}
)

__all__ = ["RATERS", "Elo", "FenchelYoung", "Glicko2", "Melo", "OnlineState", "Prequential", "Rater", "Reading", "Sco", "WengLin"]
