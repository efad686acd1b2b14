"""What readers see of an insight: the findings without hidden agents, and the display names of the agents that they name."""

from typing import Final, TypeVar

import msgspec

from ratings_core.findings.records import Clones, Connectivity, Disagreement, Findings, LookAlike, LookAlikes, Top
from services.boards.insight import Insight
from services.control.details_records import PoolDetails

GroupT = TypeVar("GroupT", str, LookAlike)
_GROUP: Final = 2
"""Agents without which there is no group of copies, and none of names that look alike."""


def visible_insight(insight: Insight, details: PoolDetails) -> Insight:
    """An insight whose findings name no hidden agent, with the number of those that were left out and the display names of the others."""
    if insight.findings is None:
        return insight
    named = named_agents(insight.findings)
    left_out = named & details.hidden()
    return msgspec.structs.replace(
        insight,
        findings=_without(insight.findings, left_out) if left_out else insight.findings,
        hidden_agents=len(left_out),
        display_names=details.display_names(named - left_out) or msgspec.UNSET,
    )


def named_agents(found: Findings) -> set[str]:
    """The agents that findings name."""
    links, clones, top = found.connectivity, found.clones, found.top
    return {
        *links.apart,
        *(row.agent for row in links.thin),
        *(agent for board in links.leaders for agent in board.agents),
        *(agent for cycle in found.cycles.cycles for agent in cycle.agents),
        *(agent for group in clones.exact for agent in group),
        *(agent for pair in clones.near for agent in pair.agents),
        *(one.agent for group in found.look_alikes.groups for one in group),
        *top.agents,
        *([] if top.rival is None else [top.rival]),
        *(row.agent for row in found.disagreement.disputed),
    }


def _without(found: Findings, left_out: set[str]) -> Findings:
    """Findings that do not name these agents. Totals count those of them that no list names."""
    cycles = [cycle for cycle in found.cycles.cycles if left_out.isdisjoint(cycle.agents)]
    return msgspec.structs.replace(
        found,
        connectivity=_links(found.connectivity, left_out),
        cycles=msgspec.structs.replace(found.cycles, cycles=cycles),
        clones=_clones(found.clones, left_out),
        look_alikes=_look_alikes(found.look_alikes, left_out),
        top=_top(found.top, left_out),
        disagreement=_disagreement(found.disagreement, left_out),
    )


def _links(part: Connectivity, left_out: set[str]) -> Connectivity:
    apart, thin = _names(part.apart, left_out), [row for row in part.thin if row.agent not in left_out]
    leaders = [msgspec.structs.replace(board, agents=_names(board.agents, left_out)) for board in part.leaders]
    return msgspec.structs.replace(
        part,
        apart=apart,
        apart_total=part.apart_total - len(part.apart) + len(apart),
        thin=thin,
        thin_total=part.thin_total - len(part.thin) + len(thin),
        leaders=[board for board in leaders if board.agents],
    )


def _clones(part: Clones, left_out: set[str]) -> Clones:
    exact = _groups([_names(group, left_out) for group in part.exact])
    near = [pair for pair in part.near if left_out.isdisjoint(pair.agents)]
    return msgspec.structs.replace(
        part,
        exact=exact,
        exact_total=part.exact_total - len(part.exact) + len(exact),
        near=near,
        near_total=part.near_total - len(part.near) + len(near),
    )


def _look_alikes(part: LookAlikes, left_out: set[str]) -> LookAlikes:
    groups = _groups([[one for one in group if one.agent not in left_out] for group in part.groups])
    return msgspec.structs.replace(part, groups=groups, groups_total=part.groups_total - len(part.groups) + len(groups))


def _top(part: Top, left_out: set[str]) -> Top:
    """The number of agents at the top stays, so that a top of hidden agents differs from an empty one."""
    return msgspec.structs.replace(part, agents=_names(part.agents, left_out), rival=None if part.rival in left_out else part.rival)


def _disagreement(part: Disagreement, left_out: set[str]) -> Disagreement:
    return msgspec.structs.replace(part, disputed=[row for row in part.disputed if row.agent not in left_out])


def _names(agents: list[str], left_out: set[str]) -> list[str]:
    return [agent for agent in agents if agent not in left_out]


def _groups(groups: list[list[GroupT]]) -> list[list[GroupT]]:
    return [group for group in groups if len(group) >= _GROUP]
