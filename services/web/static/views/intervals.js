// Ratings with their intervals: how sure each rank is.
import { Live, boardUrl, pauseOf } from "../api.js";
import { hiddenAmong } from "../board.js";
import { Label, Sized, scale, ticks, wrapped } from "../chart.js";
import { between, count, leftOut, nameOf, placer, shower, some, whole } from "../format.js";
import { isProven, levelOf, ranksHold, title } from "../methods.js";
import { missing } from "../past.js";
import { Figure } from "../parts.js";
import { html } from "../ui.js";

const AGENTS = 40;

/** @extends Live */
export default class Intervals extends Live {
  feeds() {
    const { pool, board, scope } = this.props;
    return { board: /** @type {[string, number]} */ ([boardUrl(pool, board.method, scope, { count: AGENTS }), pauseOf(scope, 5)]) };
  }

  render() {
    const { pool, board: summary, link, scope } = this.props;
    const board = this.value("board");
    const rows = (board?.rows ?? []).filter((/** @type {any} */ row) => typeof row.low === "number");
    const name = title(summary.method);
    const error = this.failure();
    if (!board) return html`<p class="soft" role="status">${error ? missing(error.status, scope.season) : "Loading"}</p>`;
    const why = board.intervals?.why_not ?? "this method has none in this pool";
    if (!rows.length) return html`<${Figure} title="How sure the ratings are" says=${`${name} has no intervals here: ${why}.`} file=${pool} link=${link}>${null}<//>`;
    const table = [["rank", "agent", "rating", "low", "high", "rank_low", "rank_high"], ...rows.map((/** @type {any} */ row) => [row.rank, row.agent, row.rating, row.low, row.high, row.rank_low, row.rank_high])];
    const among = rows.length < board.total ? `the first ${whole(rows.length)} of ${count(board.total, "agent")}; the others are not drawn` : count(rows.length, "agent");
    const level = levelOf(board.intervals);
    const lines = isProven(board.intervals) ? `${level} % intervals of ${name}, for ${among}. Each rating is within its line with ${level} %.` : `Intervals of ${name}, for ${among}. A line covers the ratings that refits to resampled data gave, without the most extreme ones.`;
    return html`<${Figure} title="How sure the ratings are" says=${`${lines} ${settled(rows, board.intervals)} ${leftOut(hiddenAmong(board, AGENTS))}`} file=${`${pool}-${summary.method}-intervals`} table=${table} link=${`${link}&method=${summary.method}`}>
      <${Sized}>${(/** @type {number} */ width) => chart(rows, width, name)}<//><//>`;
  }
}

/**
 * Which ranks of the drawn rows are certain, and between which ranks the others are. `settled_ranks` counts also rows that are not drawn.
 * @param {any[]} rows @param {any} intervals Description of them.
 */
function settled(rows, intervals) {
  const ranked = rows.filter((row) => typeof row.rank_low === "number");
  if (!ranked.length) return "";
  const together = ranksHold(intervals);
  const open = ranked.filter((row) => row.rank_low !== row.rank_high).map((row) => `${nameOf(row)} (${whole(row.rank_low)} to ${whole(row.rank_high)})`);
  if (!open.length) return `All of these ranks are settled. ${together}`;
  const certain = ranked.length - open.length;
  const first = certain ? `${whole(certain)} of these ${whole(ranked.length)} ranks ${certain === 1 ? "is" : "are"} settled.` : "None of these ranks is settled.";
  return `${first} Possible ranks${certain ? " of the others" : ""}: ${some(open)}. ${together}`;
}

/** @param {any[]} rows @param {number} width @param {string} name */
function chart(rows, width, name) {
  const left = Math.min(220, Math.floor(width * 0.38));
  const names = rows.map((row) => wrapped(nameOf(row), Math.floor((left - 44) / 7.6)));
  const heights = names.map((lines) => Math.max(26, lines.length * 14 + 10));
  const tops = heights.map((_, i) => heights.slice(0, i).reduce((sum, height) => sum + height, 24));
  const height = heights.reduce((sum, one) => sum + one, 24) + 8;
  const [low, high] = [Math.min(...rows.map((row) => row.low)), Math.max(...rows.map((row) => row.high))];
  const x = scale(low, high, left + 10, width - 14);
  const shown = shower(rows.map((row) => row.rating));
  const place = placer(rows);
  const range = (/** @type {any} */ row) => between(row.low, row.high, shown);
  return html`<svg class="chart" width=${width} height=${height} role="img" aria-label=${`Intervals by ${name}: ${rows.slice(0, 3).map((row) => `${nameOf(row)} ${range(row)}`).join("; ")}`}>
    ${ticks(low, high, width > 600 ? 6 : 3).map((tick) => html`<g key=${tick}><line class="grid" x1=${x(tick)} x2=${x(tick)} y1="20" y2=${height - 6} /><text x=${x(tick)} y="13" text-anchor="middle">${tick}</text></g>`)}
    ${rows.map((row, i) => {
      const y = tops[i] + heights[i] / 2;
      return html`<g key=${row.agent}><text x="2" y=${y + 4} class="soft">${place(row)}</text><${Label} x=${34} y=${y} lines=${names[i]} /><line class=${row.provisional ? "range unsure" : "range"} x1=${x(row.low)} x2=${x(row.high)} y1=${y} y2=${y} />
        ${row.rating === null ? null : html`<circle class="point" cx=${x(row.rating)} cy=${y} r="4.5"><title>${`${nameOf(row)}: ${shown(row.rating)}, ${range(row)}`}</title></circle>`}</g>`;
    })}</svg>`;
}
