// The leaderboard: a table of which only the rows near the visible part are in the document. Pages of rows are read as they come into sight.
import { Poll, poolUrl, search } from "./api.js";
import { ago, between, count, date, decimalsOf, leftOut, nameOf, placer, shower, signed, since, utc, whole } from "./format.js";
import { go, withQuery } from "./nav.js";
import { Name, agentPath } from "./parts.js";
import { Component, html } from "./ui.js";

const PAGE = 100;
const ROW = 45; // pixels of a row with a short name
const ALL_ROWS = 200; // boards up to here are in the document as a whole, and can be sorted by any column
const OVERSCAN = 20;
const HIGHEST = 6_000_000; // pixels; browsers do not lay out elements that are much higher
const PAGES_KEPT = 8;
const HEADING = 46; // pixels of the heading above provisional agents

/** Rows of a board by index. Without filters pages are read anywhere; with filters only one after another, by cursors. */
class Rows {
  /** @param {string} pool @param {string} method @param {Record<string, any>} filters @param {string | undefined} slice @param {() => void} changed */
  constructor(pool, method, filters, slice, changed) {
    this.pool = pool;
    this.method = method;
    this.filters = filters;
    this.slice = slice;
    this.changed = changed;
    /** @type {Map<number, Poll>} */
    this.pages = new Map();
    this.sequential = Object.values(filters).some(Boolean);
    this.reach(0, 1);
  }

  /** The first page, with everything about the board. @returns {any} */
  get board() {
    return this.pages.get(0)?.value ?? null;
  }

  get error() {
    return [...this.pages.values()].find((page) => page.error)?.error ?? null;
  }

  /** Number of rows that can be scrolled to. */
  get length() {
    if (!this.board) return 0;
    if (!this.sequential) return this.board.outside === undefined ? this.board.total : this.board.rows.length + this.missing();
    let rows = 0;
    for (const page of this.pages.values()) rows += page.value?.rows.length ?? 0;
    return rows + (this.more() ? 1 : 0);
  }

  /** Number of hidden agents among the pages that were read. With filters it is not known. */
  get hidden() {
    if (this.sequential) return 0;
    return [...this.pages].reduce((sum, [page, poll]) => sum + (poll.value ? hiddenAmong(poll.value, PAGE, page * PAGE) : 0), 0);
  }

  /** @param {number} index @returns {boolean} Whether the page that would have the row was read, so that a row that is missing is hidden. */
  isRead(index) {
    return !this.sequential && Boolean(this.pages.get(Math.floor(index / PAGE))?.value);
  }

  // A lottery's board ends with the agents that have a probability; the others are all 0.
  missing() {
    return Math.max(0, this.board.total - this.board.outside - this.board.rows.length);
  }

  /** Index of the first provisional agent, below whose heading the rows are; Infinity if there is none, or if filters choose the rows. */
  get boundary() {
    const { ranked, total } = this.board ?? {};
    return !this.sequential && ranked < Math.min(total, this.length) ? ranked : Infinity;
  }

  more() {
    const last = this.pages.get(this.pages.size - 1);
    return Boolean(last && (!last.value || last.value.next));
  }

  /** @param {number} index @returns {any} The row, or undefined while it is not read. */
  at(index) {
    if (!this.sequential) {
      const page = Math.floor(index / PAGE);
      const board = this.pages.get(page)?.value;
      return board && placed(board.rows, page * PAGE, hiddenAmong(board, PAGE, page * PAGE), board.ranked)[index % PAGE];
    }
    for (let page = 0, left = index; page < this.pages.size; page += 1) {
      const rows = this.pages.get(page)?.value?.rows ?? [];
      if (left < rows.length) return rows[left];
      left -= rows.length;
    }
    return undefined;
  }

  /** Reads the pages of rows `from` to `to`. @param {number} from @param {number} to */
  reach(from, to) {
    if (this.sequential) {
      const last = this.pages.get(this.pages.size - 1);
      if (!last) this.open(0, {});
      else if (to >= this.length - 1 && last.value?.next) this.open(this.pages.size, { cursor: last.value.next });
      return;
    }
    for (let page = Math.floor(from / PAGE); page <= Math.floor(Math.max(from, to - 1) / PAGE); page += 1) if (!this.pages.has(page)) this.open(page, page ? { start: page * PAGE } : {});
    for (const [page, poll] of this.pages) {
      if (this.pages.size <= PAGES_KEPT) break;
      if (page === 0 || (page * PAGE < to && (page + 1) * PAGE > from)) continue;
      poll.ended = true;
      this.pages.delete(page);
    }
  }

