"""Sections 2 and 3.3 and appendix F of Balduzzi et al. 2018: antisymmetric matrices, by Hodge and by Schur."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks.papers.atari import ten_agents
from benchmarks.papers.figures import COLOURS, DIVERGING, grid
from benchmarks.papers.items import Drawn, Output, Run, claim, equal, unprinted
from benchmarks.papers.nash_averaging.matrices import EXACT, C, T, antisymmetric, centred_elo
from benchmarks.papers.nash_averaging.paper import PAPER
from ratings_core.analysis.hodge import Hodge, hodge
from ratings_core.analysis.schur import Schur, schur
from ratings_core.equilibria import nash_average_agents
from ratings_core.solution import Floats


@PAPER.item(
    "propositions", "Section 2, propositions 1 to 3", "Fixed points of Elo, the Schur form by singular values, and the Hodge decomposition"
)
def propositions(run: Run) -> Output:
    rng = np.random.default_rng(run.seeds(1))
    chances = 1 / (1 + np.exp(-2 * antisymmetric(rng, 6)))
    ratings = centred_elo(chances) * math.log(10) / 400
    predicted = 1 / (1 + np.exp(-np.subtract.outer(ratings, ratings)))
    rows = float(np.abs(chances.sum(axis=1) - predicted.sum(axis=1)).max())
    true = rng.normal(size=6)
    of_elo = hodge(np.subtract.outer(true, true))
    flow = hodge(antisymmetric(rng, 6))
    scores = rng.normal(size=(4, 6))
    planes = schur(np.block([[np.zeros((4, 4)), scores], [-scores.T, np.zeros((6, 6))]])).strength
    singular = np.linalg.svd(scores, compute_uv=False)
    error = float(np.abs(of_elo.ratings - true + true.mean()).max())
    parts = flow.cyclic_energy + float(((flow.flow - flow.rotation) ** 2).sum())
    values = [
        equal("P1: largest difference of row sums, empirical and predicted", 0.0, rows, tolerance=1e-7),
        equal("P3: divergence of Elo's log odds minus the ratings", 0.0, error, tolerance=EXACT),
        equal("P3: cyclic energy of Elo's log odds", 0.0, of_elo.cyclic_energy, tolerance=EXACT),
        equal("P2: strengths of the planes are the singular values", singular, planes, tolerance=EXACT),
        equal("Hodge: largest divergence of rot", 0.0, flow.certificate.value, tolerance=EXACT),
        equal("Hodge: energies of grad and rot sum to the energy", flow.energy, parts, tolerance=EXACT),
    ]  # fmt: skip
    return Output(values, note="Six agents with random log odds; four agents and six tasks for proposition 2.")


@PAPER.item("latent-skills", "Section 3.3", "Agents against tasks: averages, and latent skills by singular values")
def latent_skills(_: Run) -> Output:
    table = ten_agents()
    S = table.normalised() - table.normalised().mean()
    skill, difficulty = S.mean(axis=1), -S.mean(axis=0)
    rest = S - np.subtract.outer(skill, difficulty)
    planes = schur(np.block([[np.zeros((len(S), len(S))), rest], [-rest.T, np.zeros((S.shape[1], S.shape[1]))]]))
    left, strength, _right = np.linalg.svd(rest)
    explained = 1 - float((rest**2).sum() / (S**2).sum())
    figure, (axes,) = grid(width=6.4, height=3.8)
    left *= np.where(np.abs(left.max(axis=0)) >= np.abs(left.min(axis=0)), 1, -1)
    x, y = left[:, 0] * strength[0], left[:, 1] * strength[1]
    axes.scatter(x, y, color=COLOURS[0])
    height = -np.inf
    label: dict[str, Any] = {"fontsize": 8, "va": "center", "bbox": {"fc": "white", "ec": "none", "pad": 0.5}}
    for agent in np.argsort(y):
        height = max(height + 0.22, y[agent])
        arrow = {"arrowstyle": "-", "lw": 0.5, "color": "#888888"}
        axes.annotate(table.agents[agent], (x[agent], y[agent]), (x[agent] + 0.6, height), arrowprops=arrow, **label)
    axes.set(xlabel="first latent ability", ylabel="second latent ability", title="What averages leave out of ten Atari agents")
    axes.margins(0.15)
    sums = float(max(np.abs(rest.sum(axis=0)).max(), np.abs(rest.sum(axis=1)).max()))
    values = [
        equal("rows and columns of the rest sum to 0", 0.0, sums, tolerance=EXACT),
        equal("planes of the Schur form are the singular values", strength[strength > 1e-9], planes.strength, tolerance=EXACT),
        unprinted("share of the scores' energy that averages explain", explained),
        unprinted("share of the rest in the first two abilities", float((strength[:2] ** 2).sum() / (strength**2).sum())),
    ]  # fmt: skip
    note = "The paper shows the method and no numbers. Scores are those of ten Atari agents, scaled to 0..1 in each game, minus their mean."
    return Output(values, [Drawn("abilities", "Agents by the two strongest latent abilities.", figure)], note=note)


def plane_points(found: Schur) -> Floats:
    """Agents as points of the strongest plane (m, 2), scaled so that signed areas are the matrix's entries."""
    root = math.sqrt(float(found.strength[0]))
    return np.column_stack([found.forward[:, 0], found.across[:, 0]]) * root


