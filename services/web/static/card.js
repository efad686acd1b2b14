// The card of an agent that is shared as a picture. It is an SVG, which the browser saves as a PNG of 1,200 x 630 pixels.
import { scale, wrapped } from "./chart.js";
import { count, nameOf, shower, whole } from "./format.js";
import { placed, title } from "./methods.js";
import { savePng } from "./parts.js";
import { html } from "./ui.js";

const [WIDTH, HEIGHT] = [600, 315];
const LETTERS = 26; // of a name, in a line

/**
 * @param {{profile: any, method: string, history: any}} props method: the one that leads. history: the agent's rating over time, or null.
 */
export function ShareCard({ profile, method, history }) {
  const best = profile.methods[method];
  if (!best) return null;
  const name = nameOf({ ...profile.details, agent: profile.agent });
  const lines = wrapped(name, LETTERS).slice(0, 3);
  const shown = shower([best.rating, best.low ?? null, best.high ?? null]);
  const interval = best.low === undefined ? "" : `${shown(best.low)} to ${shown(best.high)}`;
  const { games } = profile;
  const record = games?.games ? `${count(games.games, "game")} · ${whole(games.wins)} won · ${whole(games.draws)} drawn · ${whole(games.losses)} lost` : count(profile.outcomes, games ? "game" : "outcome");
  const place = placed(method, best);
  const under = [profile.details?.country, profile.details?.organisation, profile.pool].filter(Boolean).join(" · ");
  const points = (history?.points ?? []).map((/** @type {any} */ point) => point.rating).filter((/** @type {any} */ rating) => rating !== null);
  const save = (/** @type {any} */ event) => savePng(event.target.closest("details"), `${profile.pool}-${profile.agent}-card`);
  return html`<details class="more share"><summary>Share card</summary>
    <svg class="chart sharecard" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`${name}: ${place}, rating ${shown(best.rating)}, ${record}`}>
      <rect class="sheet" x="0" y="0" width=${WIDTH} height=${HEIGHT} /><rect class="edge" x="0" y="0" width="8" height=${HEIGHT} />
      ${lines.map((line, i) => html`<text key=${i} class="big" x="32" y=${56 + 36 * i}>${line}${i === 2 && wrapped(name, LETTERS).length > 3 ? "…" : ""}</text>`)}
      <text class="soft" x="32" y=${48 + 36 * lines.length}>${wrapped(under, 60)[0]}</text>
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
