// Boards of the past: the final board of a season, the board at a time, and a slider over the times whose boards are kept.
import { Live, boardUrl, poolUrl } from "./api.js";
import { StaticBoard, hiddenAmong } from "./board.js";
import { count, leftOut, utc } from "./format.js";
import { title } from "./methods.js";
import { follow, go, withQuery } from "./nav.js";
import { html } from "./ui.js";

const ROWS = 200;

/** A board that does not change any more: a season's final one, or the one at a time. @extends Live */
export class Past extends Live {
  feeds() {
    const { pool, method, season, at, slice } = this.props;
    return { board: /** @type {[string, number]} */ ([boardUrl(pool, method, { season, at, slice }, { count: ROWS }), 60]) };
  }

  componentDidUpdate() {
    super.componentDidUpdate();
    const board = this.value("board");
    if (board?.rows.length && board.rows.every((/** @type {any} */ row) => row.rating === null)) this.props.onUnrated(board.method);
  }

  render() {
    const { pool, season, at, method, slice, head, word } = this.props;
    const board = this.value("board");
    const error = this.failure();
    const when = season ? html`season <b>${season}</b>` : html`<b>${said(at)}</b>`;
    const of = season && board ? html` of ${count(board.total, "agent")}` : null;
    const counted = at && typeof board?.outcomes === "number" ? `: ${count(board.outcomes, word)}, ${count(board.total, "agent")}` : "";
    return html`<p class="notice">${season ? html`Final board${of} by ${title(method)}, at the end of` : `${title(method)} at`} ${when}${slice ? html`, only games with <bdi>${slice.replace(":", " ")}</bdi>` : null}${counted}. <a href=${withQuery({ season: "", at: "" })} onClick=${follow}>Back to now</a></p>
      ${board && at && head && board.generation !== head.generation ? html`<p class="soft">This board is by the settings, bans and retractions of generation ${board.generation}. Generation ${head.generation} serves now.</p>` : null}
      ${board ? html`<${StaticBoard} pool=${pool} board=${board} caption=${season ? "Final board" : "Board of the past"} />${leftOut(hiddenAmong(board, ROWS)) ? html`<p class="soft">${leftOut(hiddenAmong(board, ROWS))}</p>` : null}` : error ? html`<p class="trouble" role="status">${missing(error.status, season)}</p><details class="more"><summary>What the service says</summary><p class="soft">${error.message}</p></details>` : html`<p class="soft" role="status">Loading</p>`}`;
  }
}

/** Why there is no board, in a sentence for readers. @param {number} status Of the answer. @param {string} [season] */
export function missing(status, season) {
  if (season && status === 404) return "This pool has no ended season of this name with such a board.";
  if (status === 404) return "There were no such games yet at this time. Choose a later one.";
  if (status === 410) return "The board of this time is not kept. Choose a later one, or one of the slider.";
  if (status === 422) return "This is not a time that a board can have. Choose another one.";
  return status ? "The board cannot be read now." : "The service does not answer.";
}

/** Number of times that the slider of a live board has, evenly from the beginning of the pool to now. */
const STEPS = 100;

/**
 * Boards of a method at other times: a slider over the kept solves of a solved one, or over the time of the pool for a live one, and a field for
 * any time. Solves and seasons are read once it is open.
 * @extends Live
 */
export class Times extends Live {
  feeds() {
    const { pool, board, slice } = this.props;
    /** @type {Record<string, [string, number]>} */
    const feeds = {};
    if (!this.state.open) return feeds;
    if (board.source === "solved") feeds.kept = [poolUrl(pool, `/boards/${board.method}/history`, { slice }), 60];
    else feeds.seasons = [poolUrl(pool, "/seasons"), 600];
    return feeds;
  }

  /** The places of the slider: the times whose boards are kept, and the time that the page is of, which can be any. @returns {{ time: string, says: string }[]} */
  times() {
    const { at } = this.props;
    const kept = this.kept();
    return !at || kept.some(({ time }) => time === at) ? kept : [...kept, { time: at, says: "" }].sort((one, next) => (one.time < next.time ? -1 : 1));
  }

  /** The times whose boards are kept, as addresses have them, oldest first, each with what its board counts where that is known. @returns {{ time: string, says: string }[]} */
  kept() {
    const solves = [...(this.value("kept")?.solves ?? [])].reverse();
    const began = this.value("seasons")?.seasons[0]?.began_at;
    if (!began) return solves.map((solve) => ({ time: utc(solve.solved_at), says: `, ${count(solve.outcomes, this.props.word)}` }));
    this.until ??= Date.now() / 1000; // the same as long as the page shows, so that the slider stands still
    return Array.from({ length: STEPS }, (_, i) => ({ time: utc(began + ((this.until - began) * i) / STEPS), says: "" }));
  }

  render() {
    const { at = "" } = this.props;
    const show = (/** @type {string} */ time) => {
      this.setState({ dragged: null });
      go(withQuery({ at: time, season: "" }));
    };
    const times = this.times();
    const chosen = this.state.dragged ?? (at ? times.map(({ time }) => time).lastIndexOf(at) : times.length);
    const label = chosen >= times.length ? "now" : `${said(times[chosen].time)}${times[chosen].says}`;
    const open = (/** @type {any} */ event) => event.target.open && this.setState({ open: true });
    return html`<details class="times" open=${Boolean(at)} onToggle=${open}><summary>Past boards</summary>
      ${times.length > 1 ? html`<label>History <input type="range" min="0" max=${times.length} value=${chosen} aria-valuetext=${label} onInput=${(/** @type {any} */ event) => this.setState({ dragged: Number(event.target.value) })} onChange=${(/** @type {any} */ event) => show(times[Number(event.target.value)]?.time ?? "")} /> <output>${label}</output></label>` : null}
      <form class="at" key=${at} onSubmit=${(/** @type {any} */ event) => (event.preventDefault(), show(String(new FormData(event.target).get("at") ?? "")))}><label>The board at (UTC) <input type="datetime-local" name="at" step="1" defaultValue=${at} /></label> <button type="submit">Show</button> <span class="soft">Times are those at which results arrived.</span></form></details>`;
  }
}

/** @param {string} time As in an address. */
export function said(time) {
  return `${time.replace("T", " ")} (UTC)`;
}
