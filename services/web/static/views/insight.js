// All findings about a pool, in words.
import { ago, count, leftOut, nameOf, percent, some, whole } from "../format.js";
import { forecastTitles, ordersOf, title } from "../methods.js";
import { html } from "../ui.js";
import { apart } from "./copies.js";

const PARTS = {
  connectivity: ["Links", links],
  cyclicity: ["Cyclicity", cyclicity],
  order: ["Order", order],
  cycles: ["Strongest cycles", cycles],
  clones: ["Copies", clones],
  look_alikes: ["Look-alikes", lookAlikes],
  top: ["The top", votes],
  disagreement: ["Methods disagree", disagree],
  prequential: ["Forecasts", forecasts],
};

/** @param {any} props */
export default function Insight({ insight }) {
  if (!insight?.findings && !insight?.error) return html`<p class="soft" role="status">The findings are being computed.</p>`;
  const { findings, error } = insight;
  return html`<section class="card" id="insight"><h2>All findings</h2>
    ${error ? html`<p class="trouble">${findings ? "The newest computation failed" : "No insight yet"}: ${error}</p>` : null}
    ${findings ? html`<p class="soft">Of ${count(insight.outcomes ?? 0, "outcome")}, computed ${ago(insight.age_seconds ?? 0)}. ${leftOut(insight.hidden_agents)}</p><dl class="findings">${Object.entries(PARTS).map(([name, [label, told]]) => {
      const part = findings[name];
      if (!part) return null;
      return html`<dt key=${name}>${label}</dt><dd>${part.not_applicable ? html`<p class="soft">not applicable: ${part.not_applicable}</p>` : /** @type {any} */ (told)(part, (/** @type {string} */ agent) => nameOf(agent, insight)).map((/** @type {any} */ line, /** @type {number} */ i) => html`<p key=${i}>${line}</p>`)}</dd>`;
    })}</dl>` : null}</section>`;
}

/** @param {any} part @param {(agent: string) => string} named What readers see as the name of an agent. */
function links(part, named) {
  const told = [`${count(part.pairs, "pair")} with games, ${percent(part.density)} of all pairs${part.components === 1 ? "; all agents are linked" : ""}`];
  if (part.components > 1) told.push(`${part.components} groups without games between them; outside the largest: ${some(part.apart.map(named), part.apart_total)}`);
  if (part.thin_total) told.push(`weakly connected, fewer than ${part.threshold.toPrecision(3)} effective games: ${some(part.thin.map((/** @type {any} */ one) => `${named(one.agent)} (${count(one.games, "game")} against ${one.opponents})`), part.thin_total)}`);
  if (part.leaders.length) told.push(`boards with weakly connected agents among the first: ${part.leaders.map((/** @type {any} */ board) => title(board.method)).join(", ")}`);
  return told;
}

/** @param {any} part */
function cyclicity(part) {
  if (part.within_noise) return [`no cyclic part beyond noise: the estimate of ${percent(part.share)} fits one order of strength, so a cycle of majorities can be chance (assumes ${part.assumes})`];
  return [html`<b>${percent(part.share)}</b> of the results are cyclic, after noise is removed (assumes ${part.assumes})`];
}

/** @param {any} part */
function order(part) {
  const interval = `95 % interval ${part.low.toPrecision(3)} to ${part.high === null || part.high === undefined ? "infinite" : part.high.toPrecision(3)}, from ${part.pairs} pairs with several games`;
  if (part.kappa === null || part.kappa === undefined) return [`one order of strength is compatible with the results (kappa infinite, ${interval})`];
  return [html`results of pairs deviate from an order; the order's prediction is worth <b>${part.kappa.toPrecision(3)} games</b> (kappa; ${interval})`, `evidence for deviations ${part.evidence.toPrecision(3)} nats, p ${part.p_value === 0 ? "below 1e-300" : `= ${part.p_value.toPrecision(2)}`}`];
}

/** @param {any} part @param {(agent: string) => string} named What readers see as the name of an agent. */
function cycles(part, named) {
  if (!part.cycles.length) return ["none: the head-to-head majorities form no cycle"];
  return part.cycles.map((/** @type {any} */ one) => `${[...one.agents, one.agents[0]].map(named).join(" › ")}, by head-to-head majorities of ${one.margins.join(", ")}`);
}

