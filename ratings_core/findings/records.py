"""The insight report of a pool, in one form for the file beside the checkpoints, the store, the API and `equirank insight`.

If a part does not apply to a pool, `not_applicable` gives the reason, and its other fields have no meaning. Lists hold the first few
entries; a total beside the list counts all of them.
"""

from typing import Final

import msgspec

from ratings_core.records.forecasts import ForecastClass

FEW_GAMES: Final = 10.0
"""An agent of fewer games is little known."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the report. not_applicable: Why the part does not apply to the pool; None if it applies."""

    not_applicable: str | None = None


class ThinAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent weakly connected to the other agents.

    Attributes:
        agent: Name of the agent.
        games: Number of its games, by weight.
        opponents: Number of different opponents.
        effective_games: Number of direct games against the main part of the pool that would connect the agent equally well. None if the
            pool is too large to compute it.
    """

    agent: str
    games: float
    opponents: int
    effective_games: float | None


class ThinLeaders(msgspec.Struct, frozen=True, kw_only=True):
    """A board with weakly connected agents among its first rows.

    Attributes:
        method: Name of the board's method.
        agents: The weakly connected agents, best first.
        of: Number of first rows that were checked.
    """

    method: str
    agents: list[str]
    of: int


class Connectivity(Finding, frozen=True, kw_only=True):
    """The comparison graph: which agents played each other, and which agents are weakly connected.

    Attributes:
        components: Number of groups of agents without any game between the groups.
        largest: Number of agents in the largest group.
        apart: Agents outside the largest group; the first few.
        apart_total: Number of all agents outside the largest group.
        rateable: Whether chains of wins link every two agents in both directions. Otherwise some strengths are infinite.
        pairs: Number of pairs of agents that played each other.
        density: Number of these pairs, divided by the number of all possible pairs.
        thin: Weakly connected agents, weakest connection first; the first few.
        thin_total: Number of all weakly connected agents.
        threshold: Number of effective games below which an agent is weakly connected; of games if effective games are not computed.
        leaders: Boards with weakly connected agents among their first rows.
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


class Cyclicity(Finding, frozen=True, kw_only=True):
    """How far head-to-head majorities are from an order, and the results from one strength for each agent.

    The two are different: where the stronger agent always wins, one order agrees with all majorities, but no strengths predict the results,
    because a certain win needs an infinite difference. `against_order` is of observed results, so chance is in it; `cycles` says which
    cycles are proven.

    Attributes:
        against_order: Sum of the margins of the majorities that the best order of the agents contradicts, divided by the sum of the margins
            of all majorities. 0 if, and only if, the majorities form no cycle. None if an earlier version computed it.
        against_order_least: No order contradicts a smaller share. Equal to `against_order` if the order is proven best.
        unexplained: Estimated share of the decided results' variation that one strength for each agent (Bradley-Terry) does not explain,
            0 to 1, with the effect of noise removed. None if it cannot be separated from noise.
        no_unexplained: Why `unexplained` is None; None if it is given.
        assumes: Assumption of the noise estimate.
        within_noise: Whether `unexplained` is no evidence: one strength for each agent is compatible with the results (`order.kappa` is
            None), and no cycle is proven. Where strengths are close, noise alone gives a large share. None if `order` does not apply.
    """

    against_order: float | None = None
    against_order_least: float | None = None
    unexplained: float | None = None
    no_unexplained: str | None = None
    assumes: str = ""
    within_noise: bool | None = None


class Order(Finding, frozen=True, kw_only=True):
    """How closely the results of pairs follow the probabilities of one strength for each agent (docs/concepts/posterior-margins.md).

    Attributes:
        kappa: Number of games that the strengths' prediction of a pair is worth. It is small in a cyclic pool, and where the stronger agent
            always wins. None (infinite) if the results of all pairs together show no deviation from the prediction.
        low: Lower end of the 95 % likelihood interval of kappa.
        high: Upper end of this interval; None (infinite) if exact predictions are compatible with the data.
        evidence: Log likelihood of this kappa less the log likelihood of exact predictions, in nats. It is of decided games, so ties do not
            change it.
        p_value: Probability of at least this evidence in a pool with exact predictions.
        pairs: Number of pairs with more than one decided game. Only these give information about kappa.
    """

    kappa: float | None = None
    low: float = 0.0
    high: float | None = None
    evidence: float = 0.0
    p_value: float = 1.0
    pairs: int = 0


