"""Parts of a pool's insight: they convert findings of the library, which use agent ids, to report entries with agent names."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ratings_core.analysis import connectivity as graph
from ratings_core.analysis import disagreement as places
from ratings_core.analysis.flips import Flip, flip_top
from ratings_core.analysis.insight import NEAR_AGENTS, Insight
from ratings_core.batch.pair_counts import of_tally
from ratings_core.findings import records as findings
from ratings_core.findings.ranked_board import RankedBoard
from ratings_core.games.clones import CloneClasses, clone_classes
from ratings_core.margins import posterior_margins
from ratings_core.methods.removals import cells, weighs_more
from ratings_core.online.prequential import Prequential
from ratings_core.problems.inputs import GamesInput, ScoresInput, sparse_margins
from ratings_core.ranking import Ranking
from ratings_core.records.shapes import LEAST_PAIRS, OTHERS_NAME
from ratings_core.tallies import PairCounts

SHOWN: Final = 20
"""Largest number of entries in a list of the report. A field `..._total` counts all entries."""
FEW_SHARE: Final = 0.1
"""An agent is weakly connected if it has fewer than `records.FEW_GAMES` effective games, or less than this share of the median agent's."""
RADIUS: Final = 0.05
LEADERS: Final = 10
RATED_SHARE: Final = 0.5
"""Boards that rank fewer agents than this share of the board with most are not compared with the others."""


def _named(names: Sequence[str], ids: Sequence[int]) -> list[str]:
    return [names[i] for i in ids]


class Thin:
    """The weakly connected agents among agents 0 to n-1. ids: Their ids, weakest connection first."""

    def __init__(self, counts: PairCounts, n: int) -> None:
        weight = counts.wins + counts.losses + counts.ties
        self.games = np.bincount(counts.first, weight, n) + np.bincount(counts.second, weight, n)
        self.opponents = np.bincount(counts.first, minlength=n) + np.bincount(counts.second, minlength=n)
        self.effective = graph.effective_games(counts, n) if n <= graph.RESISTANCES_UP_TO else None
        links = self.games if self.effective is None else self.effective
        self.threshold = max(findings.FEW_GAMES, FEW_SHARE * float(np.median(links)))
        below = np.flatnonzero(links < self.threshold)
        self.ids = below[np.argsort(links[below], kind="stable")]

    def row(self, names: Sequence[str], i: int) -> findings.ThinAgent:
        """The report entry of agent i."""
        worth = None if self.effective is None else float(self.effective[i])
        return findings.ThinAgent(agent=names[i], games=float(self.games[i]), opponents=int(self.opponents[i]), effective_games=worth)


def connectivity(links: graph.Connectivity, names: Sequence[str], thin: Thin, standings: Sequence[RankedBoard]) -> findings.Connectivity:
    """The comparison graph: weakly connected agents, and the boards that such agents lead."""
    sizes = np.bincount(links.met)
    apart = np.flatnonzero(links.met != np.argmax(sizes))
    return findings.Connectivity(
        components=len(sizes),
        largest=int(sizes.max()),
        apart=_named(names, apart[:SHOWN].tolist()),
        apart_total=len(apart),
        rateable=links.rateable,
        pairs=links.pairs,
        density=links.density,
        thin=[thin.row(names, i) for i in thin.ids[:SHOWN].tolist()],
        thin_total=len(thin.ids),
        threshold=thin.threshold,
        leaders=_thin_leaders({names[i] for i in thin.ids.tolist()}, standings),
    )


def _thin_leaders(weak: set[str], standings: Sequence[RankedBoard]) -> list[findings.ThinLeaders]:
    boards = [(board.method, board.leaders(LEADERS)) for board in standings]
    leaders = [(method, [name for name in first if name in weak], len(first)) for method, first in boards]
    return [findings.ThinLeaders(method=method, agents=there, of=of) for method, there, of in leaders if there]


def cyclicity(insight: Insight, order: findings.Order, *, two_sided: bool) -> findings.Cyclicity:
    """How far majorities are from an order, and results from strengths. order: Evidence for deviations from strengths."""
    return findings.Cyclicity(
        against_order=insight.violations.share,
        against_order_least=insight.violations.least,
        unexplained=insight.unexplained,
        no_unexplained=insight.no_unexplained,
        assumes="independent games" if two_sided else "independent pairs",
        within_noise=None if order.not_applicable else order.kappa is None and not insight.proven,
    )


def order(taken: GamesInput | ScoresInput) -> findings.Order:
    """Kappa of the pool's games, with its interval and its evidence, which is of decided games."""
    if isinstance(taken, ScoresInput):
        return findings.Order(not_applicable="needs games: results of many pairs on the same task depend on each other")
    concentration = posterior_margins(of_tally(taken.counts, len(taken.names))).concentration
    if not concentration.pairs:
        return findings.Order(not_applicable="needs pairs with several decided games: no pair of agents has more than one")
    return findings.Order(
        kappa=concentration.kappa if math.isfinite(concentration.kappa) else None,
        low=concentration.low,
        high=concentration.high if math.isfinite(concentration.high) else None,
        evidence=concentration.evidence,
        p_value=concentration.p_value,
        pairs=concentration.pairs,
    )


