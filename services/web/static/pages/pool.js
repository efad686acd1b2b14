// The page of a pool: one leaderboard, the other methods one step away, and views that say what one number cannot.
import { Live, boardUrl, poolUrl, search } from "../api.js";
import { Board, StaticBoard } from "../board.js";
import { ago, count, date, nameOf, some, today, whole, wordOf } from "../format.js";
import { cautions, computed, cycleSays, disputedSays, isProven, leading, levelOf, ordersOf, preferred, provenCycle, question, ranksHold, title } from "../methods.js";
import { follow, go, query, withQuery } from "../nav.js";
import { Past, Times, said } from "../past.js";
import { Badge, Details, Empty, agentPath, poolPath } from "../parts.js";
import { AgentSearch } from "../search.js";
import { State } from "../state.js";
import { Component, html } from "../ui.js";

const VIEWS = {
  board: "Leaderboard",
  intervals: "How sure",
  methods: "Methods compared",
  wins: "Who beats whom",
  cycles: "Cycles",
  copies: "Copies",
  next: "Next games",
  forecasts: "Forecasts",
  insight: "All findings",
};
const LOADERS = {
  intervals: () => import("../views/intervals.js"),
  methods: () => import("../views/methods.js"),
  wins: () => import("../views/wins.js"),
  cycles: () => import("../views/cycles.js"),
  copies: () => import("../views/copies.js"),
  next: () => import("../views/next.js"),
  forecasts: () => import("../views/forecasts.js"),
  insight: () => import("../views/insight.js"),
};
const OF_THE_PAST = ["board", "intervals", "methods"]; // views that read boards alone, which are kept; findings and records are of now
const OF_FINDINGS = ["methods", "wins", "cycles", "copies", "forecasts", "insight"]; // views that read the findings
const FIRST_SEASON = "first";
const FIRST_ROWS = 100; // of a board, whose ranks are called settled or not: as many as the leaderboard reads at once
const FILTERS = ["country", "organisation", "tag", "min_games"];

/** @extends Live */
export default class PoolPage extends Live {
  /** Season, slice and method of final boards on which nobody has a rating. @type {Set<string>} */
  unrated = new Set();

  feeds() {
    const { pool, query: chosen } = this.props;
    /** @type {Record<string, [string, number]>} */
    const feeds = { boards: [poolUrl(pool, "/boards", { count: 1 }), 1] };
    if (this.polls.boards?.error && !this.value("boards")) return feeds; // of a pool that is not there, nothing is
    if (chosen.slice) feeds.slices = [poolUrl(pool, "/slices"), 10];
    const part = this.part();
    if (part) feeds.sliced = [poolUrl(pool, "/boards", { count: 1, slice: part.name }), 1];
    if (this.awaitsRows()) return feeds;
    if (!chosen.embed) feeds.slices = [poolUrl(pool, "/slices"), 10];
    if (!chosen.embed || chosen.season) feeds.seasons = [poolUrl(pool, "/seasons"), 60];
    feeds.folding = [poolUrl(pool), 5];
    const surer = part ? undefined : this.surer();
    if (surer) feeds.surer = [boardUrl(pool, surer, {}, { count: FIRST_ROWS }), 30];
    if (!chosen.slice) feeds.insight = [poolUrl(pool, "/insight"), 5];
    else if (this.value("slices") && (!part || OF_FINDINGS.includes(this.view()))) feeds.insight = [poolUrl(pool, "/insight", { slice: part?.name }), part ? 30 : 5]; // that of a slice is computed for the request
    return feeds;
  }

  /** The other method that says how sure ranks are, where the rows that are shown have no intervals of ranks. Rows that filters choose are not counted. @returns {string | undefined} */
  surer() {
    const { board } = this.rows ?? {};
    const { season, at } = this.props.query;
    if (!board || season || at || this.view() !== "board" || typeof board.settled_ranks === "number" || !board.rows.some((/** @type {any} */ row) => row.rank !== null && !row.filter_place)) return undefined;
    const others = this.value("boards").boards.filter((/** @type {any} */ one) => one.method !== board.method && one.rows.some(hasRanks));
    return preferred(others.map((/** @type {any} */ one) => one.method))[0];
  }

