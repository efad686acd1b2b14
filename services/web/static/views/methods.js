// Where two methods place the same agents: a line that rises or falls far is an agent about which they disagree.
import { Live, boardUrl, pauseOf } from "../api.js";
import { hiddenAmong } from "../board.js";
import { Label, Sized, wrapped } from "../chart.js";
import { leftOut, nameOf, placer, some } from "../format.js";
import { bestBy, bestForecasts, cycleSays, hasShapes, ordersOf, provenCycle, question, shapeTitle, title } from "../methods.js";
import { follow, go, withQuery } from "../nav.js";
import { missing } from "../past.js";
import { Figure } from "../parts.js";
import { html } from "../ui.js";

const AGENTS = 25;
const NARROW = 480; // pixels; below, names have more of the width
const TOP = 44; // of the first name

/** @extends Live */
export default class Methods extends Live {
  pair() {
    const { boards, main, query, scope } = this.props;
    const rated = boards.filter((/** @type {any} */ one) => one.rows.length || scope.season).map((/** @type {any} */ one) => one.method);
    const left = rated.includes(query.method) ? query.method : main.method;
    const right = rated.includes(query.other) ? query.other : ["maximal_lottery", "nash_average", ...rated].find((name) => name !== left && rated.includes(name));
    return { rated, left, right };
  }

  feeds() {
    const { pool, scope } = this.props;
    const { left, right } = this.pair();
    const seconds = pauseOf(scope, 5);
    const all = scope.season ? undefined : true; // final boards have all agents
    /** @type {Record<string, [string, number]>} */
    const feeds = { left: [boardUrl(pool, left, scope, { count: AGENTS, all }), seconds] };
    if (right) feeds.right = [boardUrl(pool, right, scope, { count: 1000, all }), seconds];
    return feeds;
  }

  render() {
    const { pool, insight, link, scope } = this.props;
    const error = this.failure();
    const { rated, left, right } = this.pair();
    if (!right) return html`<p class="soft">There is only one method so far.</p>`;
    const [a, b] = [this.value("left"), this.value("right")];
    const places = new Map((b?.rows ?? []).filter((/** @type {any} */ row) => row.rank !== null).map((/** @type {any} */ row) => [row.agent, row.rank]));
    const both = (a?.rows ?? []).filter((/** @type {any} */ row) => row.rank !== null && places.has(row.agent)).map((/** @type {any} */ row) => ({ ...row, other: places.get(row.agent) }));
    const distance = (insight?.findings?.disagreement?.distances ?? []).find((/** @type {any} */ one) => one.methods.includes(left) && one.methods.includes(right));
    const pick = (/** @type {string} */ name, /** @type {string} */ chosen, /** @type {string} */ label) => html`<label class="pick">${label} <select value=${chosen} onChange=${(/** @type {any} */ event) => go(withQuery({ [name]: event.target.value }))}>${rated.map((/** @type {string} */ one) => html`<option key=${one} value=${one}>${title(one)}</option>`)}</select></label>`;
    const says = html`<span class="picks">${pick("method", left, "Left")} ${pick("other", right, "Right")}</span><span class="line"><b>${title(left)}.</b> ${question(left)}</span><span class="line"><b>${title(right)}.</b> ${question(right)}</span>
      ${distance ? html`<span class="line">They ${ordersOf(distance)}.</span>` : null}${a && hiddenAmong(a, AGENTS) ? html`<span class="line">${leftOut(hiddenAmong(a, AGENTS))}</span>` : null}
      ${believe(insight, rated)}`;
    return html`<${Figure} title="Methods compared" says=${says} file=${`${pool}-${left}-${right}`} table=${[["agent", left, right], ...both.map((/** @type {any} */ row) => [row.agent, row.rank, row.other])]} link=${`${link}&method=${left}&other=${right}`}>
      ${both.length ? html`<${Sized}>${(/** @type {number} */ width) => chart(both, width, left, /** @type {string} */ (right))}<//>` : html`<p class="soft" role="status">${error ? missing(error.status, scope.season) : a && b ? "No agent is on both boards." : "Loading"}</p>`}<//>`;
  }
}