@PAPER.item("appendix-f", "Appendix F, figures 3 and 4", "Transitive agents lie on a line, cyclic ones on a circle")
def appendix_f(_: Run) -> Output:
    values = []
    figure, panels = grid(columns=2, width=7.0, height=3.4)
    for name, matrix, axes, strength, div, mix, averages in (
        ("T", T, panels[0], math.sqrt(20), (1.5, 0.5, -0.5, -1.5), (1.0, 0.0, 0.0, 0.0), (0.0, -1.0, -2.0, -3.0)),
        ("C", C, panels[1], 2.0, (0.0, 0.0, 0.0, 0.0), (0.25,) * 4, (0.0,) * 4),
    ):
        found, split, solved = schur(matrix), hodge(matrix), nash_average_agents(matrix)
        points = plane_points(found)
        areas = np.outer(points[:, 0], points[:, 1]) - np.outer(points[:, 1], points[:, 0])
        values += [
            equal(f"{name}: div", div, split.ratings, tolerance=EXACT),
            equal(f"{name}: share of the cyclic part", 0.0 if name == "T" else 1.0, float(split.share or 0.0), tolerance=EXACT),
            equal(f"{name}: rank", 2, 2 * len(found.strength)),
            equal(f"{name}: strength of its plane", strength, float(found.strength[0]), tolerance=EXACT),
            equal(f"{name}: signed areas are the entries (eq. 43)", 0.0, float(np.abs(areas - matrix).max()), tolerance=EXACT),
            equal(f"{name}: maxent Nash", mix, solved.agent_dist, tolerance=EXACT),
            equal(f"{name}: Nash averages", averages, solved.ratings, tolerance=EXACT),
        ]
        draw_plane(axes, points, f"{'Transitive' if name == 'T' else 'Cyclic'} matrix {name}")
    mixed = hodge(T + C)
    gradient, rotation = np.subtract.outer(mixed.ratings, mixed.ratings), cyclic_part(mixed)
    values += [
        equal("T + C: largest difference of grad(div) and T", 0.0, float(np.abs(gradient - T).max()), tolerance=EXACT),
        equal("T + C: largest difference of rot and C", 0.0, float(np.abs(rotation - C).max()), tolerance=EXACT),
    ]
    line_, circle = plane_points(schur(T)), plane_points(schur(C))
    values += [
        claim(
            "rows of Q for T lie on a line",
            "yes",
            "to 1e-9",
            holds=bool(np.ptp(line_[:, 1]) < 1e-9),
        ),
        claim(
            "rows of Q for C lie on a circle around the origin",
            "yes",
            "radii equal to 1e-9",
            holds=bool(np.ptp(np.hypot(*circle.T)) < 1e-9),
        ),
    ]
    caption = (
        "Rows of the Schur factor as points. Shaded: the parallelogram of agents 1 and 2, whose signed area is their entry (figure 4)."
    )
    parts = (("A = T + C", T + C), ("transitive part, grad(div A)", gradient), ("cyclic part, rot A", rotation))
    return Output(values, [Drawn("schur", caption, figure), _drawn_parts(parts)])


def cyclic_part(found: Hodge) -> Floats:
    """The cyclic part of a decomposed matrix (m, m), antisymmetric."""
    part = np.zeros((len(found.ratings), len(found.ratings)))
    part[found.first, found.second], part[found.second, found.first] = found.rotation, -found.rotation
    return part


def _drawn_parts(parts: Sequence[tuple[str, Floats]]) -> Drawn:
    """Matrices as coloured tables, side by side."""
    figure, panels = grid(columns=len(parts), width=8.4, height=2.9)
    most = max(float(np.abs(part).max()) for _, part in parts)
    for axes, (title, part) in zip(panels, parts, strict=True):
        axes.imshow(part, cmap=DIVERGING, vmin=-1.5 * most, vmax=1.5 * most)
        for (row, column), entry in np.ndenumerate(np.round(part, 9)):
            axes.text(column, row, f"{entry + 0.0:g}", ha="center", va="center")
        agents = range(len(part))
        axes.set_xticks(agents, [str(agent + 1) for agent in agents])
        axes.set_yticks(agents, [str(agent + 1) for agent in agents])
        axes.grid(visible=False)
        axes.set(title=title)
    return Drawn("hodge", "The Hodge decomposition of the sum of the two matrices gives back both. Rows beat columns.", figure)


def draw_plane(axes: Axes, points: Floats, title: str) -> None:
    """Agents of one plane as numbered points, with the parallelogram of the first two."""
    corners = np.array([[0.0, 0.0], points[0], points[0] + points[1], points[1]])
    axes.fill(*corners.T, color=COLOURS[5], alpha=0.3, linewidth=0)
    axes.scatter(*points.T, color=COLOURS[1], zorder=3)
    axes.scatter(0, 0, color="#555555", marker="+", zorder=3)
    for number, point in enumerate(points, 1):
        axes.annotate(str(number), point, xytext=(5, 4), textcoords="offset points")
    axes.set(title=title, aspect="equal")
    axes.margins(0.15)