  /** @returns {keyof typeof VIEWS} */
  view() {
    const { view } = this.props.query;
    return Object.hasOwn(VIEWS, view) ? /** @type {keyof typeof VIEWS} */ (view) : "board";
  }

  /** Whether the page is to show a leaderboard, and has no rows yet. Until it has them, it requests nothing else. */
  awaitsRows() {
    const { view, season, at } = this.props.query;
    const list = this.value("boards");
    if (this.answered || Object.hasOwn(VIEWS, view) || season || at || this.polls.boards?.error) return false;
    return !list || list.boards.some((/** @type {any} */ board) => board.rows.length);
  }

  /** Rows arrived, or cannot be read. @param {any} board Its first page; null if it cannot be read. @param {string} of What the page is of. */
  answer(board, of) {
    const first = !this.answered;
    this.answered = true;
    this.rows = { board, of };
    if (first) this.forceUpdate();
  }

  /** Choose another method to lead the ended season: the final board by this one rates nobody, as Bradley-Terry where all play in teams. @param {string} method */
  pass(method) {
    const { season, slice, method: asked } = this.props.query;
    const name = [season, slice, method].join(" ");
    if (!season || asked || this.unrated.has(name)) return;
    this.unrated.add(name);
    this.forceUpdate();
  }

  render() {
    const { pool, query: chosen } = this.props;
    const list = this.value("boards");
    if (!list) return this.polls.boards?.error ? missing(pool, this.polls.boards) : html`<h1><bdi>${pool}</bdi></h1><p class="soft" role="status">Loading</p>`;
    const { head, label, kind, leading_method: chosenMethod } = list.pool;
    const part = this.part();
    const of = (/** @type {any[]} */ all) => ({
      boards: all,
      main: leading(all, chosenMethod),
      board: all.find((one) => one.method === chosen.method) ?? leading(all, chosenMethod),
    });
    const complete = of(list.boards);
    const sliced = part && this.value("sliced");
    const past = chosen.at || chosen.season; // its board is read at once, so its method may not change when the slice's boards arrive
    const first = past ? list.boards : list.boards.filter((/** @type {any} */ one) => part?.methods.includes(one.method));
    const season = this.season();
    if (chosen.season && !this.value("seasons")) return html`<h1><bdi>${pool}</bdi></h1><p class="soft" role="status">${this.polls.seasons?.error?.message ?? "Loading"}</p>`;
    const shown = season ? finals(season, list.boards, chosen.method, chosenMethod, (method) => this.unrated.has([chosen.season, chosen.slice, method].join(" "))) : part ? of(sliced?.boards ?? first) : complete;
    const { board } = shown;
    const folding = this.value("folding")?.folding;
    const trouble = folding && folding.status !== "fresh" ? folding.says : null;
    const view = this.view();
    const keeps = OF_THE_PAST.includes(view);
    const scope = { season: keeps && season ? season.name : undefined, at: keeps ? chosen.at : undefined, slice: part?.name };
    const unread = chosen.slice && !this.value("slices");
    const isEmpty = ![...list.boards, board].some((/** @type {any} */ one) => one?.rows.length); // a method that does not apply has no rows in any pool
    return html`<div class="top"><h1><bdi>${pool}</bdi>${label ? html` <span class="tag">${label}</span>` : null}</h1>
        <${State} poll=${this.polls.boards} trouble=${trouble} stopped=${head?.stopped} past=${!keeps ? "" : season ? "final" : chosen.at ? "a board of the past" : ""} error=${this.failure()} />
        ${season && keeps ? html`<p class="soft">Season <b><bdi>${season.name}</bdi></b>: ${season.outcomes === null ? "" : `${count(season.outcomes, wordOf(kind))}, which `}${arrived(season)}</p>` : head ? html`<p class="soft">${keeps && chosen.at ? "Now: " : null}${this.hasSeasons() ? html`Season <b><bdi>${head.season}</bdi></b>, which runs: ` : null}${count(head.outcomes, wordOf(kind))}${list.last_day ? ` (${today(list.last_day)})` : ""} · ${count(head.agents, "agent")}${head.pool_time ? ` · newest ${ago(Math.max(0, Date.now() / 1000 - head.pool_time))}` : ""}</p>` : null}</div>
      ${head?.stopped ? html`<p class="trouble">This pool stopped: ${head.stopped}</p>` : null}
      ${!season && (!board || isEmpty) ? head?.outcomes ? html`<p class="notice" role="status">The first boards are being solved.</p>` : html`<${Empty} text="This pool has no outcomes yet. Send one to see its boards here:" kind=${kind} pool=${pool} />` : html`
        ${this.views(view, kind)}
        ${view === "board" ? this.leaderboard({ ...shown, head: part ? { ...head, outcomes: part.outcomes } : head, part }) : unread ? html`<p class="soft" role="status">${this.unread()}</p>` : html`${this.about(scope)}
          <${Lazy} key=${view} load=${LOADERS[view]} props=${{ pool, head, kind, ...(keeps || !season ? shown : part ? of(sliced?.boards ?? first) : complete), insight: scope.season || scope.at ? null : this.findings(), query: chosen, scope }} />`}`}`;
  }

