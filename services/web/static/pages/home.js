// The first page: what Equirank is, and each pool with its leader.
import { ask, Live, poolUrl, search } from "../api.js";
import { Sparkline } from "../chart.js";
import { ago, count, nameOf, placer, shower, today, whole, wordOf } from "../format.js";
import { cautions, leading, title } from "../methods.js";
import { follow, go, withQuery } from "../nav.js";
import { Empty, Name, poolPath } from "../parts.js";
import { State } from "../state.js";
import { html } from "../ui.js";

const CARDS = 24;
const LEADERS = 3; // rows of a card. One more is read, to see whether it shares their last rank
const POOLS_SEARCHED = 1000;
const DELAY = 250; // milliseconds without a key until agents are searched
const FOUND = 3; // agents of a pool

/** @extends Live */
export default class Home extends Live {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { text: "", all: null, found: [], searched: 0, busy: false, unread: false };
  }

  componentWillUnmount() {
    super.componentWillUnmount();
    clearTimeout(this.timer);
  }

  feeds() {
    const start = Number(this.props.query.start) || 0;
    return { pools: /** @type {[string, number]} */ ([`/v1/pools${search({ count: CARDS, start })}`, 1]) };
  }

  /** All pools, once a search asked for them. @type {Promise<any[]> | undefined} */
  all = undefined;

  /** Leading method of each pool whose card was shown, so that a search has the ranks of the cards. @type {Record<string, string>} */
  methods = {};

  /** Number of the newest search, so that the answers of an older one are not shown. */
  turn = 0;

  /** @param {string} text */
  type(text) {
    this.turn += 1;
    this.setState({ text, found: [], searched: 0, unread: false });
    clearTimeout(this.timer);
    if (!text.trim()) return;
    this.timer = setTimeout(() => this.find(text), DELAY);
    this.all ??= names().then((all) => (this.setState({ all }), all), () => {
      this.all = undefined; // the next search reads them again
      this.setState({ unread: true });
      return [];
    });
  }

  /** Searches the agents of the next pools. Each pool is one request, so they are asked in parts. @param {string} text */
  async find(text) {
    const { searched } = this.state;
    const { turn } = this;
    const all = (await this.all) ?? [];
    if (!all.length) return;
    const next = all.slice(searched, searched + CARDS).filter((/** @type {any} */ view) => view.head);
    this.setState({ busy: true });
    const answers = await Promise.all(next.map((/** @type {any} */ view) => ask(poolUrl(view.pool, "/agents", { query: text.trim(), count: FOUND, method: this.methods[view.pool] })).then((answer) => ({ ...answer, pool: view.pool }), () => ({ pool: view.pool, failed: true, agents: [] }))));
    if (this.turn === turn) this.setState({ found: [...this.state.found, ...answers], searched: searched + CARDS, busy: false });
  }

  /** What the search found among the agents of the pools that were asked. @param {any} list */
  agents(list) {
    const { text, found, searched, busy, unread } = this.state;
    if (unread) return html`<p class="trouble">Not all pools can be read now. Search again.</p>`;
    if (!searched) return html`<p class="soft">${busy ? "Searching agents" : ""}</p>`;
    const rows = found.flatMap((/** @type {any} */ answer) => answer.agents.map((/** @type {any} */ row) => ({ row, answer })));
    const failed = found.filter((/** @type {any} */ answer) => answer.failed).length;
    const more = list.total - searched;
    return html`<h2>Agents</h2>${rows.length ? html`<ul class="results">${rows.map((/** @type {any} */ { row, answer }) => html`<li key=${`${answer.pool} ${row.agent}`}><${Name} pool=${answer.pool} row=${row} /> <span class="soft">in <a href=${poolPath(answer.pool)}><bdi>${answer.pool}</bdi></a>${row.rank ? `, no. ${whole(row.rank)} by ${title(answer.method)}` : ""}</span></li>`)}</ul>` : html`<p class="soft">No agent of ${more > 0 ? "these pools" : "any pool"} has this in its name.</p>`}
      ${failed ? html`<p class="trouble">${count(failed, "pool")} did not answer.</p>` : null}
      ${more > 0 ? html`<p class="soft">The agents of ${count(Math.min(searched, list.total), "pool")} were searched. <button type="button" disabled=${busy} onClick=${() => this.find(text)}>Search ${whole(Math.min(more, CARDS))} more</button></p>` : null}`;
  }

  render() {
    const list = this.value("pools");
    return html`<div class="lead"><h1>Leaderboards that cycles and copies do not fool</h1>
      <p>Equirank rates agents from games and scores as they come in, says how sure each rank is, and checks each solved answer.${" "}
        <a href="/copies">See why one number can mislead</a>.</p></div>
      <${State} poll=${this.polls.pools} trouble=${list?.trouble} error=${this.failure()} />
      ${list ? this.pools(list) : html`<p class="soft">Loading</p>`}`;
  }

  /** @param {any} list */
  pools(list) {
    if (!list.total) return html`<${Empty} text="There are no pools yet. The first outcome creates its pool. If this is switched off, create a pool first with PUT /v1/pools/NAME:" kind="games" />`;
    const { text, all } = this.state;
    const wanted = text.trim().toLowerCase();
    const shown = wanted ? (all ?? list.pools).filter((/** @type {any} */ view) => `${view.pool} ${view.label}`.toLowerCase().includes(wanted)).slice(0, CARDS) : list.pools;
    const start = Number(this.props.query.start) || 0;
    return html`<form class="search" role="search" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), shown.length === 1 && go(poolPath(shown[0].pool)) )}>
        <label>Find a pool or an agent <input type="search" value=${text} onInput=${(/** @type {any} */ event) => this.type(event.target.value)} autocomplete="off" /></label></form>
      <div aria-live="polite">${wanted ? this.agents(list) : null}${wanted ? html`<h2>Pools</h2>` : null}${shown.length ? null : html`<p class="soft">No pool has this in its name.</p>`}</div>
      <div class="cards">${shown.map((/** @type {any} */ view) => html`<${PoolCard} key=${view.pool} view=${view} onBoard=${(/** @type {string} */ method) => (this.methods[view.pool] = method)} />`)}</div>
      ${!wanted && list.total > CARDS ? html`<nav class="pages" aria-label="More pools">${start > 0 ? html`<a href=${withQuery({ start: Math.max(0, start - CARDS) || "" })} onClick=${follow}>Previous</a>` : null}
        <span>${start + 1} to ${start + list.pools.length} of ${count(list.total, "pool")}</span>
        ${start + CARDS < list.total ? html`<a href=${withQuery({ start: start + CARDS })} onClick=${follow}>Next</a>` : null}</nav>` : null}`;
  }
}

