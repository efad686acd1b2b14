// A table as a picture that can be saved and sent: its rows with a number and a bar.
import { Live, boardUrl, pauseOf } from "./api.js";
import { scale, wrapped } from "./chart.js";
import { count, date, nameOf, placer, shower } from "./format.js";
import { title } from "./methods.js";
import { savePng } from "./parts.js";
import { html } from "./ui.js";

const WIDTH = 600;
const LETTERS = 32; // of a name, in a line
const [FROM, TO] = [440, 584]; // of the bars
const ROWS = 20;

/**
 * A row: its place, its name, its number, and its bar with a mark, as shares of the width of bars.
 * @typedef {{place: string, name: string, value: string, bar: [number, number] | null, mark: number | null}} Row
 */

/** The picture with its download. @param {{name: string, under: string, file: string, rows: Row[]}} props */
export function TablePicture({ name, under, file, rows }) {
  const save = (/** @type {any} */ event) => savePng(event.target.closest("div"), file);
  return html`<div>${drawn(name, under, rows)}<p class="tools"><button type="button" onClick=${save}>Download picture (PNG)</button></p></div>`;
}

/** @param {string} name @param {string} under @param {Row[]} rows */
function drawn(name, under, rows) {
  const heading = wrapped(name, 38);
  const top = 36 + 26 * heading.length;
  const names = rows.map((row) => wrapped(row.name, LETTERS));
  const heights = names.map((lines) => 18 * lines.length + 10);
  const tops = heights.map((_, i) => heights.slice(0, i).reduce((sum, height) => sum + height, top));
  const height = heights.reduce((sum, one) => sum + one, top) + 30;
  const x = scale(0, 1, FROM, TO);
  return html`<svg class="chart picture" viewBox=${`0 0 ${WIDTH} ${height}`} role="img" aria-label=${`${name}: ${rows.slice(0, 3).map((row) => `${row.place} ${row.name} ${row.value}`).join("; ")}`}>
    <rect class="sheet" x="0" y="0" width=${WIDTH} height=${height} />
    ${heading.map((line, i) => html`<text key=${i} class="big" x="16" y=${34 + 26 * i}>${line}</text>`)}<text class="soft note" x="16" y=${top - 10}>${under}</text>
    ${rows.map((row, i) => {
      const y = tops[i] + heights[i] / 2;
      return html`<g key=${i}><text class="soft" x="44" y=${y + 5} text-anchor="end">${row.place}</text>${names[i].map((line, j) => html`<text key=${j} x="56" y=${tops[i] + 18 * (j + 1)}>${line}</text>`)}
        <text x="424" y=${y + 5} text-anchor="end">${row.value}</text>${row.bar ? html`<line class="range" x1=${x(row.bar[0])} x2=${x(row.bar[1])} y1=${y} y2=${y} />` : null}${row.mark === null ? null : html`<circle class="point" cx=${x(row.mark)} cy=${y} r="4" />`}</g>`;
    })}
    <text class="soft note" x=${WIDTH - 16} y=${height - 10} text-anchor="end">${location.host} · Equirank</text></svg>`;
}

/** The first rows of a board as a picture. @extends Live */
export default class BoardPicture extends Live {
  feeds() {
    const { pool, method, scope } = this.props;
    return { board: /** @type {[string, number]} */ ([boardUrl(pool, method, scope, { count: ROWS }), pauseOf(scope, 30)]) };
  }

  render() {
    const { pool, method, scope } = this.props;
    const board = this.value("board");
    if (!board?.rows.length) return html`<p class="soft" role="status">${this.failure() ? "The board cannot be read." : "Loading"}</p>`;
    const of = [scope.season ? `end of season ${scope.season}` : scope.at ? `${scope.at.replace("T", " ")} (UTC)` : date(Date.now() / 1000), scope.slice?.replace(":", " ")].filter(Boolean).join(" · ");
    return html`<${TablePicture} name=${`${pool}: ${title(method)}`} under=${`${of} · ${count(board.total, "agent")}`} file=${`${pool}-${method}-board`} rows=${rowsOf(board)} />`;
  }
}

/** @param {any} board @returns {Row[]} */
function rowsOf(board) {
  /** @type {any[]} */
  const rows = board.rows;
  const shown = shower(rows.map((row) => row.rating), board.extra?.tie_tolerance ?? 0);
  const place = placer(rows);
  const ends = rows.flatMap((row) => [row.low, row.high, row.rating]).filter((end) => typeof end === "number");
  const at = scale(Math.min(...ends), Math.max(...ends), 0, 1);
  return rows.map((row) => ({
    place: place(row),
    name: nameOf(row),
    value: shown(row.rating),
    bar: typeof row.low === "number" ? [at(row.low), at(row.high)] : null,
    mark: typeof row.low === "number" && typeof row.rating === "number" ? at(row.rating) : null,
  }));
}