  /** The findings, or why they cannot be read. @returns {any} */
  findings() {
    const { error } = this.polls.insight ?? {};
    return this.value("insight") ?? (error ? { error: error.message } : null);
  }

  /** Why there is nothing of a slice yet. */
  unread() {
    const { error } = this.polls.slices ?? {};
    return error ? `Slices cannot be read: ${error.message}` : "Loading the board";
  }

  /** What the numbers are of, if they are not of all games of now, or not of what the address names; and the way back. @param {import("../api.js").Scope} scope What the page shows. */
  about({ season, at, slice }) {
    const { query: chosen } = this.props;
    const part = this.part();
    const past = chosen.season ? html`season <bdi>${chosen.season}</bdi>` : chosen.at ? said(chosen.at) : null;
    const back = html`<a href=${withQuery({ season: "", at: "" })} onClick=${follow}>Back to now</a>`;
    return html`${past && (season || at) ? html`<p class="notice">${season ? "Final boards, at the end of" : "Boards at"} ${past}. ${back}</p>` : past ? html`<p class="notice">This view has the games of now only, not those of ${past}. ${back} <a href=${withQuery({ view: "" })} onClick=${follow}>Leaderboard of ${past}</a></p>` : null}
      ${chosen.slice && !slice ? html`<p class="notice">This pool has no slice <bdi>${chosen.slice.replace(":", " ")}</bdi>; all games are shown.</p>` : null}
      ${part ? html`<p class="notice">Rated from ${past && (season || at) ? "games" : `the ${count(part.outcomes, "game")}`} with <bdi>${part.name.replace(":", " ")}</bdi> alone${past ? "" : html`, by ${(this.value("sliced")?.boards.map((/** @type {any} */ one) => one.method) ?? part.methods).map(title).join(", ")}`}. <a href=${withQuery({ slice: "" })} onClick=${follow}>All games</a></p>` : null}`;
  }

  /** @param {string} view @param {string} kind */
  views(view, kind) {
    const names = Object.entries(VIEWS).filter(([name]) => kind === "games" || !["wins", "next", "forecasts"].includes(name));
    return html`<nav class="tabs" aria-label="Views"><ul>${names.map(([name, text]) => html`<li key=${name}><a href=${withQuery({ view: name === "board" ? "" : name, agent: "", target: "", start: "", shape: "" })} onClick=${follow} aria-current=${name === view ? "page" : undefined}>${text}</a></li>`)}</ul></nav>`;
  }

  /** The seasons that ended, with their final boards. @returns {any[]} */
  ended() {
    return (this.value("seasons")?.seasons ?? []).filter((/** @type {any} */ one) => one.boards.length);
  }

  /** Whether a season of the pool ended. The head says so before seasons are read. */
  hasSeasons() {
    const { head } = this.value("boards").pool;
    return this.value("seasons") ? this.ended().length > 0 : Boolean(head && head.season !== FIRST_SEASON);
  }

