// The story of cycles and copies, told by two pools of the demo: the same games without and with two copies of rock.
import { Live, poolUrl } from "../api.js";
import { percent, shower, signed } from "../format.js";
import { title } from "../methods.js";
import { Agent, poolPath } from "../parts.js";
import { State } from "../state.js";
import { html } from "../ui.js";
import Cycles from "../views/cycles.js";

const BEFORE = "demo-rps-before";
const AFTER = "demo-rps";
const HANDS = ["rock", "paper", "scissors"];
const MOVED = ["elo", "bradley_terry"];
const LOTTERY = "maximal_lottery";

/** @extends Live */
export default class Copies extends Live {
  feeds() {
    /** @type {Record<string, [string, number]>} */
    const feeds = { pools: ["/v1/pools?count=1000", 10] };
    const known = (this.value("pools")?.pools ?? []).filter((/** @type {any} */ view) => view.head).map((/** @type {any} */ view) => view.pool);
    if (!known.includes(BEFORE) || !known.includes(AFTER)) return feeds;
    return Object.assign(feeds, { before: [poolUrl(BEFORE, "/boards", { count: 10 }), 2], after: [poolUrl(AFTER, "/boards", { count: 10 }), 2], insight: [poolUrl(BEFORE, "/insight"), 5], found: [poolUrl(AFTER, "/insight"), 5] });
  }

  render() {
    const [before, after] = [this.value("before"), this.value("after")];
    const head = html`<h1>Cycles and copies</h1><p class="lead">One number for each agent says who is better on average. An average depends on who else takes part, and it cannot say that A beats B, B beats C and C beats A.</p>`;
    if (!before || !after) return html`${head}${this.absence()}${means()}`;
    return html`${head}${this.failure() ? html`<${State} poll=${this.polls.before} error=${this.failure()} />` : null}<ol class="steps">
      <li><h2>1. A cycle: three hands, and none is the best</h2><p>Paper beats rock, rock beats scissors, and scissors beat paper, each nine times of ten. (A fourth hand, the pebble, loses to each of them nine times of ten.) Bradley-Terry gives the three about the same rating, which forecasts even games, and Elo moves around that with the newest games. The lottery gives each a third, and the cycle is drawn for what it is.</p>
        ${this.numbers([before], ["games so far"])}<${Cycles} pool=${BEFORE} insight=${this.value("insight")} link=${`${poolPath(BEFORE)}?view=cycles`} kind="games" /></li>
      <li><h2>2. Two copies of rock join, and ratings move</h2><p>The copies play like rock. Nobody became better or worse. But paper now meets three rocks and wins more games, and scissors lose more. So Bradley-Terry, which averages over all games, moves paper up and scissors down. Elo follows the newest games, so its change mixes this move, which it makes on average, with their chance.</p>
        ${this.numbers([before, after], ["without copies", "with copies"])}</li>
      <li><h2>3. The lottery does not move, and the copies are found</h2><p>The three rocks share the part that rock had alone. Paper and scissors keep theirs, up to the chance in the games of the copies, whatever is copied how often. ${this.copies()}</p>
        ${this.lottery(before, after)}</li></ol>
      <p><a href=${poolPath(AFTER)}>The pool with copies</a> · <a href=${`${poolPath(AFTER)}?view=methods`}>its methods compared</a> · <a href=${poolPath(BEFORE)}>the pool without</a></p>${means()}`;
  }

  /** What is shown while there is no story: that it loads, an error, or why there is none. */
  absence() {
    if (this.failure()) return html`<${State} poll=${this.polls.pools} error=${this.failure()} />`;
    const pools = this.value("pools")?.pools;
    const here = [BEFORE, AFTER].map((name) => pools?.find((/** @type {any} */ view) => view.pool === name));
    if (!pools || here.every((view) => view?.head)) return html`<p class="soft" role="status">Loading</p>`;
    const why = here.every(Boolean) ? "They have no counted games yet. The story begins with the first ones." : "They are not here.";
    return html`<p class="notice">The story is told by two simulated pools of the demo, which <code>equirank up --demo</code> feeds. ${why}</p>`;
  }

  copies() {
    const groups = this.value("found")?.findings?.clones?.exact ?? [];
    if (!groups.length) return "Once the games are counted, the copies are listed here.";
    return html`Equirank lists as copies: ${groups[0].map((/** @type {string} */ agent, /** @type {number} */ i) => html`${i ? ", " : ""}<${Agent} pool=${AFTER} agent=${agent} answer=${this.value("found")} />`)}.`;
  }

  /** Ratings that average, of the three hands in one pool or in both. @param {any[]} pools @param {string[]} names */
  numbers(pools, names) {
    const boards = MOVED.map((method) => pools.map((pool) => pool.boards.find((/** @type {any} */ board) => board.method === method)?.rows ?? []));
    return html`<table><caption class="hidden">Ratings of the three hands</caption><thead><tr><th scope="col">Hand</th>${MOVED.map((method) => html`${names.map((name, i) => html`<th scope="col" key=${`${method} ${name}`} class=${`number${pools.length > 1 && i === 0 ? " wide" : ""}`}>${title(method)}, ${name}</th>`)}${pools.length > 1 ? html`<th scope="col" class="number">change</th>` : null}`)}</tr></thead>
      <tbody>${HANDS.map((hand) => html`<tr key=${hand}><th scope="row">${hand}</th>${boards.map((both) => {
        const ratings = both.map((rows) => rows.find((/** @type {any} */ row) => row.agent === hand)?.rating ?? null);
        const shown = shower(ratings);
        return html`${ratings.map((rating, i) => html`<td class=${`number${pools.length > 1 && i === 0 ? " wide" : ""}`}>${shown(rating)}</td>`)}${pools.length > 1 ? html`<td class="number">${ratings[0] === null || ratings[1] === null ? "–" : signed(ratings[1] - ratings[0], 0)}</td>` : null}`;
      })}</tr>`)}</tbody></table>`;
  }

  /** @param {any} before @param {any} after */
  lottery(before, after) {
    const board = (/** @type {any} */ list) => list.boards.find((/** @type {any} */ one) => one.method === LOTTERY);
    const [old, now] = [board(before), board(after)];
    const part = (/** @type {any} */ one, /** @type {string} */ hand) => (one?.rows.length ? one.rows.filter((/** @type {any} */ row) => row.agent === hand || row.agent.startsWith(`${hand}-copy`)).reduce((/** @type {number} */ sum, /** @type {any} */ row) => sum + (row.rating ?? 0), 0) : null);
    return html`<table><caption class="hidden">Parts of the lottery</caption><thead><tr><th scope="col">Hand, with its copies</th><th scope="col" class="number">without copies</th><th scope="col" class="number">with copies</th><th scope="col" class="wide">part</th></tr></thead>
      <tbody>${HANDS.map((hand) => {
        const [one, two] = [part(old, hand), part(now, hand)];
        return html`<tr key=${hand}><th scope="row">${hand}</th><td class="number">${one === null ? "–" : percent(one)}</td><td class="number">${two === null ? "–" : percent(two)}</td><td class="wide"><span class="push up-push" style=${{ width: `${100 * (two ?? 0)}%` }}></span></td></tr>`;
      })}</tbody></table>`;
  }
}

function means() {
  return html`<section class="card"><h2>What this means for a leaderboard</h2><p>Who enters ten copies of an agent, or of a task, changes every average. Ratings of an equilibrium (lottery, Nash average, deviation ratings) do not change by copies. Equirank shows both beside each other, lists cycles and copies, and checks each solved answer.</p></section>`;
}
