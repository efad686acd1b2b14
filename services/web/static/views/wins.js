// Who beats whom, in the order of ranks: above the diagonal an order has only wins. What is seen there as losses is what no order can tell.
import { ask, Live, poolUrl } from "../api.js";
import { Sized, wrapped, Label } from "../chart.js";
import { nameOf, percent, whole } from "../format.js";
import { title } from "../methods.js";
import { follow, withQuery } from "../nav.js";
import { Figure } from "../parts.js";
import { html } from "../ui.js";

const AGENTS = 12;
const SECONDS = 15;

/** Expected scores of agents against each other, or `why` there are none. @param {string} pool @param {string} method @param {string[]} agents */
async function scoresBy(pool, method, agents) {
  const body = JSON.stringify({ matches: [{ sides: [[agents[0]], [agents[1]]] }], methods: [method] });
  const answer = await ask(poolUrl(pool, "/predict"), { method: "POST", body, headers: { "Content-Type": "application/json" } });
  const why = answer.without[method] ?? answer.methods[0].matches[0].no_forecast;
  return why ? { why } : ask(poolUrl(pool, "/matchups", { agents, method }));
}

/** @extends Live */
export default class Wins extends Live {
  feeds() {
    return { board: /** @type {[string, number]} */ ([poolUrl(this.props.pool, `/boards/${this.props.board.method}`, { count: AGENTS, all: true }), 5]) };
  }

  componentDidUpdate() {
    super.componentDidUpdate();
    const rows = this.value("board")?.rows ?? [];
    const agents = rows.map((/** @type {any} */ row) => row.agent);
    const key = agents.join("\n");
    const now = performance.now() / 1000;
    if (this.value("board")?.games_position === undefined || (this.key === key && now - (this.read ?? 0) < SECONDS)) return;
    this.key = key;
    this.read = now;
    this.fill(agents, rows.map((/** @type {any} */ row) => nameOf(row)));
  }

  /** @param {string[]} agents @param {string[]} names What readers see as their names. */
  async fill(agents, names) {
    const { pool, head } = this.props;
    const records = agents.map((agent) => ask(poolUrl(pool, `/agents/${encodeURIComponent(agent)}/opponents`, { count: 200 })).catch(() => null));
    const method = (head?.online ?? [])[0];
    const forecasts = method && agents.length > 1 ? scoresBy(pool, method, agents).catch(() => null) : null;
    const [predicted, ...observed] = await Promise.all([forecasts, ...records]);
    this.setState({ agents, names, predicted, observed: new Map(observed.flatMap((answer, i) => (answer ? [[agents[i], new Map(answer.opponents.map((/** @type {any} */ one) => [one.agent, one]))]] : []))) });
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
    const { agents, predicted, observed } = this.state;
    if (this.value("board") && this.value("board").games_position === undefined) return html`<p class="soft" role="status">The games of these agents are not counted yet. They are known from the first checkpoint on.</p>`;
    if (!agents) return html`<p class="soft" role="status">Loading</p>`;
    const shows = query.show === "predicted" ? "predicted" : "observed";
    const says = html`Each row is an agent, and each cell its score against the agent of the column, in the order of ${title(board.method)}. Blue: the row wins. Orange: it loses. Orange above the diagonal contradicts the order.${shows === "observed" && [...observed.values()].every((records) => !records.size) ? " No two of these agents met alone; games of teams are not counted by pairs." : ""}${shows === "predicted" && predicted?.why ? ` Not predicted: ${predicted.why}.` : ""}<br /><span class="toggle"><a href=${withQuery({ show: "" })} onClick=${follow} aria-current=${shows === "observed" ? "true" : undefined}>Observed</a> <a href=${withQuery({ show: "predicted" })} onClick=${follow} aria-current=${shows === "predicted" ? "true" : undefined}>Predicted${predicted?.method ? ` by ${title(predicted.method)}` : ""}</a></span>`;
    const table = [["agent", ...agents], ...agents.map((/** @type {string} */ agent, /** @type {number} */ i) => [agent, ...agents.map((/** @type {string} */ _, /** @type {number} */ j) => this.cell(i, j)?.rate ?? "")])];
    return html`<${Figure} title="Who beats whom" says=${says} file=${`${pool}-${shows}-scores`} table=${table} link=${`${link}&method=${board.method}${shows === "predicted" ? "&show=predicted" : ""}`}>
      <${Sized}>${(/** @type {number} */ width) => this.chart(width)}<//><//>`;
  }

  /** @param {number} width */
  chart(width) {
    const { agents, names: shown } = this.state;
    const left = Math.min(190, Math.floor(width * 0.36));
    const side = Math.min(56, Math.floor((width - left) / agents.length));
    const tall = Math.max(side, 30);
    const names = shown.map((/** @type {string} */ name) => wrapped(name, Math.floor((left - 34) / 7.4)));
    const heights = names.map((/** @type {string[]} */ lines) => Math.max(tall, lines.length * 14 + 6));
    const tops = heights.map((/** @type {number} */ _, /** @type {number} */ i) => heights.slice(0, i).reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 22));
    const height = heights.reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 22) + 2;
    return html`<svg class="chart" width=${width} height=${height} role="img" aria-label=${`Scores of ${agents.length} agents against each other; the CSV has the numbers`}>
      ${agents.map((/** @type {string} */ _, /** @type {number} */ j) => html`<text key=${j} x=${left + (j + 0.5) * side} y="14" text-anchor="middle" class="soft">${j + 1}</text>`)}
      ${agents.map((/** @type {string} */ agent, /** @type {number} */ i) => html`<g key=${agent}><text x="2" y=${tops[i] + heights[i] / 2 + 4} class="soft">${i + 1}</text><${Label} x=${24} y=${tops[i] + heights[i] / 2} lines=${names[i]} />
        ${agents.map((/** @type {string} */ _, /** @type {number} */ j) => {
          const cell = this.cell(i, j);
          const [x, y] = [left + j * side, tops[i]];
          if (!cell) return html`<rect key=${j} class="nothing" x=${x + 1} y=${y + 1} width=${side - 2} height=${heights[i] - 2} />`;
          const strength = Math.abs(cell.rate - 0.5) * 2;
          return html`<g key=${j}><rect class=${cell.rate >= 0.5 ? "heat wins" : "heat loses"} opacity=${0.12 + 0.88 * strength} x=${x + 1} y=${y + 1} width=${side - 2} height=${heights[i] - 2}><title>${`${shown[i]} against ${shown[j]}: ${percent(cell.rate, 0)}${cell.games === null ? "" : ` of ${whole(cell.games)} games`}`}</title></rect>
            ${side > 30 ? html`<text x=${x + side / 2} y=${y + heights[i] / 2 + 4} text-anchor="middle" class=${strength > 0.55 ? "on-heat" : ""}>${Math.round(100 * cell.rate)}</text>` : null}</g>`;
        })}</g>`)}</svg>`;
  }
}
