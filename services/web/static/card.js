// The card of an agent that is shared as a picture. It is an SVG, which the browser saves as a PNG of 1,200 x 630 pixels.
import { scale, wrapped } from "./chart.js";
import { between, count, nameOf, shower, whole } from "./format.js";
import { placed, title } from "./methods.js";
import { savePng } from "./parts.js";
import { html } from "./ui.js";

const [WIDTH, HEIGHT] = [600, 315];
const LETTER = 0.62; // width of a wide letter, in sizes of the type
const NAME = { sizes: [28, 22, 17, 13, 11, 9], height: 112 };
const UNDER = { sizes: [17, 13, 11], height: 36 };

/** A text in the largest type in which all of it fits, so that no name is cut off. @param {string} text @param {{sizes: number[], height: number}} room @returns {{size: number, lines: string[]}} */
function fitted(text, { sizes, height }) {
  const tried = sizes.map((size) => ({ size, lines: wrapped(text, Math.floor((WIDTH - 56) / (LETTER * size))) }));
  return tried.find(({ size, lines }) => lines.length * 1.2 * size <= height) ?? tried[tried.length - 1];
}

/**
 * @param {{profile: any, method: string, history: any}} props method: the one that leads. history: the agent's rating over time, or null.
 */
export function ShareCard({ profile, method, history }) {
  const best = profile.methods[method];
  if (!best) return null;
  const name = nameOf({ ...profile.details, agent: profile.agent });
  const { size, lines } = fitted(name, NAME);
  const shown = shower([best.rating, best.low ?? null, best.high ?? null]);
  const interval = best.low === undefined ? "" : between(best.low, best.high, shown);
  const { games } = profile;
  const record = games?.games ? `${count(games.games, "game")} · ${whole(games.wins)} won · ${whole(games.draws)} drawn · ${whole(games.losses)} lost` : profile.scores ? count(profile.scores.tasks, "task") : count(profile.outcomes, games ? "game" : "outcome");
  const place = placed(method, best);
  const under = fitted([name === profile.agent ? "" : profile.agent, profile.details?.country, profile.details?.organisation, profile.pool].filter(Boolean).join(" · "), UNDER);
  const top = 28 + 1.2 * size * lines.length; // of the line under the name
  const points = (history?.points ?? []).map((/** @type {any} */ point) => point.rating).filter((/** @type {any} */ rating) => rating !== null);
  const save = (/** @type {any} */ event) => savePng(event.target.closest("details"), `${profile.pool}-${profile.agent}-card`);
  return html`<details class="more share"><summary>Share card</summary>
    <svg class="chart sharecard" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`${name}: ${place}, rating ${shown(best.rating)}, ${record}`}>
      <rect class="sheet" x="0" y="0" width=${WIDTH} height=${HEIGHT} /><rect class="edge" x="0" y="0" width="8" height=${HEIGHT} />
      ${lines.map((line, i) => html`<text key=${i} class="big name" style=${{ fontSize: `${size}px` }} x="32" y=${26 + size * (1 + 1.2 * i)}>${line}</text>`)}
      ${under.lines.map((line, i) => html`<text key=${i} class="soft" style=${{ fontSize: `${under.size}px` }} x="32" y=${top + under.size * (1 + 1.2 * i)}>${line}</text>`)}
      <text class="big" x="32" y="202">${shown(best.rating)}</text>${interval ? html`<text class="soft" x="32" y="226">${interval}</text>` : null}
      <text class="strong" x="32" y="256">${place}</text><text x="32" y="280">${record}</text>
      ${points.length > 1 ? html`<polyline class="curve" points=${curve(points)} /><text class="soft note" x="250" y="226">${title(history.method)} over time</text>` : null}
      <text class="soft note" x=${WIDTH - 24} y="303" text-anchor="end">${location.host} · Equirank</text></svg>
    <p class="tools"><button type="button" onClick=${save}>Download card (PNG)</button></p></details>`;
}

/** @param {number[]} ratings @returns {string} Points of the polyline, right of the rating. */
function curve(ratings) {
  const x = scale(0, ratings.length - 1, 250, WIDTH - 24);
  const y = scale(Math.min(...ratings), Math.max(...ratings), 206, 150);
  return ratings.map((rating, i) => `${x(i).toFixed(1)},${y(rating).toFixed(1)}`).join(" ");
}
