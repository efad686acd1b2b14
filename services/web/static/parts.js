// Small parts that several pages share: names, badges, ages, empty states, downloads.
import { ago, count, nameOf, whole } from "./format.js";
import { checked, title } from "./methods.js";
import { html } from "./ui.js";

const COUNTRIES = new Intl.DisplayNames(["en"], { type: "region" });

/** @param {string} pool */
export function poolPath(pool) {
  return `/pools/${encodeURIComponent(pool)}`;
}

/** @param {string} pool @param {string} agent */
export function agentPath(pool, agent) {
  return `${poolPath(pool)}/agents/${encodeURIComponent(agent)}`;
}

/** The code of a country with its name. Many systems have no glyphs of flags. @param {string} code ISO 3166-1 alpha-2. @returns {any} */
export function flag(code) {
  const name = COUNTRIES.of(code) ?? code;
  return html`<abbr class="flag" title=${name}>${code}</abbr>`;
}

/**
 * An agent's name as a link to its page, with what is known of it. A name that is written from right to left keeps its direction.
 * @param {{pool: string, row: any, plain?: boolean}} props row: a row of a board, or `{agent}`.
 */
export function Name({ pool, row, plain }) {
  const name = html`<bdi>${nameOf(row)}</bdi>`;
  return html`<span class="who" title=${row.agent}>
    ${row.country ? html`${flag(row.country)} ` : null}${plain ? name : html`<a href=${agentPath(pool, row.agent)}>${name}</a>`}
    ${row.organisation ? html` <span class="org"><bdi>${row.organisation}</bdi></span>` : null}
    ${row.licence ? html` <span class="org" title="Licence"><bdi>${row.licence}</bdi></span>` : null}
  </span>`;
}

/** An agent that an answer names, as a link to its page. @param {{pool: string, agent: string, answer: any, kind?: string}} props */
export function Agent({ pool, agent, answer, kind }) {
  const shown = nameOf(agent, answer);
  return html`<a class=${kind} href=${agentPath(pool, agent)} title=${shown === agent ? undefined : agent}><bdi>${shown}</bdi></a>`;
}

/**
 * Badge of a board: what its numbers rest on. "Proven" is said only of an answer whose certificate was computed and is good.
 * @param {{board: any, head: any, since: number}} props since: seconds since the board arrived.
 */
export function Badge({ board, head, since }) {
  if (board.source === "live") return html`<span class=${`badge ${head?.stopped ? "warn" : "live"}`} title=${head?.stopped ?? ""}>${head?.stopped ? "stopped" : "live"}</span>`;
  if (board.source !== "solved") return html`<span class="badge">final</span>`;
  const value = board.certificate?.value ?? null;
  const proven = value !== null && ["optimal", "solved"].includes(board.status);
  const label = proven ? "✓ solution proven" : board.status.replaceAll("_", " ");
  return html`<details class="proof"><summary class=${`badge ${proven ? "good" : "warn"}`}>${label}</summary>
    <div class="pop"><p>${proven ? "The computation is exact: this answer was computed from all outcomes below and then checked. How sure the ranks are is shown by their intervals. The check measures how far the answer can be from a perfect one:" : board.reason ? `The computation is exact, and says little: ${board.reason}.` : "The newest computation did not end with a checked answer."}</p>
    ${value === null ? null : html`<p><b>${board.certificate.kind.replaceAll("_", " ")} ${value === 0 ? "0" : value.toExponential(1)}</b>. ${checked(board.certificate.kind)} 0 is perfect.</p>`}
    <p>${behind(board, head)} Took ${(board.seconds ?? 0).toFixed(2)} s, ${ago(board.age_seconds + since)}.</p></div></details>`;
}

/** How many outcomes a solved board lacks. Positions cannot show it, because they also change with other pools of the partition.
 * @param {any} board @param {any} head */
export function behind(board, head) {
  if (board.outcomes === null || board.outcomes === undefined) return "";
  const newer = head && head.generation === board.generation ? head.outcomes - board.outcomes : null;
  const all = `Counts ${count(board.outcomes, "outcome")}`;
  if (newer === null) return `${all} of generation ${board.generation}.`;
  return newer <= 0 ? `${all}, which are all.` : `${all}; ${whole(newer)} newer ${newer === 1 ? "one is" : "ones are"} not in it yet.`;
}

