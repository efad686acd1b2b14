// The curve of a rating over time: intervals of solves, the highest and the lowest point, and what happened to the pool besides outcomes.
import { scale, ticks } from "./chart.js";
import { count, date, shower } from "./format.js";
import { html } from "./ui.js";

const MOST_EVENTS = 9;
/** @type {Record<string, string>} */
const CHANGES = {
  start: "games count from another moment on", settings: "methods or their settings changed", initial: "initial ratings changed",
  retractions: "retracted games left", aliases: "games of renamed agents moved", bans: "bans changed",
};
/** @type {Record<string, string>} */
const OWN = { banned: "was banned", unbanned: "was no longer banned", aliases: "got or lost games of other names", initial: "got another initial rating" };

/** Something that changed ratings besides outcomes. time: when the service got it. place: where it is on the curve, in its times. mark: its letter there. @typedef {{time: number, place: number, mark: string, says: string}} Event */

/** The newest events of a history that change ratings, oldest first. @param {any} history @param {string} name What readers see as the agent's name. @returns {Event[]} */
export function eventsOf(history, name) {
  const all = history.events ?? [];
  const begin = all.filter((/** @type {any} */ event) => event.season && event.generation <= history.generation).pop(); // of the season that is shown
  const said = all.map((/** @type {any} */ event) => ({ time: event.time, place: event === begin ? placeOf(event, history) : event.time, says: told(event, name) })).filter((/** @type {any} */ one) => one.says);
  return said.slice(-MOST_EVENTS).map((/** @type {any} */ one, /** @type {number} */ i) => ({ ...one, mark: String.fromCharCode(65 + i) }));
}

/** Where the beginning of a season is among the times of its games: before all of them, although games that arrive late can be older, and come after newer ones. @param {any} event @param {any} history @returns {number} */
function placeOf({ time }, { source, points }) {
  return source === "live" && points.length ? Math.min(time, ...points.map((/** @type {any} */ point) => point.time)) : time;
}

/** @param {any} event @param {string} name @returns {string} Empty if no rating changed. */
function told({ changes, season, own = [] }, name) {
  const begins = season ? [`season ${season} began`] : [];
  const mine = own.length ? [`${name} ${own.map((/** @type {string} */ one) => OWN[one]).join(" and ")}`] : [];
  return [...begins, ...mine, ...changes.filter((/** @type {string} */ one) => one in CHANGES && !(own.length && ["bans", "aliases", "initial"].includes(one))).map((/** @type {string} */ one) => CHANGES[one])].join("; ");
}

/** What the letters on a curve mean. @param {{events: Event[], total?: number}} props */
export function Events({ events, total = 0 }) {
  if (!events.length) return null;
  return html`<ul class="events">${events.map(({ time, place, mark, says }) => html`<li key=${mark}><b>${mark}</b> ${date(time)}: <bdi>${says}</bdi>${date(place) === date(time) ? "" : `, with games of the agent from ${date(place)} on`}</li>`)}
    ${total > events.length ? html`<li class="soft">${count(total - events.length, "other event")} of the pool, older or without an effect on ratings</li>` : null}</ul>`;
}

/** @param {any[]} points @returns {any[]} The points with the highest and the lowest rating, the newest of equal ones. */
function ends(points) {
  const high = points.reduce((best, point) => (point.rating >= best.rating ? point : best));
  return [high, points.reduce((worst, point) => (point.rating <= worst.rating ? point : worst))];
}

/** The highest and the lowest rating in words. @param {any[]} points */
export function extremes(points) {
  if (points.length < 2) return null;
  const [high, low] = ends(points);
  const shown = shower([high.rating, low.rating]);
  return `Highest ${shown(high.rating)} (${date(high.time)}), lowest ${shown(low.rating)} (${date(low.time)}).`;
}

/**
 * @param {any[]} points @param {number} width @param {string} name
 * @param {any} now The present rating with its interval, for a bar at the end; null without one.
 * @param {Event[]} events What is marked, if it lies within the times of the points.
 */
export function curveOf(points, width, name, now, events) {
  const height = 220;
  const right = width - (typeof now?.low === "number" ? 24 : 12);
  const ratings = points.map((point) => point.rating);
  const all = [...ratings, ...points.flatMap((point) => [point.low, point.high]), now?.low, now?.high].filter((one) => typeof one === "number");
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const byTime = points[0].time < points[points.length - 1].time;
  const times = points.map((point, i) => (byTime ? point.time : i));
  const x = scale(Math.min(...times), Math.max(...times), 56, right);
  const y = scale(low, high, height - 30, events.length ? 26 : 12);
  const day = (/** @type {number} */ time) => new Date(1000 * time).toLocaleString("en-GB", Math.max(...times) - Math.min(...times) > 172_800 ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" });
  const marks = byTime ? [0, 1].map((end) => (end ? Math.max(...times) : Math.min(...times))) : [];
  const at = (/** @type {number} */ i, /** @type {number} */ value) => `${x(times[i]).toFixed(1)},${y(value).toFixed(1)}`;
  const known = points.map((_, i) => i).filter((i) => typeof points[i].low === "number");
  return html`<svg class="chart" width=${width} height=${height} role="img" aria-label=${`Rating by ${name} from ${ratings[0].toFixed(1)} to ${ratings[ratings.length - 1].toFixed(1)} over ${points.length} points`}>
    ${ticks(low, high, 4).map((tick) => html`<g key=${tick}><line class="grid" x1="56" x2=${width - 12} y1=${y(tick)} y2=${y(tick)} /><text x="50" y=${y(tick) + 4} text-anchor="end">${tick}</text></g>`)}
    ${marks.map((time, i) => html`<text key=${i} x=${x(time)} y=${height - 8} text-anchor=${i ? "end" : "start"}>${day(time)}</text>`)}
    ${events.filter(({ place }) => byTime && place >= Math.min(...times) && place <= Math.max(...times)).map(({ place, mark, says }) => html`<g key=${mark}><line class="event" x1=${x(place)} x2=${x(place)} y1="18" y2=${height - 30}><title>${`${mark}: ${says}`}</title></line><text class="strong" x=${x(place)} y="13" text-anchor="middle">${mark}</text></g>`)}
    ${known.length > 1 ? html`<polygon class="band" points=${[...known.map((i) => at(i, points[i].high)), ...known.reverse().map((i) => at(i, points[i].low))].join(" ")} />` : null}
    <polyline class="curve" points=${points.map((point, i) => at(i, point.rating)).join(" ")} />
    ${typeof now?.low === "number" ? html`<line class="range" x1=${right + 8} x2=${right + 8} y1=${y(now.low)} y2=${y(now.high)} /><circle class="point" cx=${right + 8} cy=${y(now.rating)} r="4" />` : null}
    ${ends(points).map((point, i) => html`<circle key=${i} class="point" cx=${x(times[points.indexOf(point)])} cy=${y(point.rating)} r="5" />`)}</svg>`;
}
