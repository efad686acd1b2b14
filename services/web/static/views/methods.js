// Where two methods place the same agents: a line that rises or falls far is an agent about which they disagree.
import { Live, poolUrl } from "../api.js";
import { hiddenAmong } from "../board.js";
import { Label, Sized, scale, wrapped } from "../chart.js";
import { leftOut, nameOf, some } from "../format.js";
import { ordersOf, provenCycle, question, title } from "../methods.js";
import { follow, go, withQuery } from "../nav.js";
import { Figure } from "../parts.js";
import { html } from "../ui.js";

const AGENTS = 25;

/** @extends Live */
export default class Methods extends Live {
  pair() {
    const { boards, main, query } = this.props;
    const rated = boards.filter((/** @type {any} */ one) => one.rows.length).map((/** @type {any} */ one) => one.method);
    const left = rated.includes(query.method) ? query.method : rated.includes("elo") ? "elo" : main.method;
    const right = rated.includes(query.other) ? query.other : ["maximal_lottery", "nash_average", ...rated].find((name) => name !== left && rated.includes(name));
    return { rated, left, right };
  }

  feeds() {
    const { left, right } = this.pair();
    /** @type {Record<string, [string, number]>} */
    const feeds = { left: [poolUrl(this.props.pool, `/boards/${left}`, { count: AGENTS, all: true }), 5] };
    if (right) feeds.right = [poolUrl(this.props.pool, `/boards/${right}`, { count: 1000, all: true }), 5];
    return feeds;
  }

  render() {
    const { pool, insight, link } = this.props;
    const { rated, left, right } = this.pair();
    if (!right) return html`<p class="soft">There is only one method so far.</p>`;
    const [a, b] = [this.value("left"), this.value("right")];
    const places = new Map((b?.rows ?? []).filter((/** @type {any} */ row) => row.rank !== null).map((/** @type {any} */ row) => [row.agent, row.rank]));
    const both = (a?.rows ?? []).filter((/** @type {any} */ row) => row.rank !== null && places.has(row.agent)).map((/** @type {any} */ row) => ({ ...row, other: places.get(row.agent) }));
    const distance = (insight?.findings?.disagreement?.distances ?? []).find((/** @type {any} */ one) => one.methods.includes(left) && one.methods.includes(right));
    const pick = (/** @type {string} */ name, /** @type {string} */ chosen, /** @type {string} */ label) => html`<label class="pick">${label} <select value=${chosen} onChange=${(/** @type {any} */ event) => go(withQuery({ [name]: event.target.value }))}>${rated.map((/** @type {string} */ one) => html`<option key=${one} value=${one}>${title(one)}</option>`)}</select></label>`;
    const says = html`${pick("method", left, "Left")} ${pick("other", right, "Right")}<br /><b>${title(left)}.</b> ${question(left)}<br /><b>${title(right)}.</b> ${question(right)}
      ${distance ? html`<br />They ${ordersOf(distance)}.` : null}${a && hiddenAmong(a, AGENTS) ? html`<br />${leftOut(hiddenAmong(a, AGENTS))}` : null}
      ${believe(insight, withQuery({ view: "forecasts", method: "", other: "" }))}`;
    if (a?.rows.length && b?.rows.length && !both.length) return html`<p class="soft">No agent has a rank by both ${title(left)} and ${title(right)} yet.</p>`;
    return html`<${Figure} title="Methods compared" says=${says} file=${`${pool}-${left}-${right}`} table=${[["agent", left, right], ...both.map((/** @type {any} */ row) => [row.agent, row.rank, row.other])]} link=${`${link}&method=${left}&other=${right}`}>
      ${both.length ? html`<${Sized}>${(/** @type {number} */ width) => chart(both, width, left, /** @type {string} */ (right))}<//>` : html`<p class="soft" role="status">Loading</p>`}<//>`;
  }
}