  /** The chosen season, if it ended. @returns {any} Undefined without one. */
  season() {
    const { query: chosen } = this.props;
    return chosen.season && this.ended().find((one) => one.name === chosen.season);
  }

  /** The chosen slice and its live methods; undefined without one. @returns {{name: string, methods: string[], outcomes: number} | undefined} */
  part() {
    const [dimension, ...rest] = (this.props.query.slice ?? "").split(":");
    const found = this.value("slices")?.dimensions[dimension];
    const value = found?.values.find((/** @type {any} */ one) => one.value === rest.join(":"));
    return value ? { name: `${dimension}:${value.value}`, methods: found.methods, outcomes: value.outcomes } : undefined;
  }

  /** Choices of slices, one for each tag. The head of the pool has them as well, so they are there with the board. */
  slices() {
    const { embed, slice } = this.props.query;
    const known = embed && !slice ? {} : this.value("boards").pool.head?.slices;
    const dimensions = Object.entries(this.value("slices")?.dimensions ?? known ?? {});
    const choose = (/** @type {any} */ event) => go(withQuery({ slice: event.target.value }));
    const chosen = this.part()?.name ?? "";
    return dimensions.map(([dimension, { values }]) => html`<label class="pick" key=${dimension}><bdi>${dimension}</bdi> <select value=${chosen.startsWith(`${dimension}:`) ? chosen : ""} onChange=${choose}>
      <option value="">all</option>${values.map((/** @type {any} */ one) => html`<option key=${one.value} value=${`${dimension}:${one.value}`}>${one.value}</option>`)}</select></label>`);
  }

  /** @param {{board: any, main: any, boards: any[], head: any, part: any}} shown */
  leaderboard({ board, main, boards, head, part }) {
    const { pool, query: chosen } = this.props;
    const seasons = this.ended();
    const past = chosen.season || chosen.at;
    const word = wordOf(this.value("boards").pool.kind);
    const of = JSON.stringify([board.method, part?.name, FILTERS.map((name) => chosen[name])]);
    const unanswered = boards.filter((one) => one.status === "not_applicable" && one !== board);
    return html`<nav class="methods" aria-label="Methods"><ul>${boards.filter((one) => !unanswered.includes(one)).map((one) => html`<li key=${one.method}><a class="chip" href=${withQuery({ method: one === main ? "" : one.method })} onClick=${follow} aria-current=${one === board ? "true" : undefined}>${title(one.method)}</a></li>`)}</ul></nav>
      ${unanswered.length && !chosen.embed ? html`<p class="soft small">Not applicable here: ${unanswered.map((one, i) => html`${i ? ", " : ""}<a key=${one.method} href=${withQuery({ method: one.method })} onClick=${follow} title=${one.error}>${title(one.method)}</a>`)}</p>` : null}
      <div class="board-head">${past ? null : html`<${Badge} board=${board} head=${head} since=${this.since("boards")} />`}
        ${this.slices()}
        ${this.hasSeasons() && !chosen.embed ? html`<label class="pick">Season <select value=${chosen.season ?? ""} onChange=${(/** @type {any} */ event) => go(withQuery({ season: event.target.value, at: "" }))}>
          <option value="">${head ? `${head.season} (now)` : "now"}</option>${seasons.map((/** @type {any} */ season) => html`<option key=${season.name} value=${season.name}>${season.name}</option>`)}</select></label>` : null}
        <${AgentSearch} pool=${pool} method=${past ? undefined : board.method} slice=${past ? undefined : part?.name} then=${(/** @type {string} */ agent) => go(withQuery({ agent, view: "" }))} /></div>
      <p class="question" data-method=${board.method}>${question(board.method)}</p>
      ${board.error && !past ? html`<p class="trouble">${troubled(board)}: ${board.error}</p>` : null}
      ${past || (chosen.slice && !this.value("slices")) ? null : this.about({ slice: part?.name })}
      ${chosen.agent && !past ? html`<${Around} pool=${pool} method=${board.method} agent=${chosen.agent} slice=${part?.name} />` : null}
      ${past ? html`<${Past} pool=${pool} head=${head} word=${word} method=${board.method} season=${chosen.season} at=${chosen.at} slice=${chosen.slice} onUnrated=${(/** @type {string} */ method) => this.pass(method)} />` : chosen.slice && !this.value("slices") ? html`<p class="soft" role="status">${this.unread()}</p>` : html`<div class="over-rows"><${Findings} poll=${part ? undefined : this.polls.insight} main=${main.method} method=${board.method} surer=${this.surer() === this.value("surer")?.method ? this.value("surer") : null} board=${this.rows?.of === of ? this.rows.board : null} /><${Filters} query=${chosen} /></div><${Table} key=${board.method} pool=${pool} method=${board.method} query=${chosen} slice=${part?.name} onAnswer=${(/** @type {any} */ page) => this.answer(page, of)} />`}
      <${Footer} pool=${pool} board=${board} head=${head} word=${word} chosen=${chosen} slice=${past ? chosen.slice : part?.name} />`;
  }
}