def cycles(insight: Insight, taken: GamesInput | ScoresInput, untested: str | None) -> findings.Cycles:
    """The strongest cycles, by name, with the number of games of each of their pairs.

    untested: Why majorities are not tested; None if they are.
    """
    rows = [
        findings.Cycle(
            agents=_named(taken.names, cycle.agents),
            margins=list(cycle.margins),
            weakest=cycle.weakest,
            games=[_games(taken.counts, a, b) for a, b in zip(cycle.agents, [*cycle.agents[1:], cycle.agents[0]], strict=True)],
            proven=None if insight.proven is None else at < insight.proven,
        )
        for at, cycle in enumerate(insight.strongest)
    ]
    return findings.Cycles(cycles=rows, untested=untested)


def _games(counts: PairCounts, a: int, b: int) -> float:
    """Number of games of agents a and b against each other."""
    at = ((counts.first == a) & (counts.second == b)) | ((counts.first == b) & (counts.second == a))
    return float((counts.wins[at] + counts.losses[at] + counts.ties[at]).sum())


def clones(insight: Insight, taken: GamesInput | ScoresInput, thin: Thin) -> findings.Clones:
    """Exact and near clones.

    Exact clones whose margins are all 0 are left out: such margins are no evidence that agents are alike. Near pairs with a weakly
    connected agent are left out: an agent with few games is near to almost every other agent.
    """
    margin = np.abs(taken.counts.wins - taken.counts.losses)
    decided = {*taken.counts.first[margin > 0].tolist(), *taken.counts.second[margin > 0].tolist()}
    weak = set(thin.ids.tolist())
    exact = [group for group in insight.exact if group[0] in decided]
    near = [pair for pair in insight.near or () if not {pair.first, pair.second} & weak]
    tasks = _groups(clone_classes(taken.scores.T)) if isinstance(taken, ScoresInput) else []
    return findings.Clones(
        exact=[_named(taken.names, group[:SHOWN]) for group in exact[:SHOWN]],
        exact_total=len(exact),
        tasks=[_named(taken.tasks, group[:SHOWN]) for group in tasks[:SHOWN]],
        tasks_total=len(tasks),
        near=[
            findings.NearPair(agents=(taken.names[pair.first], taken.names[pair.second]), distance=pair.distance) for pair in near[:SHOWN]
        ],
        near_total=len(near),
        near_not_applicable=f"not searched among more than {NEAR_AGENTS:,} agents" if insight.near is None else None,
        radius=RADIUS,
    )


def _groups(classes: CloneClasses) -> list[list[int]]:
    """The classes with at least two members, largest first."""
    groups = [np.flatnonzero(classes.member == label).tolist() for label in np.flatnonzero(classes.size > 1).tolist()]
    return sorted(groups, key=lambda group: (-len(group), group[0]))


def disagreement(standings: Sequence[RankedBoard], agents: int) -> findings.Disagreement:
    """Differences between boards. agents: Number of agents of the pool."""
    most = max((len(board.rank) for board in standings), default=0)
    compared = [board for board in standings if len(board.rank) >= max(2, RATED_SHARE * most)]
    left_out = [board.method for board in standings if board not in compared]
    if len(compared) < 2:
        return findings.Disagreement(not_applicable="needs at least two boards with two settled agents", left_out=left_out)
    names = sorted(set.union(*(set(board.rank) for board in compared)))
    differences = places.disagreement([Ranking.from_scores(_scores(board, names)) for board in compared])
    methods = [board.method for board in compared]
    distances = _distances(differences, methods)
    if not distances:
        return findings.Disagreement(not_applicable="no two boards rank two agents in common", left_out=left_out)
    return findings.Disagreement(
        methods=[findings.Compared(method=board.method, position=board.position, rated=len(board.rank)) for board in compared],
        left_out=left_out,
        agents=len(names),
        unsettled=max(0, agents - len(names)),
        disputed=_disputed(differences, names, methods),
        distances=distances,
    )


def _scores(board: RankedBoard, names: Sequence[str]) -> list[float]:
    """The negated rank of each agent; NaN for an agent that the board does not rate."""
    return [-board.rank.get(name, math.nan) for name in names]


def _disputed(differences: places.Disagreement, names: Sequence[str], methods: Sequence[str]) -> list[findings.Disputed]:
    furthest = [i for i in np.argsort(-differences.places, kind="stable")[:SHOWN].tolist() if differences.places[i]]
    shared = differences.last - differences.first + 1
    return [
        findings.Disputed(
            agent=names[i],
            high=methods[high],
            high_place=int(differences.first[high, i]),
            high_shared=int(shared[high, i]),
            low=methods[low],
            low_place=int(differences.first[low, i]),
            low_shared=int(shared[low, i]),
            places=int(differences.places[i]),
        )
        for i, high, low in ((i, differences.high[i], differences.low[i]) for i in furthest)
    ]


