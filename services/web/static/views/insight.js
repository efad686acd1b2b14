// All findings about a pool, in words.
import { ago, count, leftOut, nameOf, percent, some, whole } from "../format.js";
import { contradicted, disputedSays, forecastTitles, ordersOf, title } from "../methods.js";
import { Figure } from "../parts.js";
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
export default function Insight({ pool, insight, link }) {
  if (!insight?.findings && !insight?.error) return html`<p class="soft" role="status">The findings are being computed.</p>`;
  const { findings, error } = insight;
  const named = (/** @type {string} */ agent) => nameOf(agent, insight);
  const lines = (/** @type {string} */ name) => /** @type {any} */ (PARTS)[name][1](findings[name], named, findings);
  const table = [["finding", "text"], ...Object.entries(PARTS).filter(([name]) => findings?.[name]).flatMap(([name, [label]]) => (findings[name].not_applicable ? [[label, `not applicable: ${findings[name].not_applicable}`]] : lines(name).map((/** @type {any} */ line) => [label, textOf(line)])))];
  const says = findings ? `Of ${count(insight.outcomes ?? 0, "outcome")}, computed ${ago(insight.age_seconds ?? 0)}. ${leftOut(insight.hidden_agents)}` : "";
  return html`<${Figure} title="All findings" says=${says} file=${`${pool}-findings`} table=${findings ? table : undefined} link=${link} drawn=${false}>
    ${error ? html`<p class="trouble">${findings ? "The newest computation failed" : "No insight yet"}: ${error}</p>` : null}
    ${findings ? html`<dl class="findings">${Object.entries(PARTS).map(([name, [label]]) => {
      const part = findings[name];
      if (!part) return null;
      return html`<dt key=${name}>${label}</dt><dd>${part.not_applicable ? html`<p class="soft">not applicable: ${part.not_applicable}</p>` : lines(name).map((/** @type {any} */ line, /** @type {number} */ i) => html`<p key=${i}>${line}</p>`)}</dd>`;
    })}</dl>` : null}<//>`;
}

/** The text of a line, without its elements. @param {any} line @returns {string} */
function textOf(line) {
  if (Array.isArray(line)) return line.map(textOf).join("");
  if (line === null || line === undefined || typeof line === "boolean") return "";
  return typeof line === "object" ? textOf(line.props.children) : String(line);
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
  if (typeof part.against_order !== "number") return ["the insight was computed by an earlier version"];
  const order = part.against_order ? html`the best order contradicts <b>${contradicted(part)}</b> of the margins of head-to-head majorities` : "one order agrees with all head-to-head majorities";
  if (part.unexplained === null) return [order, `variation that strengths do not explain: not known (${part.no_unexplained})`];
  if (part.within_noise) return [order, `one strength for each agent is compatible with the results: ${percent(part.unexplained)} not explained is within noise (assumes ${part.assumes})`];
  return [order, `one strength for each agent does not explain ${percent(part.unexplained)} of the results' variation, after noise is removed (assumes ${part.assumes})`];
}

/** @param {any} part */
function order(part) {
  const games = (/** @type {number} */ number) => whole(Number(number.toPrecision(3)));
  const interval = `95 % interval ${games(part.low)} to ${part.high === null || part.high === undefined ? "any number" : games(part.high)}, from ${count(part.pairs, "pair")} with several decided games`;
  if (part.kappa === null || part.kappa === undefined) return [`one strength for each agent fits the results: it says as much about a pair as any number of its games (${interval})`];
  return [html`results of pairs deviate from one strength for each agent: it says as much about a pair as <b>${games(part.kappa)} games</b> of the pair do (${interval})`, `by chance alone, results would deviate at least as much with probability ${part.p_value === 0 ? "below 1e-300" : part.p_value.toPrecision(2)}`];
}

/** @param {any} part @param {(agent: string) => string} named What readers see as the name of an agent. @param {any} findings */
function cycles(part, named, findings) {
  if (!part.cycles.length) return [findings.cyclicity?.against_order ? "none that can be shown: a hidden agent is part of each" : "none: the head-to-head majorities form no cycle"];
  const tested = (/** @type {any} */ one) => (typeof one.proven !== "boolean" ? "" : one.proven ? "; proven" : "; not proven");
  const told = part.cycles.map((/** @type {any} */ one) => `${[...one.agents, one.agents[0]].map(named).join(" › ")}, by head-to-head majorities of ${one.margins.join(", ")}${tested(one)}`);
  return part.untested ? [...told, `not tested against chance: ${part.untested}`] : told;
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
  const unrated = (part.unrated_by ?? []).map(title);
  if (unrated.length) told.push(`${unrated.join(", ")} ${unrated.length === 1 ? "does" : "do"} not have a settled rating of ${alone ? "it" : "them"}`);
  if (part.votes.length) told.push(`${part.unit}: ${part.votes.join(", ")}`);
  return told;
}

/** @param {any} part @param {(agent: string) => string} named What readers see as the name of an agent. */
function disagree(part, named) {
  const [far] = part.distances;
  const opposed = part.disputed.length || part.distances.some((/** @type {any} */ one) => one.kendall > (one.tied ?? 0) / 2 + 1e-12);
  const told = part.disputed.slice(0, 5).map((/** @type {any} */ one) => `${named(one.agent)}: ${disputedSays(one)}`);
  told.push(!far?.kendall ? "none: all boards order the agents that they rank alike" : opposed ? `${far.methods.map(title).join(" and ")} differ most: they ${ordersOf(far)}` : "none: no two boards order two agents oppositely");
  told.push(...part.methods.filter((/** @type {any} */ one) => one.rated < part.agents).map((/** @type {any} */ one) => `${title(one.method)} has settled ratings of ${one.rated} of the ${part.agents} agents, and is compared by these alone`));
  if (part.unsettled) told.push(`without a settled rating on these boards: ${count(part.unsettled, "agent")}`);
  return part.left_out.length ? [...told, `not compared, because they have settled ratings of too few agents: ${part.left_out.map(title).join(", ")}`] : told;
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
