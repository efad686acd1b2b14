// Who beats whom, in the order of ranks: above the diagonal an order has only wins. What is seen there as losses is what no order can tell.
import { ask, boardUrl, Live, poolUrl } from "../api.js";
import { Label, Sized, textOn, wrapped } from "../chart.js";
import { count, leftOut, nameOf, percent, whole } from "../format.js";
import { hiddenAmong } from "../board.js";
import { forecaster, title } from "../methods.js";
import { follow, withQuery } from "../nav.js";
import { Figure, agentPath } from "../parts.js";
import { html } from "../ui.js";

const AGENTS = 12;
const SECONDS = 15;
const NARROW = 480; // pixels
const DIGITS = 26; // pixels that a cell needs for its number

/** Expected scores of agents against each other, or `why` there are none. @param {string} pool @param {string[]} agents @param {string | undefined} slice */
async function scoresBy(pool, agents, slice) {
  const body = JSON.stringify({ matches: [{ sides: [[agents[0]], [agents[1]]] }] });
  const answer = await ask(poolUrl(pool, "/predict", { slice }), { method: "POST", body, headers: { "Content-Type": "application/json" } });
  const method = forecaster(answer)?.method;
  return method ? ask(poolUrl(pool, "/matchups", { agents, method, slice })) : { why: answer.methods[0]?.matches[0].no_forecast ?? Object.values(answer.without)[0] };
}

/** @extends Live */
export default class Wins extends Live {
  /** What was read: slice and agents. @type {string | undefined} */
  key = undefined;

  feeds() {
    const { pool, board, scope } = this.props;
    return { board: /** @type {[string, number]} */ ([boardUrl(pool, board.method, scope, { count: AGENTS, all: true, start: this.start() || "" }), 5]) };
  }

  /** Index of the first agent. */
  start() {
    return Math.max(0, Math.floor(Number(this.props.query.start)) || 0);
  }

  componentDidUpdate() {
    super.componentDidUpdate();
    const rows = this.value("board")?.rows ?? [];
    const agents = rows.map((/** @type {any} */ row) => row.agent);
    const key = [this.props.scope.slice, ...agents].join("\n");
    const now = performance.now() / 1000;
    if (this.value("board")?.games_position === undefined || (this.key === key && now - (this.read ?? 0) < SECONDS)) return;
    if (this.key !== key) this.setState({ told: "" }); // of other agents
    this.key = key;
    this.read = now;
    this.fill(key, agents, rows.map((/** @type {any} */ row) => nameOf(row)));
  }

  /** @param {string} key What is read. @param {string[]} agents @param {string[]} names What readers see as their names. */
  async fill(key, agents, names) {
    const { pool, head, scope: { slice } } = this.props;
    const first = this.start() + 1;
    const records = agents.map((agent) => ask(poolUrl(pool, `/agents/${encodeURIComponent(agent)}/opponents`, { count: 200, slice })).catch(() => null));
    const forecasts = head?.online.length && agents.length > 1 ? scoresBy(pool, agents, slice).catch(() => null) : null;
    const [predicted, ...observed] = await Promise.all([forecasts, ...records]);
    if (this.key !== key) return; // other agents are shown by now
    this.setState({ agents, names, first, predicted, observed: new Map(observed.flatMap((answer, i) => (answer ? [[agents[i], new Map(answer.opponents.map((/** @type {any} */ one) => [one.agent, one]))]] : []))) });
  }

  /** @param {number} row @param {number} column @returns {{rate: number, games: number | null} | null} */
  cell(row, column) {
    const { agents, observed, predicted } = this.state;
    if (row === column) return null;
    if (this.props.query.show === "predicted") {
      const rate = predicted?.expected_scores?.[row][column];
      return typeof rate === "number" ? { rate, games: null } : null;
    }
    const record = observed.get(agents[row])?.get(agents[column]);
    return record?.games ? { rate: (record.wins + record.draws / 2) / record.games, games: record.games } : null;
  }