class Cycle(msgspec.Struct, frozen=True, kw_only=True):
    """A majority cycle: each agent beats the next one, and the last agent beats the first.

    Attributes:
        agents: The agents in the order of the cycle.
        margins: Margin of each of these wins.
        weakest: Smallest of the margins.
        games: Number of games, or of tasks, of each of these pairs. Absent in insights of earlier versions.
        proven: Whether the cycle is beyond chance: with 95 % confidence, all majorities of the pool that pass the same test are right at
            once, and all of this cycle pass. If not, it is observed only. None if it was not tested.
    """

    agents: list[str]
    margins: list[float]
    weakest: float
    games: list[float] = []
    proven: bool | None = None


class Cycles(Finding, frozen=True, kw_only=True):
    """The strongest majority cycles: proven ones, then observed ones, each strongest first. No two of them share an agent.

    Empty if the majorities form no cycle.

    Attributes:
        cycles: The cycles.
        untested: Why cycles are not tested; None if they are.
    """

    cycles: list[Cycle] = []
    untested: str | None = None


class NearPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two similar agents.

    Attributes:
        agents: The two names.
        distance: Largest difference between their mean results against the same opponent. Mean results are from -1 to 1.
    """

    agents: tuple[str, str]
    distance: float


class Clones(Finding, frozen=True, kw_only=True):
    """Copies and near copies of agents and tasks.

    Attributes:
        exact: Groups of agents with equal margins against every agent; the first few.
        exact_total: Number of all such groups.
        tasks: Groups of tasks on which every agent has equal scores; the first few.
        tasks_total: Number of all such groups.
        near: Pairs of agents at a distance of at most `radius`; the first few.
        near_total: Number of all such pairs.
        near_not_applicable: Why near copies were not searched; None if they were.
        radius: Largest distance of a near copy.
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
    """An agent whose name looks like the name of another agent.

    Attributes:
        agent: Name of the agent.
        activity: Number of games played, or of tasks measured.
        characters: The characters of the name outside ASCII, each as `U+0430 CYRILLIC SMALL LETTER A`.
    """

    agent: str
    activity: float
    characters: list[str]


class LookAlikes(Finding, frozen=True, kw_only=True):
    """Groups of agents whose names look alike but contain different characters (UTS 39).

    Attributes:
        groups: The groups, each with its most active agent first; the first few.
        groups_total: Number of all groups.
    """

    groups: list[list[LookAlike]] = []
    groups_total: int = 0