  /** @param {number} page @param {Record<string, any>} where */
  open(page, where) {
    const poll = new Poll(poolUrl(this.pool, `/boards/${encodeURIComponent(this.method)}`, { count: PAGE, slice: this.slice, ...this.filters, ...where }), this.sequential ? 30 : 1);
    this.pages.set(page, poll);
    poll.run(this.changed);
  }

  end() {
    for (const page of this.pages.values()) page.ended = true;
  }
}

/**
 * Rows by their place on the page, with holes where agents are hidden. Ranks count hidden agents, so a rank shows the place of its row; among equal
 * ranks, and among provisional agents, the holes come last. @param {any[]} rows @param {number} start Index of the first place.
 * @param {number} hidden Number of holes. @param {number} ranked Number of settled agents on the board. @returns {any[]}
 */
function placed(rows, start, hidden, ranked) {
  /** @type {any[]} */
  const places = [];
  rows.forEach((row, i) => {
    places[Math.min(i + hidden, Math.max(places.length, (row.rank ?? ranked + 1) - 1 - start))] = row;
  });
  return places;
}

/** Number of hidden agents that a page of a board leaves out. @param {any} board @param {number} asked Number of rows that were asked for. @param {number} start */
export function hiddenAmong(board, asked, start = 0) {
  return Math.max(0, Math.min(asked, board.total - (board.outside ?? 0) - start) - board.rows.length);
}

/** What a column is sorted by; null comes last in both directions. @type {Record<string, (row: any) => any>} */
const SORTS = {
  rank: (/** @type {any} */ row) => row.rank,
  name: (/** @type {any} */ row) => nameOf(row).toLowerCase(),
  rating: (/** @type {any} */ row) => row.rating,
  games: (/** @type {any} */ row) => row.games || row.outcomes || 0,
  wins: (/** @type {any} */ row) => (row.games ? ((row.wins ?? 0) + (row.draws ?? 0) / 2) / row.games : null),
  last: (/** @type {any} */ row) => row.last_played ?? null,
  change: (/** @type {any} */ row) => changeOf(row),
};
const RISING = ["rank", "name"]; // columns that begin with the smallest; the others begin with the largest

/** Order of two rows by a column; equal ones by rank. @param {string} column @param {boolean} rising @returns {(a: any, b: any) => number} */
function by(column, rising) {
  return (a, b) => {
    const [one, two] = [SORTS[column](a), SORTS[column](b)];
    if (one === two) return (a.rank ?? 0) - (b.rank ?? 0);
    if (one === null || two === null) return one === null ? 1 : -1;
    return (one < two) === rising ? -1 : 1;
  };
}

const PROVISIONAL = html`<tr key="provisional" class="apart"><th scope="rowgroup" colspan="8">Provisional: too few outcomes or opponents for a rank</th></tr>`;

/**
 * The table. `sort` is a column, with a minus before it from the largest on. Provisional agents are apart, below the others. `onBoard` is called with the board's first page whenever it changed.
 * @extends Component<{pool: string, method: string, filters: Record<string, any>, slice?: string, caption: string, around?: string, sort?: string, onBoard: (board: any) => void}>
 */