def _distances(differences: places.Disagreement, methods: Sequence[str]) -> list[findings.Distance]:
    pairs = [(i, j) for i in range(len(methods)) for j in range(i + 1, len(methods)) if differences.both[i, j] >= 2]
    rows = [
        findings.Distance(
            methods=(methods[i], methods[j]),
            kendall=float(differences.distance[i, j]),
            tied=float(differences.tied[i, j]),
            agents=int(differences.both[i, j]),
        )
        for i, j in pairs
    ]
    return sorted(rows, key=lambda row: (-(row.opposite or 0.0), -row.kendall, row.methods))


def prequential(sums: Mapping[str, Prequential]) -> findings.Prequential:
    """Prediction accuracy of online methods by shape of games, in the order of `findings.Prequential`."""
    if not sums:
        return findings.Prequential(not_applicable="the pool has no online method, so there are no predictions")
    rows = [
        findings.Forecast(
            method=method,
            shape=shape,
            pairs=summed.pairs,
            log_loss=summed.log_loss,
            brier=summed.brier,
            kendall=summed.kendall,
            scale=summed.scale,
            calibration_error=summed.calibration_error,
            classes=summed.classes,
            enough=summed.pairs >= LEAST_PAIRS,
        )
        for method, all_games in sums.items()
        for shape, summed in (all_games.by_shape if all_games.shapes is not None else {None: all_games}).items()
    ]
    rows = sorted(rows, key=_order)
    return findings.Prequential(forecasts=rows, least_pairs=LEAST_PAIRS)


def _order(row: findings.Forecast) -> tuple[bool, float, str, float, str]:
    loss = np.inf if row.log_loss is None else row.log_loss
    return row.shape == OTHERS_NAME, -row.pairs, row.shape or "", loss, row.method


_LARGEST_TABLE: Final = 20_000
"""Largest table (agents x tasks) for which the removed tasks are named. For larger tables, margins alone bound their number."""


def top(
    taken: GamesInput | ScoresInput, of_margins: Flip | None, weights: str | None, standings: Sequence[RankedBoard] = ()
) -> findings.Top:
    """The fewest outcomes or tasks whose removal lets a rival draw level with the top, by observed head-to-head majorities.

    of_margins: The answer computed from margins alone; None if no agent beats another. weights: Why margins do not count votes, as
    `other_weights` says. standings: Boards that may have another top.
    """
    if weights is not None:
        return findings.Top(not_applicable=weights)
    flip, unit, votes = of_margins, "outcomes", list[str]()
    if isinstance(taken, ScoresInput):
        unit = "tasks"
        if taken.scores.size <= _LARGEST_TABLE:
            flip = flip_top(taken.profile)
            measured = np.flatnonzero(~np.isnan(taken.scores).all(axis=0))
            votes = [taken.tasks[measured[vote]] for vote in (flip.votes if flip else ())]
    if flip is None:
        return findings.Top(not_applicable="no agent beats another one, so all agents are at the top")
    names, leaders = taken.names, _unbeaten(taken)
    best = _best_ranks({names[i] for i in leaders}, standings)
    return findings.Top(
        agents=[names[i] for i in leaders[:SHOWN]],
        agents_total=len(leaders),
        elsewhere={method: rank for method, rank in best.items() if rank is not None and rank > 1},
        unrated_by=[method for method, rank in best.items() if rank is None],
        rival=names[flip.agent],
        low=flip.low,
        high=flip.high,
        unit=unit,
        votes=votes[:SHOWN],
    )


def _best_ranks(leaders: set[str], standings: Sequence[RankedBoard]) -> dict[str, int | None]:
    """Best rank of the leaders on each board; None on a board that rates none of them. Empty without leaders."""
    if not leaders:
        return {}
    return {board.method: min((board.rank[name] for name in leaders if name in board.rank), default=None) for board in standings}


def other_weights(taken: GamesInput | ScoresInput, outcomes: int) -> str | None:
    """Why margins do not count votes; None if all outcomes weigh 1, as far as the tallies show.

    outcomes: Number of outcomes that the pool counts.
    """
    if isinstance(taken, ScoresInput):
        return None
    results = cells(taken.counts)
    if (results == np.floor(results)).all() and not weighs_more(taken, outcomes):
        return None
    return "outcomes do not all have weight 1, so margins are not numbers of outcomes"


def _unbeaten(taken: GamesInput | ScoresInput) -> Sequence[int]:
    """Ids of the agents with at least one positive margin and no negative margin."""
    margins = sparse_margins(taken)
    lost = np.asarray((margins < 0).sum(axis=1)).ravel()
    won = np.asarray((margins > 0).sum(axis=1)).ravel()
    return [int(i) for i in np.flatnonzero((lost == 0) & (won > 0))]