/** Why methods differ in this pool, and which one to believe for what. @param {any} insight @param {string[]} rated Methods that have a board. */
function believe(insight, rated) {
  const [forecasts, cycles] = ["forecasts", "cycles"].map((view) => withQuery({ view, method: "", other: "" }));
  const found = insight?.findings;
  const named = (/** @type {string} */ agent) => nameOf(agent, insight);
  const { cycles: seen, cyclicity, clones } = found ?? {};
  if (!cyclicity || cyclicity.not_applicable || typeof cyclicity.unexplained !== "number") return null;
  const copies = clones?.exact?.[0];
  const cyclic = cycleSays(provenCycle(found), named);
  const fits = cyclicity.within_noise ? "No cycle here is proven, and one strength for each agent fits the results, so ratings of one number describe them well." : cyclicity.against_order === 0 ? "Head-to-head majorities form no cycle here: one order agrees with all of them." : seen?.untested ? "Head-to-head majorities form cycles here, which are not tested against chance." : "No cycle of agents is proven here: those that majorities form can be chance.";
  const order = cyclic ? html`Some agents here beat each other in a cycle, and a rating of one number for each agent cannot show <a href=${cycles} onClick=${follow}>cycles</a>: <bdi>${cyclic}</bdi>.` : fits;
  const unbeaten = ["maximal_lottery", "nash_average"].filter((name) => rated.includes(name)).map(title);
  const text = [
    copies ? `${some(copies.map(named))} have equal results. Ratings that average over opponents count each of these, and lotteries and Nash averages count them once.` : "",
    cyclic || copies ? unbeaten.length ? `Who cannot be beaten is answered by ${unbeaten.join(" and ")}.` : "Who cannot be beaten is answered by a maximal lottery or a Nash average, which this pool does not have." : "Where two methods differ, look at the intervals: their order is often not settled there.",
  ].filter(Boolean).join(" ");
  const best = bestForecasts(found.prequential?.forecasts);
  return html`<span class="line"><b>Which one to believe.</b> ${order} ${text} For the chance to win a game, believe the method whose <a href=${forecasts} onClick=${follow}>forecasts</a> were best${best ? `, which is ${title(best.method)} here (${bestBy(best)}${hasShapes(found.prequential.forecasts) ? ` of ${shapeTitle(best.shape)}` : ""})` : ""}.</span>`;
}

/** Agents by rank; those of equal rank by their rank on the left. @param {any[]} rows @param {(row: any) => number} rank @returns {string[]} */
function order(rows, rank) {
  return [...rows].sort((one, two) => rank(one) - rank(two) || one.rank - two.rank).map((row) => row.agent);
}

/** Where each agent is, one below the other. @param {string[]} agents @param {Map<string, number>} heights @param {number} top @returns {Map<string, number>} */
function placed(agents, heights, top) {
  let next = top;
  return new Map(agents.map((agent) => {
    const height = heights.get(agent) ?? 0;
    next += height;
    return [agent, next - height / 2];
  }));
}

/** @param {any[]} rows @param {number} width @param {string} left @param {string} right */
function chart(rows, width, left, right) {
  const room = Math.floor(width * (width < NARROW ? 0.4 : 0.34));
  const letters = Math.floor((room - 46) / 7.4);
  const lines = new Map(rows.map((row) => [row.agent, wrapped(nameOf(row), letters)]));
  const heights = new Map(rows.map((row) => [row.agent, Math.max(26, (lines.get(row.agent) ?? []).length * 14 + 8)]));
  const height = [...heights.values()].reduce((sum, one) => sum + one, TOP);
  const [before, after] = [order(rows, (row) => row.rank), order(rows, (row) => row.other)];
  const [from, to] = [placed(before, heights, TOP), placed(after, heights, TOP)];
  const [place, otherPlace] = [placer(rows), placer(rows.map((row) => ({ rank: row.other })))];
  const far = Math.max(2, Math.ceil(rows.length / 5));
  return html`<svg class="chart" width=${width} height=${height} role="img" aria-label=${`Ranks of ${rows.length} agents by ${title(left)} and ${title(right)}`}>
    <${Label} x=${room} y=${16} lines=${wrapped(title(left), letters)} anchor="end" kind="strong" /><${Label} x=${width - room} y=${16} lines=${wrapped(title(right), letters)} kind="strong" />
    ${rows.map((row) => {
      const [one, two] = [from.get(row.agent) ?? 0, to.get(row.agent) ?? 0];
      const moved = after.indexOf(row.agent) - before.indexOf(row.agent);
      const kind = Math.abs(moved) >= far ? (moved < 0 ? "rises" : "falls") : "stays";
      return html`<g key=${row.agent}><line class=${`slope ${kind}`} x1=${room + 10} x2=${width - room - 10} y1=${one} y2=${two}><title>${`${nameOf(row)}: ${place(row)} and ${otherPlace({ rank: row.other })}`}</title></line>
        <${Label} x=${room - 32} y=${one} lines=${lines.get(row.agent)} anchor="end" /><text x=${room} y=${one + 4} text-anchor="end" class="soft">${place(row)}</text>
        <text x=${width - room} y=${two + 4} class="soft">${otherPlace({ rank: row.other })}</text><${Label} x=${width - room + 32} y=${two} lines=${lines.get(row.agent)} /></g>`;
    })}</svg>`;
}