/**
 * The final boards of a season as the page's choice of methods. The one that leads is chosen among them, not among the boards of now.
 * @param {any} season @param {any[]} boards Boards of now. @param {string | undefined} asked @param {string | undefined} chosen Leading method by the settings of the pool.
 * @param {(method: string) => boolean} unrated Whether the final board by a method rates nobody, so that it does not lead.
 */
function finals(season, boards, asked, chosen, unrated) {
  const names = preferred(season.boards, chosen);
  const all = names.map((method) => boards.find((one) => one.method === method) ?? { method, rows: [], source: "season" });
  const main = all.find((one) => !unrated(one.method)) ?? all[0];
  return { boards: all, main, board: all.find((one) => one.method === asked) ?? main };
}

/** When the results of a season arrived, in words. @param {{began_at: number, ended_at: number}} season */
function arrived({ began_at: began, ended_at: ended }) {
  const [from, to] = [date(began), date(ended)];
  return from === to ? `arrived ${from}` : `arrived ${from} to ${to}`;
}

/** @param {string} pool @param {import("../api.js").Poll} poll One that has no answer. */
function missing(pool, poll) {
  if (poll.error?.status !== 404) return html`<h1><bdi>${pool}</bdi></h1><${State} poll=${poll} error=${poll.error} />`;
  return html`<h1><bdi>${pool}</bdi></h1><p class="state bad" role="status">no such pool</p>
    <${Empty} text="No pool has this name. The first outcome creates it. If this is switched off, create it with PUT /v1/pools/NAME:" kind="games" pool=${pool} />`;
}

/** A line about the newest try, if it failed. @param {any} board */
function troubled(board) {
  if (board.status === "pending") return "Pending";
  if (board.status === "not_applicable") return "Not applicable";
  return board.rows.length ? "The newest solve failed; this is the previous result" : "The solve failed";
}

/**
 * What has to be known to read a board, from the findings, which can come long after the rows. It is one line of a fixed height, so nothing moves when they come; a click shows the sentences above the rows.
 * @param {{poll: import("../api.js").Poll | undefined, main: string, method: string, surer: any, board: any}} props poll: of the findings. main: the method that leads the page. surer: the first rows of the board that says how sure ranks are, if this one does not. board: the first rows, or null.
 */
function Findings({ poll, main, method, surer, board }) {
  const insight = poll?.value;
  const found = [settled(board) ?? (board && unsure(method, surer)), ...cautions(method, insight).map(({ short, view }) => ({ short, says: (view === "cycles" ? cyclic : copied)(insight), warns: true })), thin(insight, method), compared(insight, main, method)].filter((one) => one !== null);
  const unread = poll?.error && !insight ? html`<span class="soft">Findings cannot be read: ${poll.error.status ? `the service answered ${poll.error.status}` : "no answer"}.</span>` : null;
  const care = found.findIndex((one) => one.warns);
  return html`<div class="findings-line">${found.length ? html`<details class="proof"><summary class="soft">${found.map((one, i) => html`${i ? " · " : null}<span key=${one.short} class=${one.warns ? "warns" : undefined}>${i === care ? html`<span class="wide">Read with care: </span>` : null}${one.short}</span>`)}</summary>
    <div class="pop">${found.map((one) => html`<p key=${one.short}>${one.says}</p>`)}</div></details>` : unread}</div>`;
}