/** What an operator wants to know of a pool, behind one click. @param {{head: any, board?: any}} props */
export function Details({ head, board }) {
  if (!head) return null;
  const facts = [["Outcomes", head.outcomes], ["Agents", head.agents], ["Tasks", head.tasks], ["Duplicates dropped", head.duplicates], ["Conflicting ids", head.conflicts],
    ["Retractions", head.retractions], ["Refused", head.dead_letters], ["Log position of the live boards", head.position], ["Partition", head.partition],
    ["Generation", head.generation], ["Season", head.season]];
  if (board?.source === "solved") facts.push([`Log position of ${title(board.method)}`, board.position], ["Version", board.version]);
  return html`<details class="more"><summary>Details</summary><dl class="facts">
    ${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${typeof value === "number" ? whole(value) : value}</dd></div>`)}</dl></details>`;
}

/** @param {{text: string, kind: string, pool?: string}} props kind: `games` or `scores`. */
export function Empty({ text, kind, pool = "mine" }) {
  const event = kind === "scores" ? { v: 1, pool, task: "pong", scores: { alice: 20.5, bob: 11 } }
    : { v: 1, pool, sides: [{ agents: ["alice"], place: 1 }, { agents: ["bob"], place: 2 }] };
  return html`<div class="empty"><p>${text}</p><pre tabindex="0"><code>curl ${location.origin}/v1/outcomes ${"\\"}
  -H 'Content-Type: application/json' ${"\\"}
  -d '${JSON.stringify(event)}'</code></pre></div>`;
}

/** @param {{error: Error | null}} props */
export function Trouble({ error }) {
  return error ? html`<p class="trouble" role="status">Not updating: ${error.message}</p>` : null;
}

/** Saves text as a file. @param {string} name @param {string} type @param {Blob | string} content */
export function save(name, type, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** @param {any[][]} rows Rows of a table, its head first. @returns {string} The table as CSV (RFC 4180). */
export function csv(rows) {
  const cell = (/** @type {any} */ value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Saves the first SVG of a part of the page as a PNG of twice its size, with the colors that it has on the page. One with a `viewBox` has this size.
 * @param {Element} part @param {string} name */
export async function savePng(part, name) {
  const shown = /** @type {SVGSVGElement | null} */ (part.querySelector("svg.chart"));
  if (!shown) return;
  const { width, height } = shown.hasAttribute("viewBox") ? shown.viewBox.baseVal : shown.getBoundingClientRect();
  const copy = /** @type {SVGElement} */ (shown.cloneNode(true));
  const before = [shown, ...shown.querySelectorAll("*")];
  const after = [copy, ...copy.querySelectorAll("*")];
  before.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const property of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor"]) {
      /** @type {SVGElement} */ (after[i]).style.setProperty(property, style.getPropertyValue(property));
    }
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(2 * width));
  copy.setAttribute("height", String(2 * height));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.fillStyle = getComputedStyle(document.body).backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0);
  canvas.toBlob((blob) => blob && save(`${name}.png`, "image/png", blob));
}

/**
 * A chart with its title, what it says in one sentence, and its downloads. The table of a chart is its CSV.
 * @param {{title: string, says: any, file: string, table?: any[][], link?: string, drawn?: boolean, children: any}} props drawn: whether a chart
 * can be saved as a picture.
 */
export function Figure({ title: name, says, file, table, link, drawn = true, children }) {
  const png = (/** @type {any} */ event) => savePng(event.target.closest("figure"), file);
  return html`<figure class="card"><figcaption><h2>${name}</h2><p class="soft">${says}</p></figcaption>${children}
    <p class="tools">${table && drawn ? html`<button type="button" onClick=${png}>PNG</button> ` : null}${table ? html`<button type="button" onClick=${() => save(`${file}.csv`, "text/csv", csv(table))}>CSV</button>` : null}
    ${link ? html` <a href=${link}>Permanent link</a> <a href=${`${link}${link.includes("?") ? "&" : "?"}embed=1`}>Embed</a>` : null}</p></figure>`;
}