class Top(Finding, frozen=True, kw_only=True):
    """How stable the top is by head-to-head majorities: the smallest number of votes whose removal lets a rival reach or pass the top.

    Majorities are those of observed results. A pair that never met is tied. Boards on posterior margins, or of another model, can have
    another top; `elsewhere` names them.

    Attributes:
        agents: Agents with a majority against at least one opponent and against no opponent a minority. There are several if majorities
            tie, and none if the majorities at the top form a cycle; the first few.
        agents_total: Number of all such agents.
        elsewhere: Method -> best rank of these agents on its board, for boards on which none of them is first.
        unrated_by: Methods whose boards do not have a settled rating of any of these agents: they have too little evidence, or the method
            cannot rate them, as Bradley-Terry without a prior cannot rate an agent that never lost.
        rival: The agent that needs the fewest removals; None if it is hidden.
        low: Lower bound of the number of removals.
        high: Upper bound of this number; None if unknown.
        unit: What a vote is: `outcomes` or `tasks`.
        votes: Names of the votes to remove, if known; the first few.
    """

    agents: list[str] = []
    agents_total: int = 0
    elsewhere: dict[str, int] = {}
    unrated_by: list[str] = []
    rival: str | None = None
    low: int | None = None
    high: int | None = None
    unit: str = ""
    votes: list[str] = []


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A board that is compared with other boards.

    Attributes:
        method: Name of the board's method.
        position: Log offset up to which the board counts outcomes.
        rated: Number of settled agents that the board rates.
    """

    method: str
    position: int
    rated: int


class Disputed(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that two methods place differently. Places are those of their boards.

    Attributes:
        agent: Name of the agent.
        high: Method that places the agent better.
        high_place: Its rank on the board of method `high`.
        high_shared: Number of agents that have this rank there, itself included: 1 without a tie.
        low: Method that places the agent worse.
        low_place: Its rank on the board of method `low`.
        low_shared: Number of agents that have this rank there.
        places: Number of places by which they differ for every way of breaking ties, on the boards and in the order of the agents that both
            rate: the smaller one of the two.
    """

    agent: str
    high: str
    high_place: int
    high_shared: int = 1
    low: str
    low_place: int
    low_shared: int = 1
    places: int


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """The distance between the rankings of two methods, of the agents that both boards rate.

    Attributes:
        methods: The two methods.
        kendall: Share of pairs of agents that the methods order differently. A pair that only one method ties counts as half.
        tied: Share of pairs that only one of the methods ties. `kendall` less half of it is the share of pairs that they order oppositely.
            None if an earlier version computed it.
        agents: Number of agents that both boards rank. None if an earlier version computed it.
    """

    methods: tuple[str, str]
    kendall: float
    tied: float | None = None
    agents: int | None = None

    @property
    def opposite(self) -> float | None:
        """Share of pairs that the methods order oppositely; None if an earlier version computed the distance."""
        return None if self.tied is None else max(0.0, self.kendall - self.tied / 2)


class Disagreement(Finding, frozen=True, kw_only=True):
    """Differences between the boards of the methods. Two boards are compared by the agents that both rate and rank: the settled ones.

    Attributes:
        methods: The compared boards. One with fewer ranked agents than `agents` is not compared about the others.
        left_out: Methods whose boards rank too few agents to be compared.
        agents: Number of agents that at least one of the compared boards ranks.
        unsettled: Number of further agents of the pool, which none of them ranks.
        disputed: Agents whose places differ most, largest difference first.
        distances: Distances between the rankings of two methods that rate at least two agents in common: by the share of pairs that they
            order oppositely, then by `kendall`, largest first.
    """

    methods: list[Compared] = []
    left_out: list[str] = []
    agents: int = 0
    unsettled: int = 0
    disputed: list[Disputed] = []
    distances: list[Distance] = []


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """Prediction accuracy of an online method: means over all pairs of sides. Each pair is predicted before it is counted.

    Attributes:
        method: Name of the method.
        shape: Shape of the games, such as `1:1` or `2:2`. `others`, at the end: all shapes after the first 16 of the pool, which have no
            forecasts. None: all games of a pool that does not tell shapes apart.
        pairs: Number of predicted pairs, by weight.
        enough: Whether there are at least `least_pairs` pairs. With fewer, the means say little about the method.
        log_loss: Mean log loss.
        brier: Mean Brier score.
        kendall: Share of untied pairs that were predicted in the wrong order.
        scale: Factor that makes forecasts of the method's own log odds. It is fitted online.
        calibration_error: Mean distance between forecasts and results in the classes.
        classes: Pairs by the forecast of their favourite (0.5 to 0.55, and so on): number of pairs, mean forecast, mean result (a tie is
            1/2), share of ties. Only classes with a pair.
    """

    method: str
    pairs: float
    log_loss: float | None
    brier: float | None
    kendall: float | None
    scale: float = 1.0
    calibration_error: float | None = None
    classes: list[ForecastClass] = []
    enough: bool = True
    shape: str | None = None


class Prequential(Finding, frozen=True, kw_only=True):
    """Prediction accuracy of the online methods by shape of games, most forecasts first, and in each shape the smallest log loss first.

    Attributes:
        forecasts: The methods, for each shape.
        least_pairs: Number of predicted pairs from which the means are meaningful.
    """

    forecasts: list[Forecast] = []
    least_pairs: float = 0.0


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """All parts of the insight.

    Attributes:
        agents: Number of agents in the analysis.
        left_out: Number of agents left out of the analysis. A very large pool is limited to its most active agents.
    """

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