/** @typedef {{short: string, says: any, warns: boolean} | null} Finding Some words for the line, the sentence, and whether ratings need care. */

/** How many of the ranks that were read are settled, where ranks have intervals. @param {any} board The first rows; null if there are none. @returns {Finding} */
function settled(board) {
  if (typeof board?.settled_ranks !== "number" || board.rows.some((/** @type {any} */ row) => row.filter_place)) return null;
  const { settled_ranks: certain, rows, total } = board;
  const of = `of ${rows.length < total ? "the first " : ""}${whole(rows.length)} ranks`;
  const counted = ["sandwich", "clustered"].includes(board.intervals?.kind); // they compare provisional agents, too
  const newcomers = counted && certain < rows.length ? " A newcomer with few games can make the ranks of others uncertain." : "";
  return {
    short: `${certain ? whole(certain) : "none"} ${of} settled`,
    says: html`${certain ? whole(certain) : "None"} ${of} ${certain === 1 ? "is" : "are"} settled. The interval beside a rank has all ranks that the agent may have.${newcomers}${isProven(board.intervals) ? "" : ` ${ranksHold(board.intervals)}`} <a href=${withQuery({ method: board.method, view: "intervals" })} onClick=${follow}>How sure</a>`,
    warns: false,
  };
}

/** How many ranks are settled by another method, where this one does not say it. @param {string} method @param {any} surer The first rows by the other method; null if there are none. @returns {Finding} */
function unsure(method, surer) {
  const counted = settled(surer);
  if (!counted) return null;
  return {
    short: `${counted.short} by ${title(surer.method)}`,
    says: html`${title(method)} does not say which of its ranks are settled. By ${title(surer.method)}: ${counted.says}`,
    warns: false,
  };
}

/** Whether an interval of ranks is beside a rank. @param {any} row */
function hasRanks(row) {
  return typeof row.rank_low === "number";
}

/** How a method differs from the leading one in this pool. @param {any} insight @param {string} main @param {string} method @returns {Finding} */
function compared(insight, main, method) {
  const part = insight?.findings?.disagreement;
  const distance = (part?.distances ?? []).find((/** @type {any} */ one) => one.methods.includes(main) && one.methods.includes(method));
  if (!distance || method === main) return null;
  if (distance.kendall === 0) return { short: `same order as ${title(main)}`, says: `Here it orders the agents that both rank as ${title(main)} does.`, warns: false };
  const disputed = part.disputed.find((/** @type {any} */ one) => [one.high, one.low].includes(method) && [one.high, one.low].includes(main));
  const about = disputed ? html`; most of all about <bdi>${nameOf(disputed.agent, insight)}</bdi>, ${disputedSays(disputed)}` : null;
  return { short: `compared with ${title(main)}`, says: html`Here this method and ${title(main)} ${ordersOf(distance)}${about}.`, warns: false };
}

/** Agents among the first ones that few games link to the others. @param {any} insight @param {string} method @returns {Finding} */
function thin(insight, method) {
  const found = insight?.findings?.connectivity?.leaders?.find((/** @type {any} */ one) => one.method === method);
  if (!found) return null;
  return { short: `${whole(found.agents.length)} weakly connected`, says: html`Weakly connected agents among the first ${found.of}: ${some(found.agents.map((/** @type {string} */ agent) => nameOf(agent, insight)))}. Few games link them to the others.`, warns: true };
}

/** What a proven cycle means for the rows. @param {any} insight */
function cyclic(insight) {
  const says = cycleSays(provenCycle(insight.findings), (agent) => nameOf(agent, insight));
  return html`<bdi>${says}</bdi>: no order of agents can show <a href=${withQuery({ view: "cycles" })} onClick=${follow}>cycles</a>.`;
}

