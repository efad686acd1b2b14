"""The insight report of a pool, in one form for the file beside the checkpoints, the store, the API and `equirank insight`.

If a part does not apply to a pool, `not_applicable` gives the reason, and its other fields have no meaning. Lists hold the first few
entries; a total beside the list counts all of them.
"""

import msgspec


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the report. not_applicable: Why the part does not apply to the pool; None if it applies."""

    not_applicable: str | None = None


class ThinAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent weakly connected to the others. games: its own; opponents: how many it met; effective_games: what its links are worth in
    games straight against the bulk of the pool, None in pools too large to tell.
    """

    agent: str
    games: float
    opponents: int
    effective_games: float | None


class ThinLeaders(msgspec.Struct, frozen=True, kw_only=True):
    """A board that is led by agents weakly connected to the others. agents: those among its first `of` rows, best first."""

    method: str
    agents: list[str]
    of: int


class Connectivity(Part, frozen=True, kw_only=True):
    """The comparison graph: who met whom. components: groups that never met each other; largest: agents of the largest; apart: agents
    outside it (apart_total in all); rateable: whether wins lead both ways between everybody, so that strengths are finite; pairs that met,
    of all possible ones `density`; thin: weakly connected agents, weakest first (thin_total in all, by `threshold` games); leaders: boards
    whose first rows hold some of them.
    """

    components: int = 0
    largest: int = 0
    apart: list[str] = []
    apart_total: int = 0
    rateable: bool = False
    pairs: int = 0
    density: float = 0.0
    thin: list[ThinAgent] = []
    thin_total: int = 0
    threshold: float = 0.0
    leaders: list[ThinLeaders] = []


class Cyclicity(Part, frozen=True, kw_only=True):
    """share: of what outcomes say that no ratings can, 0 to 1, freed of noise; assumes: what freeing it of noise takes for granted."""

    share: float | None = None
    assumes: str = ""


class Order(Part, frozen=True, kw_only=True):
    """How closely pairs follow one order of strength (docs/concepts/posterior-margins.md).

    kappa: Games that the order's prediction of a pair is worth; small in a cyclic pool, None (infinite) if no deviation shows.
    low: Lower end of its 95 % likelihood interval.
    high: Upper end, None if the data do not exclude an order.
    evidence: Nats by which kappa explains the results better than an order does.
    p_value: Probability of at least this evidence in a pool without deviations.
    pairs: Pairs of several games, which are the only ones that say anything about kappa.
    """

    kappa: float | None = None
    low: float = 0.0
    high: float | None = None
    evidence: float = 0.0
    p_value: float = 1.0
    pairs: int = 0


class Cycle(msgspec.Struct, frozen=True, kw_only=True):
    """agents: each beats the next and the last the first, by these margins; weakest: the least of them."""

    agents: list[str]
    margins: list[float]
    weakest: float


class Cycles(Part, frozen=True, kw_only=True):
    """The strongest majority cycles without a common agent, strongest first; none where majorities form no cycle."""

    cycles: list[Cycle] = []


class NearPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two agents and the largest difference of their mean results (from -1 to 1) against anybody."""

    agents: tuple[str, str]
    distance: float


class Clones(Part, frozen=True, kw_only=True):
    """exact: groups with equal margins against everybody; tasks: groups with equal scores of everybody; near: pairs within `radius`;
    near_not_applicable: why they were not looked for.
    """

    exact: list[list[str]] = []
    exact_total: int = 0
    tasks: list[list[str]] = []
    tasks_total: int = 0
    near: list[NearPair] = []
    near_total: int = 0
    near_not_applicable: str | None = None
    radius: float = 0.0


class LookAlike(msgspec.Struct, frozen=True, kw_only=True):
    """An agent whose name looks like another one's.

    agent: Its name.
    activity: Games played, or tasks measured.
    characters: The characters of its name outside of ASCII, each as `U+0430 CYRILLIC SMALL LETTER A`.
    """

    agent: str
    activity: float
    characters: list[str]


class LookAlikes(Part, frozen=True, kw_only=True):
    """Groups of agents whose names look alike though they are written with other characters, most active agent first (UTS 39).

    groups: The first groups.
    groups_total: Number of all groups.
    """

    groups: list[list[LookAlike]] = []
    groups_total: int = 0


class Top(Part, frozen=True, kw_only=True):
    """The least votes whose removal lets `rival` draw level with, or pass, who loses to nobody (`agents`; several, or none, where
    majorities tie or go round). low, high: bounds of their number, high None if unknown; unit: what a vote is; votes:
    which, where known.
    """

    agents: list[str] = []
    agents_total: int = 0
    rival: str | None = None
    low: int | None = None
    high: int | None = None
    unit: str = ""
    votes: list[str] = []


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A board that takes part. position: up to where it counts outcomes; rated: agents it rates."""

    method: str
    position: int
    rated: int


class Disputed(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that `high` puts at place high_place and `low` at low_place, among the agents compared; ties are broken so that the two
    come as near as they can, to `places` apart.
    """

    agent: str
    high: str
    high_place: int
    low: str
    low_place: int
    places: int


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """Share of pairs of agents that two methods order differently, one tied by one of them counting half."""

    methods: tuple[str, str]
    kendall: float


class Disagreement(Part, frozen=True, kw_only=True):
    """methods: boards compared, on the `agents` that all of them rate; left_out: boards that rate too few; disputed: agents whose places
    differ most; distances: pairs of methods, furthest first.
    """

    methods: list[Compared] = []
    left_out: list[str] = []
    agents: int = 0
    disputed: list[Disputed] = []
    distances: list[Distance] = []


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """How well an online method predicted each pair of sides before it counted it: means over all of the generation. kendall: share of
    untied pairs predicted the wrong way round.
    """

    method: str
    pairs: float
    log_loss: float | None
    brier: float | None
    kendall: float | None


class Prequential(Part, frozen=True, kw_only=True):
    """The online methods' forecasts, least log loss first."""

    forecasts: list[Forecast] = []


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """All parts. agents: taken; left_out: least active ones that were not, in a very large pool."""

    agents: int
    left_out: int
    connectivity: Connectivity
    cyclicity: Cyclicity
    cycles: Cycles
    clones: Clones
    top: Top
    disagreement: Disagreement
    prequential: Prequential
    look_alikes: LookAlikes = LookAlikes(not_applicable="the insight was computed by an earlier version")
    order: Order = Order(not_applicable="the insight was computed by an earlier version")