export class Board extends Component {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { first: 0, shown: 60, above: 0 };
    this.seen = () => this.measure();
    this.rows = this.open();
  }

  open() {
    const { pool, method, filters, slice } = this.props;
    this.key = JSON.stringify([pool, method, filters, slice]);
    const rows = new Rows(pool, method, filters, slice, () => {
      this.props.onBoard(rows.board);
      this.forceUpdate();
    });
    return rows;
  }

  componentDidMount() {
    addEventListener("scroll", this.seen, { passive: true });
    addEventListener("resize", this.seen);
  }

  componentDidUpdate() {
    if (this.focused?.isConnected && document.activeElement === document.body) this.focused.focus({ preventScroll: true });
    if (JSON.stringify([this.props.pool, this.props.method, this.props.filters, this.props.slice]) !== this.key) {
      this.rows.end();
      this.rows = this.open();
      this.setState({ first: 0, above: 0 });
    }
    this.measure();
  }

  componentWillUnmount() {
    removeEventListener("scroll", this.seen);
    removeEventListener("resize", this.seen);
    this.rows.end();
  }

  // Finds the rows near the visible part. A board that is higher than browsers lay out is scrolled by shares of its length.
  measure() {
    const total = this.rows.length;
    if (!this.body || total <= ALL_ROWS) return;
    const seen = Math.ceil(innerHeight / ROW);
    const height = Math.min(total * ROW, HIGHEST);
    const end = Math.max(1, height - innerHeight);
    const offset = Math.max(0, Math.min(end, -this.body.getBoundingClientRect().top));
    const top = total * ROW <= HIGHEST ? Math.floor(offset / ROW) : Math.floor((offset / end) * (total - seen));
    const first = Math.max(0, top - OVERSCAN);
    const above = total * ROW <= HIGHEST ? first * ROW : Math.max(0, offset - (top - first) * ROW);
    const shown = Math.min(total - first, seen + 2 * OVERSCAN);
    this.rows.reach(first, first + shown);
    if (first !== this.state.first || shown !== this.state.shown) this.setState({ first, shown, above });
  }

  /** @param {string} name @param {any} text @param {string} kind @param {string} [about] */
  heading(name, text, kind = "", about = undefined) {
    const sortable = this.rows.length <= ALL_ROWS && name in SORTS;
    const { column, rising } = this.sorting();
    const sorted = column === name;
    const pick = () => {
      const up = sorted ? !rising : RISING.includes(name);
      go(withQuery({ sort: up && name === "rank" ? "" : up ? name : `-${name}` }));
    };
    return html`<th scope="col" class=${kind} title=${about} aria-sort=${sorted && sortable ? (rising ? "ascending" : "descending") : undefined}>
      ${sortable ? html`<button type="button" onClick=${pick}>${text}${sorted ? (rising ? " ↑" : " ↓") : ""}</button>` : text}</th>`;
  }

  /** What rows are sorted by, as a field: a narrow window has no headings of the columns that it does not show. @param {any} look */
  choices(look) {
    if (this.rows.length > ALL_ROWS) return null;
    const { column, rising } = this.sorting();
    const names = Object.entries({ rank: "rank", name: "name", rating: "rating", change: look.change && "change", games: look.games && look.played.toLowerCase(), wins: look.results && "share won", last: look.last && "last active" }).filter(([, text]) => text);
    const orders = names.flatMap(([name, text]) => [RISING.includes(name), !RISING.includes(name)].map((up) => ({ sort: up ? name : `-${name}`, text: `${text} ${up ? "↑" : "↓"}` })));
    const now = rising ? column : `-${column}`;
    const chosen = orders.some(({ sort }) => sort === now) ? now : "rank"; // rows without a value in the column are by rank
    return html`<label class="pick narrow">Sort by <select value=${chosen} onChange=${(/** @type {any} */ event) => go(withQuery({ sort: event.target.value === "rank" ? "" : event.target.value }))}>
      ${orders.map(({ sort, text }) => html`<option key=${sort} value=${sort}>${text}</option>`)}</select></label>`;
  }

  /** The column of the address, and whether the smallest is first. */
  sorting() {
    const [, minus, column] = /^(-?)(.*)$/.exec(this.props.sort ?? "") ?? [];
    return Object.hasOwn(SORTS, column) ? { column, rising: !minus } : { column: "rank", rising: true };
  }

  visible() {
    const total = this.rows.length;
    if (total > ALL_ROWS) {
      const first = Math.min(this.state.first, Math.max(0, total - 1));
      return { first, rows: Array.from({ length: Math.min(this.state.shown, total - first) }, (_, i) => this.rows.at(first + i)) };
    }
    this.rows.reach(0, total);
    const rows = Array.from({ length: total }, (_, i) => this.rows.at(i)).filter(Boolean);
    const { column, rising } = this.sorting();
    const order = by(column, rising);
    const apart = (/** @type {any} */ row) => Number(row.provisional ?? false);
    return { first: 0, rows: rows.sort((a, b) => apart(a) - apart(b) || order(a, b)) };
  }

  render() {
    this.focused = /** @type {HTMLElement | null} */ (document.activeElement === document.body ? null : document.activeElement); // a row that moves loses the focus
    const board = this.rows.board;
    if (!board) return html`<p class=${this.rows.error ? "trouble" : "soft"} role="status">${this.rows.error ? `Not updating: ${this.rows.error.message}` : "Loading the board"}</p>`;
    const { first, rows } = this.visible();
    const total = this.rows.length;
    if (!total) return html`<p class="soft">${this.rows.sequential ? "No agent matches." : "No agent is rated."}</p>`;
    const known = rows.filter(Boolean);
    const look = columnsOf(board, known);
    const height = Math.min(total * ROW, HIGHEST);
    const { boundary } = this.rows;
    const passed = total > ALL_ROWS && boundary > 0 && boundary < first ? HEADING : 0; // the heading is above the rows that are in the document
    const above = total > ALL_ROWS ? this.state.above + passed : 0;
    const below = total > ALL_ROWS ? Math.max(0, height + passed - above - rows.length * ROW) : 0;
    const heads = (/** @type {any} */ row, /** @type {number} */ i) => (total > ALL_ROWS && boundary < Infinity ? boundary > 0 && first + i === boundary : i > 0 && row.provisional && rows[i - 1] && !rows[i - 1].provisional);
    return html`${this.choices(look)}<table class="board" aria-rowcount=${total + 1} ref=${(/** @type {any} */ node) => (this.body = node)}>
      <caption class="hidden">${this.props.caption}</caption>
      <thead><tr>${this.heading("rank", "Rank", "rank")}${this.heading("name", "Agent")}
        ${this.heading("rating", html`Rating${look.change ? html`<span class="narrow small">${look.change.toLowerCase()}</span>` : null}`, "number")}${look.change ? this.heading("change", look.change, "number wide change", sinceWhen(board)) : null}${look.whiskers ? this.heading("whisker", "Interval", "whisker wide") : null}
        ${look.games ? this.heading("games", look.played, "number wide") : null}${look.results ? this.heading("wins", "Won–drawn–lost", "number wide") : null}${look.last ? this.heading("last", "Last active", "number wide") : null}</tr></thead>
      ${above ? html`<tbody aria-hidden="true"><tr><td class="space" style=${{ height: `${above}px` }}></td></tr></tbody>` : null}
      <tbody>${rows.flatMap((row, i) => (row ? [...(heads(row, i) ? [PROVISIONAL] : []), line(this.props.pool, row, look, first + i + 2, this.props.around)] : html`<tr key=${`wait ${first + i}`} class="waits" aria-rowindex=${first + i + 2}>${this.rows.isRead(first + i) ? html`<td class="rank"></td><td colspan="7" class="soft">hidden agent</td>` : html`<td class="rank">${first + i < boundary ? whole(first + i + 1) : "?"}</td><td colspan="7">…</td>`}</tr>`))}</tbody>
      ${below ? html`<tbody aria-hidden="true"><tr><td class="space" style=${{ height: `${below}px` }}></td></tr></tbody>` : null}
    </table>
    ${board.outside ? html`<p class="soft">${count(board.outside, "other agent")} ${board.outside === 1 ? "has" : "have"} probability 0.</p>` : null}
    ${alike(known, look.shown).map((says) => html`<p class="soft small" key=${says}>${says}</p>`)}
    ${this.rows.hidden ? html`<p class="soft">${leftOut(this.rows.hidden)} Ranks count hidden agents.</p>` : null}`;
  }
}