/** What copies mean for the rows. @param {any} insight */
function copied(insight) {
  const [copies] = insight.findings.clones.exact;
  return html`${some(copies.map((/** @type {string} */ agent) => nameOf(agent, insight)))} have equal results: <a href=${withQuery({ view: "copies" })} onClick=${follow}>copies</a> change ratings that average over opponents.`;
}

/** The rows around one agent. @extends Live */
class Around extends Live {
  feeds() {
    const { pool, method, agent, slice } = this.props;
    return { rows: /** @type {[string, number]} */ ([poolUrl(pool, `/boards/${method}/around/${encodeURIComponent(agent)}`, { count: 7, slice }), 2]) };
  }

  render() {
    const { pool, agent } = this.props;
    const board = this.value("rows");
    const error = this.failure();
    return html`<section class="card around"><header><h2>Around <a href=${agentPath(pool, agent)}><bdi>${nameOf(board?.rows.find((/** @type {any} */ row) => row.agent === agent) ?? agent)}</bdi></a></h2><a href=${withQuery({ agent: "" })} onClick=${follow}>Close</a></header>
      ${board ? html`<${StaticBoard} pool=${pool} board=${board} caption="Rows around the agent" around=${agent} />` : html`<p class="soft" role="status">${error ? error.message : "Loading"}</p>`}</section>`;
  }
}

/** The leaderboard with what has to be known to read it. @extends Component */
class Table extends Component {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { board: null };
    this.heard = (/** @type {any} */ board) => {
      this.setState({ board });
      this.props.onAnswer(board);
    };
  }

  render() {
    const { pool, method, query: chosen, slice } = this.props;
    const { board } = this.state;
    const filters = Object.fromEntries(FILTERS.map((name) => [name, chosen[name]]));
    return html`${board?.reason ? html`<p class="notice">Not enough outcomes for ranks yet: all agents are provisional.</p>` : null}
      <${Board} pool=${pool} method=${method} filters=${filters} slice=${slice} caption=${title(method).replace(/( ratings)?$/, " ratings")} onBoard=${this.heard} around=${chosen.agent} sort=${chosen.sort} />
      ${board ? html`<${Notes} board=${board} />` : null}`;
  }
}

/** What intervals are, as the beginning of a sentence. @param {any} intervals Description of the intervals of a board. */
function intervalsOf(intervals) {
  return isProven(intervals) ? `${levelOf(intervals)} % intervals` : "Intervals";
}

/** Whether the interval of a rating has a width, and ends at the rating. @param {any} row */
function isOneSided(row) {
  return typeof row.low === "number" && row.low < row.high && [row.low, row.high].includes(row.rating);
}

/** Whether the interval of a rating is that one rating. @param {any} row */
function isNarrow(row) {
  return typeof row.low === "number" && row.low === row.high;
}

/** What has to be known to read a board: its intervals, who is not rated, features. @param {{board: any}} props */
function Notes({ board }) {
  const { extra = {}, intervals } = board;
  const notes = [];
  if (extra.roster) notes.push(`Only the ${extra.roster.agents} ${extra.roster.by} agents are rated; ${whole(extra.roster.left_out)} are left out.`);
  if (extra.unrated_because) notes.push(`– no rating: ${extra.unrated_because}`);
  for (const one of extra.features ?? []) {
    const [coefficient, low, high] = [one.coefficient, one.low, one.high].map((value) => value.toPrecision(3));
    notes.push(`feature ${one.feature}: ${coefficient} logits per unit, 95 % interval ${low} to ${high}`);
  }
  if (intervals?.kind === "none") notes.push(`no intervals: ${intervals.why_not}`);
  else if (intervals) {
    const ranks = (board.rows ?? []).some(hasRanks);
    notes.push(`${intervalsOf(intervals)}${intervals.of ? ` of ${intervals.of},` : ""} ${computed(intervals.kind)}${intervals.replicates ? `, computed ${intervals.replicates} times` : ""}. They assume ${intervals.assumes}.${ranks && isProven(intervals) ? ` ${ranksHold(intervals)}` : ""}`);
  }
  if ((board.rows ?? []).some(isOneSided)) notes.push("An interval that ends at its rating lies on one side of it: hardly any draw or refit was on the other side.");
  if ((board.rows ?? []).some(isNarrow)) notes.push("No spread: nearly all draws or refits gave this same rating. A rank depends on the ratings of others, too, and can have an interval beside it.");
  return notes.length ? html`<ul class="notes">${notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>` : null;
}

