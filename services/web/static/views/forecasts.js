// How good the forecasts of the online methods were, of one shape of games: of games said to be won with 70 %, 70 % should be won.
import { Sized, scale } from "../chart.js";
import { percent, whole } from "../format.js";
import { shapeTitle, title } from "../methods.js";
import { follow, withQuery } from "../nav.js";
import { Figure } from "../parts.js";
import { html } from "../ui.js";

/** @param {any} props */
export default function Forecasts({ pool, insight, link, query }) {
  const part = insight?.findings?.prequential;
  if (!part) return html`<p class="soft" role="status">${insight?.error ?? "The findings are being computed."}</p>`;
  if (part.not_applicable) return html`<p class="soft">Not applicable: ${part.not_applicable}</p>`;
  /** @type {(string | null)[]} */
  const shapes = [...new Set(part.forecasts.map((/** @type {any} */ one) => one.shape))]; // most forecasts first
  const shape = shapes.includes(query.shape) ? query.shape : shapes[0];
  const shown = part.forecasts.filter((/** @type {any} */ one) => one.shape === shape);
  const known = shown.filter((/** @type {any} */ one) => one.classes?.length);
  const number = (/** @type {number | null | undefined} */ value) => (value === null || value === undefined ? "–" : value.toFixed(4));
  const table = [["method", "shape", "forecast", "result", "pairs"], ...part.forecasts.flatMap((/** @type {any} */ one) => (one.classes ?? []).map((/** @type {number[]} */ row) => [one.method, one.shape ?? "", row[1], row[2], row[0]]))];
  const chips = shapes.map((one) => html`<a key=${one} href=${withQuery({ shape: one === shapes[0] ? "" : one })} onClick=${follow} aria-current=${one === shape ? "true" : undefined}>${shapeTitle(one)}</a> `);
  const says = html`Each game is forecast before it is counted. Points on the diagonal are honest: what is said to happen with 70 % happens with 70 %. Larger points are more games.${shapes.length > 1 ? html` Each shape of games, which is the sizes of their sides, has its own record.<br /><span class="toggle">${chips}</span>` : null}`;
  return html`<${Figure} title="Forecasts" says=${says} file=${`${pool}-forecasts`} table=${table} link=${`${link}${shape === shapes[0] ? "" : `&shape=${encodeURIComponent(shape)}`}`}>
    ${known.length ? html`<${Sized}>${(/** @type {number} */ width) => chart(known, Math.min(width, 560))}<//>` : null}
    <table><caption class="hidden">Accuracy of forecasts</caption><thead><tr><th scope="col">Method</th><th scope="col" class="number">Winner right</th><th scope="col" class="number">Log loss</th><th scope="col" class="number wide">Brier</th><th scope="col" class="number wide">Calibration error</th><th scope="col" class="number">Pairs</th></tr></thead>
    <tbody>${shown.map((/** @type {any} */ one) => html`<tr key=${one.method}><th scope="row">${title(one.method)}${one.enough === false ? html` <span class="soft">not enough outcomes yet (${whole(one.pairs)} of ${part.least_pairs} predicted pairs)</span>` : null}</th>
      <td class="number">${one.kendall === null ? "–" : percent(1 - one.kendall)}</td><td class="number">${number(one.log_loss)}</td><td class="number wide">${number(one.brier)}</td><td class="number wide">${number(one.calibration_error)}</td><td class="number">${whole(one.pairs)}</td></tr>`)}</tbody></table><//>`;
}

/** @param {any[]} forecasts @param {number} width */
function chart(forecasts, width) {
  const top = 20 * forecasts.length + 10;
  const height = top + Math.min(340, width * 0.7);
  const results = forecasts.flatMap((one) => one.classes.map((/** @type {number[]} */ row) => row[2]));
  const lowest = Math.min(5, Math.floor(10 * Math.min(...results))); // tenths
  const x = scale(0.5, 1, 46, width - 26);
  const y = scale(lowest / 10, 1, height - 30, top + 12);
  const most = Math.max(...forecasts.flatMap((one) => one.classes.map((/** @type {number[]} */ row) => row[0])));
  const tenths = (/** @type {number} */ first) => Array.from({ length: 11 - first }, (_, i) => (first + i) / 10);
  return html`<svg class="chart" width=${width} height=${height} role="img" aria-label="Forecasts against results; the CSV has the numbers">
    ${tenths(lowest).map((tick) => html`<g key=${tick}><line class="grid" x1="46" x2=${width - 26} y1=${y(tick)} y2=${y(tick)} /><text x="40" y=${y(tick) + 4} text-anchor="end">${percent(tick, 0)}</text></g>`)}
    ${tenths(5).map((tick) => html`<text key=${tick} x=${x(tick)} y=${height - 8} text-anchor="middle">${percent(tick, 0)}</text>`)}
    <line class="ideal" x1=${x(0.5)} y1=${y(0.5)} x2=${x(1)} y2=${y(1)} />
    ${forecasts.map((one, i) => html`<g key=${one.method} class=${`data-${i % 6}`}><polyline class="curve" points=${one.classes.map((/** @type {number[]} */ row) => `${x(row[1]).toFixed(1)},${y(row[2]).toFixed(1)}`).join(" ")} />
      ${one.classes.map((/** @type {number[]} */ row, /** @type {number} */ j) => html`<circle key=${j} cx=${x(row[1])} cy=${y(row[2])} r=${2 + 6 * Math.sqrt(row[0] / most)}><title>${`${title(one.method)}: forecast ${percent(row[1])}, result ${percent(row[2])}, ${whole(row[0])} pairs`}</title></circle>`)}
      <text x="46" y=${16 + 20 * i} class="key">● ${title(one.method)}</text></g>`)}</svg>`;
}