/** What the columns of a board hold: the scale of whiskers, and how ratings are written. @param {any} board @param {any[]} rows */
function columnsOf(board, rows) {
  const ratings = rows.map((row) => row.rating);
  const ends = rows.flatMap((row) => [row.low, row.high, row.rating]).filter((end) => typeof end === "number");
  const counted = rows.some((row) => row.games > 0); // pools without `by_shape` count no games in teams: where all play in teams, records say nothing
  return {
    shown: shower(ratings, board.extra?.tie_tolerance ?? 0),
    place: placer(rows),
    decimals: decimalsOf(ratings),
    change: board.earlier && rows.some((row) => changeOf(row) !== null) ? `Change ${since(board.earlier)}` : "",
    why: board.source === "live" ? `?method=${board.method}#moved` : `${search({ why: board.method, since: board.earlier && utc(board.earlier.time) })}#why`,
    low: Math.min(...ends), high: Math.max(...ends),
    whiskers: rows.some((row) => typeof row.low === "number"),
    games: counted || rows.some((row) => row.outcomes !== undefined),
    played: counted ? "Games" : "Outcomes",
    results: counted,
    last: rows.some((row) => row.last_played !== undefined),
    contributions: board.extra?.contributions ?? {},
  };
}

/**
 * Why ratings that are written alike have different ranks, where there are such. Ratings of an online method are not rounded and not compared within a tolerance: they follow from the order of the games.
 * @param {any[]} rows @param {(rating: number) => string} shown How a rating is written. @returns {string[]}
 */