/**
 * Fields that choose rows. They keep what is typed while the page is drawn anew, so they get a value only once, and other filters in the
 * address make another form.
 * @param {{query: Record<string, string>}} props
 */
function Filters({ query: chosen }) {
  const send = (/** @type {any} */ event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    go(withQuery(Object.fromEntries(FILTERS.map((name) => [name, String(given.get(name) ?? "").trim()]))));
  };
  const used = FILTERS.filter((name) => chosen[name]).length;
  const field = (/** @type {string} */ name, /** @type {string} */ label, /** @type {any} */ more) => html`<label>${label} <input name=${name} defaultValue=${chosen[name] ?? ""} ...${more} /></label>`;
  return html`<details class="filters" open=${used > 0}><summary>Filter${used ? ` (${used})` : ""}</summary><form key=${FILTERS.map((name) => chosen[name] ?? "").join("\n")} onSubmit=${send}>
    ${field("country", "Country", { placeholder: "DE", maxlength: 2, size: 4 })}${field("organisation", "Organisation", {})}${field("tag", "Tag", { placeholder: "team:red" })}${field("min_games", "Least games", { type: "number", min: 0 })}
    <button type="submit">Show</button>${used ? html`<a href=${withQuery(Object.fromEntries(FILTERS.map((name) => [name, ""])))} onClick=${follow}>Clear</a>` : null}</form></details>`;
}

/** Files, links, the past, and what operators want to know. @param {any} props */
function Footer({ pool, board, head, word, chosen, slice }) {
  const { season, at } = chosen;
  const file = (/** @type {Record<string, any>} */ query) => boardUrl(pool, board.method, { season, at, slice }, query);
  const here = withQuery({ embed: "" });
  return html`<footer class="tools"><p><a href=${file({ format: "csv" })} download>CSV</a> <a href=${file({ count: 1000 })}>JSON</a> <a href=${here}>Permanent link</a> <a href=${withQuery({ embed: "1" })}>Embed</a>
      ${query().embed ? html` <a href=${here} target="_blank" rel="noopener">Open in Equirank</a>` : null}</p>
    <${Picture} key=${JSON.stringify([board.method, season, at, slice])} pool=${pool} method=${board.method} scope=${{ season, at, slice }} />
    ${chosen.embed ? null : html`<${Times} key=${board.method} pool=${pool} board=${board} word=${word} at=${chosen.at} slice=${slice} />
    ${season || at ? null : html`<${Details} head=${head} board=${board} />`}`}</footer>`;
}

/** The board as a picture, which is loaded when it is asked for. @extends Component */
class Picture extends Component {
  render() {
    const open = (/** @type {any} */ event) => event.target.open && this.setState({ open: true });
    return html`<details class="more" onToggle=${open}><summary>Picture</summary>${this.state.open ? html`<${Lazy} load=${() => import("../picture.js")} props=${{ ...this.props, query: {} }} />` : null}</details>`;
  }
}

/** Loads a view when it is asked for. @extends Component */
class Lazy extends Component {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { View: null, error: "" };
    props.load().then((/** @type {any} */ module) => this.setState({ View: module.default }), (/** @type {any} */ error) => this.setState({ error: String(error) }));
  }

  render() {
    const { View, error } = this.state;
    if (error) return html`<p class="trouble">This view cannot be shown: ${error}.</p>`;
    return View ? html`<${View} ...${this.props.props} link=${poolPath(this.props.props.pool) + search({ view: this.props.props.query.view, ...this.props.props.scope })} />` : html`<p class="soft" role="status">Loading</p>`;
  }
}