/** Why methods differ in this pool, and which one to believe for what. @param {any} insight @param {string} forecasts Address of the forecasts. */
function believe(insight, forecasts) {
  const found = insight?.findings;
  const named = (/** @type {string} */ agent) => nameOf(agent, insight);
  const { cyclicity, clones } = found ?? {};
  if (!cyclicity || cyclicity.not_applicable || typeof cyclicity.unexplained !== "number") return null;
  const copies = clones?.exact?.[0];
  const cyclic = provenCycle(found);
  const text = [
    cyclic ? `Some agents here beat each other in a cycle (${[...cyclic.agents, cyclic.agents[0]].map(named).join(" beats ")}), and a rating of one number for each agent cannot show cycles.` : "No cycle of agents is proven here: an order can describe who beats whom.",
    copies ? `${some(copies.map(named))} have equal results. Ratings that average over opponents count each of these, and lotteries and Nash averages count them once.` : "",
    cyclic || copies ? "For who cannot be beaten, believe the lottery or the Nash average." : "Where two methods differ, look at the intervals: their order is often not settled there.",
  ].filter(Boolean).join(" ");
  const best = (found?.prequential?.forecasts ?? []).find((/** @type {any} */ one) => one.enough !== false && one.log_loss !== null);
  return html`<br /><b>Which one to believe.</b> ${text} For the chance to win a game, believe the method whose <a href=${forecasts} onClick=${follow}>forecasts</a> were best${best ? `, which is ${title(best.method)} here` : ""}.`;
}

/** Agents of equal rank stand one below the other. @param {any[]} rows @param {(row: any) => number} rank @returns {Map<string, number>} */
function order(rows, rank) {
  return new Map([...rows].sort((one, two) => rank(one) - rank(two) || one.rank - two.rank).map((row, i) => [row.agent, i]));
}

/** @param {any[]} rows @param {number} width @param {string} left @param {string} right */
function chart(rows, width, left, right) {
  const room = Math.floor(width * 0.34);
  const letters = Math.floor((room - 40) / 7.4);
  const lines = new Map(rows.map((row) => [row.agent, wrapped(nameOf(row), letters)]));
  const step = Math.max(26, ...[...lines.values()].map((one) => one.length * 14 + 8));
  const height = rows.length * step + 44;
  const y = scale(0, Math.max(1, rows.length - 1), 44 + step / 2, height - step / 2);
  const [from, to] = [order(rows, (row) => row.rank), order(rows, (row) => row.other)];
  const far = Math.max(2, Math.ceil(rows.length / 5));
  return html`<svg class="chart" width=${width} height=${height} role="img" aria-label=${`Ranks of ${rows.length} agents by ${title(left)} and ${title(right)}`}>
    <${Label} x=${room} y=${16} lines=${wrapped(title(left), letters)} anchor="end" kind="strong" /><${Label} x=${width - room} y=${16} lines=${wrapped(title(right), letters)} kind="strong" />
    ${rows.map((row) => {
      const [one, two] = [y(from.get(row.agent) ?? 0), y(to.get(row.agent) ?? 0)];
      const moved = (to.get(row.agent) ?? 0) - (from.get(row.agent) ?? 0);
      const kind = Math.abs(moved) >= far ? (moved < 0 ? "rises" : "falls") : "stays";
      return html`<g key=${row.agent}><line class=${`slope ${kind}`} x1=${room + 10} x2=${width - room - 10} y1=${one} y2=${two}><title>${`${nameOf(row)}: ${row.rank} and ${row.other}`}</title></line>
        <${Label} x=${room - 26} y=${one} lines=${lines.get(row.agent)} anchor="end" /><text x=${room} y=${one + 4} text-anchor="end" class="soft">${row.rank}</text>
        <text x=${width - room} y=${two + 4} class="soft">${row.other}</text><${Label} x=${width - room + 26} y=${two} lines=${lines.get(row.agent)} /></g>`;
    })}</svg>`;
}