/** @param {any} part @param {(agent: string) => string} named What readers see as the name of an agent. */
function clones(part, named) {
  const told = [["equal agents", part.exact.map((/** @type {string[]} */ group) => group.map(named)), part.exact_total], ["equal tasks", part.tasks, part.tasks_total]].flatMap(([what, groups, total]) =>
    [...groups.slice(0, 5).map((/** @type {string[]} */ group) => `${what}: ${some(group)}`), ...(total > 5 ? [`and ${total - 5} more groups of ${what}`] : [])]);
  told.push(...apart(part).slice(0, 5).map((/** @type {any} */ pair) => `near copies: ${pair.agents.map(named).join(" and ")}, mean results differ by at most ${pair.distance.toPrecision(2)}`));
  if (part.near_not_applicable) told.push(`near copies: ${part.near_not_applicable}`);
  return told.length ? told : [part.radius ? `none: no near copies within ${part.radius}; weakly connected agents are not compared` : "none"];
}

/** @param {any} part @param {(agent: string) => string} named What readers see as the name of an agent. */
function lookAlikes(part, named) {
  const described = (/** @type {any} */ one) => `${named(one.agent)} (activity ${whole(one.activity)}, ${one.characters.join(", ") || "plain ASCII"})`;
  const told = part.groups.slice(0, 5).map((/** @type {any[]} */ group) => `names look alike: ${group.slice(0, 5).map(described).join("; ")}`);
  if (part.groups_total > 5) told.push(`and ${part.groups_total - 5} more groups`);
  return told.length ? told : ["none: no two names look alike"];
}

/** @param {any} part @param {(agent: string) => string} named What readers see as the name of an agent. */
function votes(part, named) {
  const least = part.low === part.high ? String(part.low) : part.high === null ? `at least ${part.low}` : `${part.low} to ${part.high}`;
  const unit = least === "1" ? part.unit.replace(/s$/, "") : part.unit;
  const alone = part.agents_total === 1;
  const top = part.agents_total ? `${some(part.agents.length ? part.agents.map(named) : ["a hidden agent"], part.agents_total)} ${alone ? "loses" : "lose"} to no opponent` : "every agent loses to another one";
  const told = [html`by majority of head-to-head results, ${top}; without <b>${least} ${unit}</b>, ${part.rival === null ? "a hidden agent" : named(part.rival)} would be level or ahead`];
  const places = Object.entries(part.elsewhere ?? {}).map(([method, rank]) => `${rank} by ${title(method)}`);
  if (places.length) told.push(`other boards rank ${alone ? "it" : "the best of them"} lower: ${places.join(", ")}`);
  if (part.votes.length) told.push(`${part.unit}: ${part.votes.join(", ")}`);
  return told;
}

/** @param {any} part @param {(agent: string) => string} named What readers see as the name of an agent. */
function disagree(part, named) {
  if (!part.disputed.length) return [`none: one order of the ${part.agents} agents fits all boards`];
  const [far] = part.distances;
  const most = far?.kendall ? [`${far.methods.map(title).join(" and ")} differ most: they ${ordersOf(far)}`] : [];
  return [...part.disputed.slice(0, 5).map((/** @type {any} */ one) => `${named(one.agent)}: place ${one.high_place} by ${title(one.high)}, ${one.low_place} by ${title(one.low)}`), ...most];
}

/** @param {any} part */
function forecasts(part) {
  const named = forecastTitles(part.forecasts);
  return part.forecasts.map((/** @type {any} */ one) => {
    if (one.enough === false) return `${named(one)}: not enough outcomes yet (${whole(one.pairs)} of ${part.least_pairs} predicted pairs)`;
    const means = [["log loss", one.log_loss], ["Brier", one.brier], ["calibration error", one.calibration_error ?? null]].filter(([, value]) => value !== null).map(([name, value]) => `${name} ${/** @type {number} */ (value).toFixed(4)}`);
    if (one.kendall !== null) means.push(`${percent(one.kendall)} of wins predicted wrongly`);
    return `${named(one)}: ${means.join(" · ") || "no pair yet"}`;
  });
}