  render() {
    const { pool, board, query, link } = this.props;
    const { agents, first, predicted, observed, told, asked } = this.state;
    if (this.value("board") && this.value("board").games_position === undefined) return html`<p class="soft" role="status">The games of these agents are not counted yet. They are known from the first checkpoint on.</p>`;
    const error = this.failure();
    if (!agents) return html`<p class="soft" role="status">${error ? `The board cannot be read: ${error.message}` : "Loading"}</p>`;
    if (!agents.length) return html`<p class="soft">No agent has this place. <a href=${withQuery({ start: "" })} onClick=${follow}>The first agents</a></p>`;
    const shows = query.show === "predicted" ? "predicted" : "observed";
    const { total } = this.value("board") ?? { total: 0 };
    const last = first - 1 + agents.length;
    const page = (/** @type {string} */ text, /** @type {number} */ start) => html` <a href=${withQuery({ start: start || "" })} onClick=${follow}>${text}</a>`;
    const never = shows === "observed" && observed.size && [...observed.values()].every((records) => !records.size) ? " No two of these agents met alone; games of teams are not counted by pairs." : "";
    const says = html`${agents.length < total ? html`Agents ${whole(first)} to ${whole(last)} of ${whole(total)}.${first > 1 ? page("Previous", Math.max(0, first - 1 - AGENTS)) : null}${last < total ? page("Next", last) : null} ` : `${count(agents.length, "agent")}. `}${leftOut(hiddenAmong(this.value("board") ?? { total: 0, rows: [] }, AGENTS, first - 1))} Each row is an agent, and each cell its score against the agent of the column, in the order of ${title(board.method)}. Blue: the row wins. Orange: it loses. Orange above the diagonal contradicts the order. Tap a cell for its names and number.${never}${shows === "predicted" && predicted?.why ? ` Not predicted: ${predicted.why}.` : ""}<br /><span class="toggle"><a href=${withQuery({ show: "" })} onClick=${follow} aria-current=${shows === "observed" ? "true" : undefined}>Observed</a> <a href=${withQuery({ show: "predicted" })} onClick=${follow} aria-current=${shows === "predicted" ? "true" : undefined}>Predicted${predicted?.method ? ` by ${title(predicted.method)}` : ""}</a></span>`;
    const table = [["agent", ...agents], ...agents.map((/** @type {string} */ agent, /** @type {number} */ i) => [agent, ...agents.map((/** @type {string} */ _, /** @type {number} */ j) => this.cell(i, j)?.rate ?? "")])];
    return html`<${Figure} title="Who beats whom" says=${says} file=${`${pool}-${shows}-scores`} table=${table} link=${`${link}&method=${board.method}${first > 1 ? `&start=${first - 1}` : ""}${shows === "predicted" ? "&show=predicted" : ""}`}>
      <${Sized}>${(/** @type {number} */ width) => this.chart(width)}<//><p class="told" role="status">${told ? html`${told}. <a href=${`${agentPath(pool, agents[asked[0]])}?against=${encodeURIComponent(agents[asked[1]])}`}>Who would win?</a>` : null}</p><//>`;
  }

  /** @param {number} width */
  chart(width) {
    const { agents, first, names: shown } = this.state;
    const above = width < NARROW; // names are above their rows, so that cells have room for their numbers
    const left = above ? 0 : Math.min(190, Math.floor(width * 0.36));
    const side = Math.min(56, Math.floor((width - left) / agents.length));
    const tall = Math.max(side, 30);
    const names = shown.map((/** @type {string} */ name) => wrapped(name, Math.floor(((above ? width : left) - 34) / 7.4)));
    const text = names.map((/** @type {string[]} */ lines) => lines.length * 14 + 6);
    const heights = text.map((/** @type {number} */ one) => (above ? one + tall : Math.max(tall, one)));
    const tops = heights.map((/** @type {number} */ _, /** @type {number} */ i) => heights.slice(0, i).reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 22));
    const height = heights.reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 22) + 2;
    return html`<svg class="chart" width=${width} height=${height} role="img" aria-label=${`Scores of ${agents.length} agents against each other; the CSV has the numbers`}>
      ${agents.map((/** @type {string} */ _, /** @type {number} */ j) => html`<text key=${j} x=${left + (j + 0.5) * side} y="14" text-anchor="middle" class="soft">${first + j}</text>`)}
      ${agents.map((/** @type {string} */ agent, /** @type {number} */ i) => html`<g key=${agent}><text x="2" y=${tops[i] + (above ? text[i] : heights[i]) / 2 + 4} class="soft">${first + i}</text><${Label} x=${24} y=${tops[i] + (above ? text[i] : heights[i]) / 2} lines=${names[i]} />
        ${agents.map((/** @type {string} */ _, /** @type {number} */ j) => {
          const cell = this.cell(i, j);
          const [x, y, high] = [left + j * side, tops[i] + (above ? text[i] : 0), above ? tall : heights[i]];
          if (!cell) return html`<rect key=${j} class="nothing" x=${x + 1} y=${y + 1} width=${side - 2} height=${high - 2} />`;
          const strength = Math.abs(cell.rate - 0.5) * 2;
          const [kind, opacity] = [cell.rate >= 0.5 ? "wins" : "loses", 0.12 + 0.88 * strength];
          const told = `${shown[i]} against ${shown[j]}: ${percent(cell.rate, 0)}${cell.games === null ? "" : ` of ${count(cell.games, "game")}`}`;
          return html`<g key=${j} class="cell" onClick=${() => this.setState({ told, asked: [i, j] })}><rect class=${`heat ${kind}`} opacity=${opacity} x=${x + 1} y=${y + 1} width=${side - 2} height=${high - 2}><title>${told}</title></rect>
            ${side > DIGITS ? html`<text x=${x + side / 2} y=${y + high / 2 + 4} text-anchor="middle" class=${textOn(`--${kind}`, opacity)}>${Math.round(100 * cell.rate)}</text>` : null}</g>`;
        })}</g>`)}</svg>`;
  }
}