function alike(rows, shown) {
  const ranked = rows.filter((row) => row.rank !== null && row.rating !== null).sort((a, b) => a.rank - b.rank);
  const pairs = ranked.slice(1).map((row, i) => [ranked[i], row]).filter(([one, next]) => one.rank !== next.rank && shown(one.rating) === shown(next.rating));
  const told = [];
  if (pairs.some(([one, next]) => one.rating !== next.rating)) told.push("Ratings that look equal and have different ranks differ in decimals that are not shown.");
  if (pairs.some(([one, next]) => one.rating === next.rating)) told.push("Agents of equal ratings with different ranks are ordered by the method itself.");
  return told;
}

/** @param {string} pool @param {any} row @param {any} look @param {number} index @param {string | undefined} around */
function line(pool, row, look, index, around) {
  const place = row.filter_place ?? null;
  const record = row.wins === undefined || !look.results ? null : `${whole(row.wins)}–${whole(row.draws)}–${whole(row.losses)}`;
  const games = look.results ? row.games ?? row.outcomes : row.outcomes;
  const interval = typeof row.low === "number" ? between(row.low, row.high, look.shown) : null;
  const small = [row.rank_low === undefined || row.rank_low === row.rank_high ? null : `rank ${row.rank_low}–${row.rank_high}`, games === undefined ? null : count(games, row.games === undefined || !look.results ? "outcome" : "game"), record, row.last_played === undefined ? null : lastActive(row)].filter(Boolean);
  return html`<tr key=${row.agent} class=${`${row.provisional ? "provisional" : ""}${row.agent === around ? " chosen" : ""}`} aria-rowindex=${index}>
    <td class="rank" title=${row.provisional ? `provisional: ${unsettled(row)}` : undefined}>${look.place(row)}
      ${row.rank_low === undefined || row.rank_low === row.rank_high ? null : html`<span class="ranks wide">${row.rank_low}–${row.rank_high}</span>`}${place === null ? null : html`<span class="ranks">no. ${place} here</span>`}</td>
    <td class="name"><${Name} pool=${pool} row=${row} />${small.length ? html`<span class="narrow small">${small.map((part) => html`<span class="one" key=${part}>${part}</span> `)}</span>` : null}</td>
    <td class="number" title=${contributions(look.contributions[row.agent])}>${look.shown(row.rating)}${row.deviation === undefined || interval ? null : html`<span class="deviation"> deviation ${look.shown(row.deviation)}</span>`}${look.change ? html`<span class="narrow small one">${change(pool, row, look)}</span>` : null}${interval ? html`<span class="narrow small one">${interval}</span>` : null}</td>
    ${look.change ? html`<td class="number wide change">${change(pool, row, look)}</td>` : null}
    ${look.whiskers ? html`<td class="whisker wide">${interval ? whisker(row, look, interval) : "–"}</td>` : null}
    ${look.games ? html`<td class="number wide">${games === undefined ? "–" : whole(games)}</td>` : null}${look.results ? html`<td class="number wide">${record ?? "–"}</td>` : null}
    ${look.last ? html`<td class="number wide">${row.last_played === undefined ? html`<span title="not among the newest outcomes that this pool keeps">–</span>` : html`<time datetime=${new Date(1000 * row.last_played).toISOString()} title=${date(row.last_played)}>${lastActive(row)}</time>`}</td>` : null}</tr>`;
}