/** All pools. They are read when somebody begins to search them. @returns {Promise<any[]>} Rejected if they cannot be read. */
async function names() {
  const all = [];
  for (let start = 0, total = 1; start < total; start += POOLS_SEARCHED) {
    const answer = await ask(`/v1/pools?count=${POOLS_SEARCHED}&start=${start}`);
    total = answer.total;
    all.push(...answer.pools);
  }
  return all;
}

/** One pool: its leaders by the main method, its size, and how fresh it is. @extends Live */
class PoolCard extends Live {
  /** Of which method and leader the curve was read. @type {string | undefined} */
  asked = undefined;

  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { curve: [] };
  }

  feeds() {
    const { view } = this.props;
    /** @type {Record<string, [string, number]>} */
    const feeds = view.head ? { boards: [poolUrl(view.pool, "/boards", { count: LEADERS + 1 }), 5] } : {};
    if (this.value("boards")) feeds.insight = [poolUrl(view.pool, "/insight"), 30];
    return feeds;
  }

  async componentDidUpdate() {
    super.componentDidUpdate();
    const board = leading(this.value("boards")?.boards ?? [], this.props.view.leading_method);
    if (board) this.props.onBoard(board.method);
    const first = board?.rows[0]?.agent;
    const asked = `${board?.method} ${first}`;
    if (!first || this.asked === asked || board.games_position === undefined) return; // records and histories come with the first checkpoint
    this.asked = asked;
    const curve = await ask(poolUrl(this.props.view.pool, `/agents/${encodeURIComponent(first)}/history`, { method: board.method, points: 40 })).catch(() => null);
    this.setState({ name: nameOf(board.rows[0]), curve: (curve?.points ?? []).map((/** @type {any} */ point) => point.rating).filter((/** @type {any} */ rating) => rating !== null), by: curve?.method });
  }

  render() {
    const { view } = this.props;
    const list = this.value("boards");
    const current = this.polls.boards?.error ? null : list;
    const head = current?.pool.head ?? view.head; // that of the boards, so that all numbers of the card are of one answer
    const board = leading(list?.boards ?? [], this.props.view.leading_method);
    const rows = (board?.rows ?? []).filter((/** @type {any} */ row) => row.rank !== null);
    const place = placer(rows);
    const hasMore = rows.length > LEADERS && rows[LEADERS].rank === rows[LEADERS - 1].rank;
    const shown = board ? shower(board.rows.map((/** @type {any} */ row) => row.rating), board.extra?.tie_tolerance ?? 0) : null;
    const day = today(current?.last_day);
    const care = board ? cautions(board.method, this.value("insight")) : [];
    const age = head?.pool_time ? Date.now() / 1000 - head.pool_time : null;
    return html`<section class="card pool"><header><h2><a href=${poolPath(view.pool)}><bdi>${view.pool}</bdi></a></h2>${view.label ? html`<span class="tag">${view.label}</span>` : null}</header>
      ${head?.stopped ? html`<p class="trouble">This pool stopped: ${head.stopped}</p>` : null}
      ${board?.reason ? html`<p class="soft">Not enough outcomes for ranks yet.</p>` : board?.rows.length ? html`<ol class="leaders" aria-label=${`Leaders by ${title(board.method)}`}>${rows.slice(0, LEADERS).map((/** @type {any} */ row) => html`<li key=${row.agent}><span class="place">${place(row)}</span> <${Name} pool=${view.pool} row=${row} /><span class="number">${shown?.(row.rating)}</span></li>`)}${hasMore ? html`<li class="soft"><span class="place">${place(rows[LEADERS])}</span> and others</li>` : null}</ol>
        <div class="under"><p class="soft">by ${title(board.method)}</p>${this.state.curve.length > 1 ? html`<${Sparkline} values=${this.state.curve} label=${`Rating of ${this.state.name} over time, by ${title(this.state.by)}`} />` : null}</div>
        ${care.length ? html`<p class="soft">Read with care: ${care.map(({ short, view: says }, i) => html`${i ? ", " : null}<a key=${says} href=${`${poolPath(view.pool)}?view=${says}`}>${short}</a>`)}</p>` : null}` : html`<p class="soft">${head ? "No board yet." : "No outcomes yet."}</p>`}
      ${head ? html`<p class="soft facts-line">${count(head.outcomes, wordOf(view.kind))}${day ? ` (${day})` : ""} · ${count(head.agents, "agent")}${age === null || age < 0 ? "" : ` · newest ${ago(age)}`}</p>` : null}</section>`;
  }
}
