// The strongest cycles: each agent beats the next one, and the last beats the first. No order can say this.
import { Label, Sized, wrapped } from "../chart.js";
import { leftOut, nameOf, whole } from "../format.js";
import { contradicted } from "../methods.js";
import { Agent, Figure } from "../parts.js";
import { html } from "../ui.js";

const DRAWN = 6;

/** @param {any} props */
export default function Cycles({ pool, insight, link, kind }) {
  const found = insight?.findings;
  if (!found) return html`<p class="soft" role="status">${insight?.error ?? "The findings are being computed."}</p>`;
  const { cycles, cyclicity } = found;
  if (cycles.not_applicable) return html`<p class="soft">Not applicable: ${cycles.not_applicable}</p>`;
  const chance = cycles.cycles.length > 0 && cycles.cycles.every((/** @type {any} */ one) => one.proven === false);
  const tested = chance ? " No cycle is proven: majorities of few games form cycles by chance." : cycles.untested && cycles.cycles.length ? ` These cycles are not tested against chance: ${cycles.untested}.` : "";
  const share = `${tested}${cyclicity.against_order ? ` The best order contradicts ${contradicted(cyclicity)} of the margins of all majorities.` : ""}`;
  if (!cycles.cycles.length && insight.hidden_agents) return html`<section class="card"><h2>Cycles</h2><p>None that can be shown: ${leftOut(insight.hidden_agents)}${share}</p></section>`;
  if (!cycles.cycles.length) return html`<section class="card"><h2>Cycles</h2><p>None: the head-to-head majorities form no cycle, so one order agrees with all of them.</p></section>`;
  const named = (/** @type {string} */ agent) => nameOf(agent, insight);
  const unit = kind === "games" ? "games" : "tasks";
  const table = [["cycle", "agent", "beats", "by"], ...cycles.cycles.flatMap((/** @type {any} */ one, /** @type {number} */ i) => one.agents.map((/** @type {string} */ agent, /** @type {number} */ j) => [i + 1, agent, one.agents[(j + 1) % one.agents.length], one.margins[j]]))];
  const counted = cycles.cycles[0].games?.length ? ", and of how many" : "";
  const circles = html`<div class="two">${cycles.cycles.slice(0, DRAWN).map((/** @type {any} */ one) => html`<div key=${one.agents.join()}><${Sized}>${(/** @type {number} */ width) => circle({ agents: one.agents.map(named), margins: one.margins, games: one.games ?? [] }, Math.min(width, 420))}<//>
      <p>${[...one.agents, one.agents[0]].map((agent, i) => html`${i ? " beats " : ""}<${Agent} pool=${pool} agent=${agent} answer=${insight} />`)}${one.proven === false && !chance ? " (not proven)" : ""}</p></div>`)}</div>`;
  return html`<${Figure} title="Cycles" drawn=${!chance} says=${`${chance ? share : ""} An arrow points from an agent to the one that it beats; the number is how many more ${unit} it won against it than it lost${counted}.${chance ? "" : share} ${leftOut(insight.hidden_agents)}`} file=${`${pool}-cycles`} table=${table} link=${link}>
    ${chance ? html`<details class="chance"><summary>Cycles that are not proven</summary>${circles}</details>` : circles}<//>`;
}

/** @param {{agents: string[], margins: number[], games: (number | undefined)[]}} cycle games: of each agent against the next one. @param {number} width */
function circle({ agents, margins, games }, width) {
  const by = (/** @type {number} */ i) => `${whole(margins[i])}${games[i] ? ` of ${whole(games[i] ?? 0)}` : ""}`;
  const height = 250;
  const [cx, cy, rx, ry] = [width / 2, height / 2, width / 2 - 80, height / 2 - 44];
  const at = agents.map((_, i) => {
    const angle = (2 * Math.PI * i) / agents.length - Math.PI / 2;
    return { x: cx + rx * Math.cos(angle), y: cy + ry * Math.sin(angle) };
  });
  const bottom = Math.max(...at.map((point) => point.y)) + 40;
  return html`<svg class="chart" width=${width} height=${bottom} role="img" aria-label=${`Cycle: ${agents.map((agent, i) => `${agent} beats ${agents[(i + 1) % agents.length]} by ${by(i)}`).join(", ")}`}>
    ${at.map((from, i) => {
      const to = at[(i + 1) % at.length];
      const length = Math.hypot(to.x - from.x, to.y - from.y);
      const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
      const [begin, end] = [room(agents[i], ux, uy), room(agents[(i + 1) % at.length], ux, uy) + 8];
      const [x1, y1, x2, y2] = [from.x + begin * ux, from.y + begin * uy, to.x - end * ux, to.y - end * uy];
      const head = [[x2 + 8 * ux, y2 + 8 * uy], [x2 - 5 * uy, y2 + 5 * ux], [x2 + 5 * uy, y2 - 5 * ux]].map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
      const [mx, my] = [(x1 + x2) / 2 + 12 * uy, (y1 + y2) / 2 - 12 * ux];
      return html`<g key=${i}><line class="arrow" x1=${x1} y1=${y1} x2=${x2} y2=${y2} /><polygon class="arrow-head" points=${head} /><text class="strong" x=${mx} y=${my + 5} text-anchor=${uy > 0.3 ? "start" : uy < -0.3 ? "end" : "middle"}>${by(i)}</text></g>`;
    })}
    ${agents.map((agent, i) => html`<${Label} key=${i} x=${at[i].x} y=${at[i].y} lines=${wrapped(agent, 16)} anchor="middle" kind="node" />`)}</svg>`;
}

/** How far an arrow stays from the middle of a name, so that it does not cross it. @param {string} agent @param {number} ux @param {number} uy Direction. */
function room(agent, ux, uy) {
  const lines = wrapped(agent, 16);
  const [width, height] = [Math.max(...lines.map((line) => line.length)) * 4.2 + 8, lines.length * 7 + 8];
  return Math.min(width / Math.max(Math.abs(ux), 1e-9), height / Math.max(Math.abs(uy), 1e-9));
}