/** How long ago an agent had its newest outcome. @param {any} row */
function lastActive(row) {
  return ago(Math.max(0, Date.now() / 1000 - row.last_played));
}

/** The tasks with the largest contributions to a rating, if the method reported them. @param {Record<string, number> | undefined} parts */
function contributions(parts) {
  const told = Object.entries(parts ?? {}).filter(([, share]) => share !== 0);
  return told.length ? `contributions: ${told.map(([part, share]) => `${part} ${share > 0 ? "+" : ""}${Number(share.toPrecision(3))}`).join(", ")}` : undefined;
}

/** The reason for the question mark in place of a rank. @param {any} row */
function unsettled(row) {
  if (row.outcomes === undefined) return "few outcomes yet";
  return `${count(row.outcomes, "outcome")}${row.opponents === undefined ? "" : `, ${count(row.opponents, "opponent")}`}`;
}

/** How much a rating changed since the board's earlier state; null if that is not known. @param {any} row @returns {number | null} */
function changeOf(row) {
  return typeof row.earlier_rating === "number" && typeof row.rating === "number" ? row.rating - row.earlier_rating : null;
}

/** The change of a rank and of a rating, as a link to its reasons. @param {string} pool @param {any} row @param {any} look */
function change(pool, row, look) {
  const moved = changeOf(row);
  if (moved === null) return html`<span title="not on the board of then, or not among the games that this pool keeps">–</span>`;
  const up = row.rank === null ? 0 : (row.earlier_rank ?? row.rank) - row.rank;
  const told = up === 0 ? "" : `${up > 0 ? "up" : "down"} from rank ${whole(row.earlier_rank ?? row.rank)}`; // provisional agents have no rank
  const says = signed(moved, look.decimals);
  return html`${up === 0 ? null : html`<span class=${up > 0 ? "up" : "down"} title=${told} aria-label=${told} role="img">${up > 0 ? "▲" : "▼"}${whole(Math.abs(up))}</span> `}${Number(says) === 0 ? says : html`<a href=${agentPath(pool, row.agent) + look.why} title="Why?">${says}</a>`}`;
}

/** What the column of changes compares. @param {any} board */
function sinceWhen({ earlier, source }) {
  const oldest = source === "solved" ? "the oldest kept solve of this season" : "the oldest kept games";
  return `Change of ${source === "solved" ? "rank and " : ""}rating since ${date(earlier.time)}${earlier.day ? "" : `, ${oldest}`}`;
}

/** @param {any} row @param {any} look @param {string} interval */
function whisker(row, look, interval) {
  const at = (/** @type {number} */ value) => (look.high > look.low ? (100 * (value - look.low)) / (look.high - look.low) : 50);
  return html`<svg class="bar" viewBox="-2 0 104 16" preserveAspectRatio="none" role="img" aria-label=${`interval: ${interval}`}><title>${interval}</title>
    <line x1=${at(row.low)} x2=${at(row.high)} y1="8" y2="8" class="range" />${row.rating === null ? null : html`<line x1=${at(row.rating)} x2=${at(row.rating)} y1="2" y2="14" class="point" />`}</svg>`;
}

/** Rows that are all in one answer. @param {{pool: string, board: any, caption: string, around?: string}} props */
export function StaticBoard({ pool, board, caption, around }) {
  const look = columnsOf(board, board.rows);
  /** @type {any[]} */
  const rows = board.rows;
  return html`<table class="board"><caption class="hidden">${caption}</caption><thead><tr><th scope="col" class="rank">Rank</th><th scope="col">Agent</th><th scope="col" class="number">Rating</th>
    ${look.whiskers ? html`<th scope="col" class="whisker wide">Interval</th>` : null}${look.games ? html`<th scope="col" class="number wide">${look.played}</th>` : null}${look.results ? html`<th scope="col" class="number wide">Won–drawn–lost</th>` : null}${look.last ? html`<th scope="col" class="number wide">Last active</th>` : null}</tr></thead>
    <tbody>${rows.flatMap((row, i) => [...(i > 0 && row.provisional && !rows[i - 1].provisional ? [PROVISIONAL] : []), line(pool, row, look, i + 2, around)])}</tbody></table>
    ${alike(rows, look.shown).map((says) => html`<p class="soft small" key=${says}>${says}</p>`)}`;
}
