// The first page: what Equirank is, and each pool with its leader.
import { ask, Live, poolUrl, search } from "../api.js";
import { Sparkline } from "../chart.js";
import { ago, count, shower, today } from "../format.js";
import { leading, title } from "../methods.js";
import { follow, go, withQuery } from "../nav.js";
import { Empty, Name, poolPath } from "../parts.js";
import { AgentSearch } from "../search.js";
import { State } from "../state.js";
import { html } from "../ui.js";

const CARDS = 24;
const POOLS_SEARCHED = 1000;

/** @extends Live */
export default class Home extends Live {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { text: "", all: null };
  }

  feeds() {
    const start = Number(this.props.query.start) || 0;
    return { pools: /** @type {[string, number]} */ ([`/v1/pools${search({ count: CARDS, start })}`, 1]) };
  }

  /** The names of all pools are read when somebody begins to search them. @param {string} text */
  async type(text) {
    this.setState({ text });
    if (this.state.all || !text) return;
    const all = [];
    for (let start = 0, total = 1; start < total; start += POOLS_SEARCHED) {
      const answer = await ask(`/v1/pools?count=${POOLS_SEARCHED}&start=${start}`).catch(() => ({ total: 0, pools: [] }));
      total = answer.total;
      all.push(...answer.pools);
    }
    this.setState({ all });
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
        <label>Find a pool <input type="search" value=${text} onInput=${(/** @type {any} */ event) => this.type(event.target.value)} autocomplete="off" /></label></form>
      ${shown.length ? null : html`<p class="soft" role="status">No pool has this in its name.</p>`}
      <div class="cards">${shown.map((/** @type {any} */ view) => html`<${PoolCard} key=${view.pool} view=${view} />`)}</div>
      ${!wanted && list.total > CARDS ? html`<nav class="pages" aria-label="More pools">${start > 0 ? html`<a href=${withQuery({ start: Math.max(0, start - CARDS) || "" })} onClick=${follow}>Previous</a>` : null}
        <span>${start + 1} to ${start + list.pools.length} of ${count(list.total, "pool")}</span>
        ${start + CARDS < list.total ? html`<a href=${withQuery({ start: start + CARDS })} onClick=${follow}>Next</a>` : null}</nav>` : null}`;
  }
}

/** One pool: its leaders by the main method, its size, and how fresh it is. @extends Live */
class PoolCard extends Live {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { searching: false, curve: [] };
  }

  feeds() {
    const { view } = this.props;
    /** @type {Record<string, [string, number]>} */
    const feeds = view.head ? { boards: [poolUrl(view.pool, "/boards", { count: 3 }), 5] } : {};
    return feeds;
  }

  async componentDidUpdate() {
    super.componentDidUpdate();
    const board = leading(this.value("boards")?.boards ?? [], this.props.view.leading_method);
    const first = board?.rows[0]?.agent;
    if (!first || this.asked === first || board.games_position === undefined) return; // records and histories come with the first checkpoint
    this.asked = first;
    const curve = await ask(poolUrl(this.props.view.pool, `/agents/${encodeURIComponent(first)}/history`, { points: 40 })).catch(() => null);
    this.setState({ curve: (curve?.points ?? []).map((/** @type {any} */ point) => point.rating).filter((/** @type {any} */ rating) => rating !== null), by: curve?.method });
  }

  render() {
    const { view } = this.props;
    const { head } = view;
    const board = leading(this.value("boards")?.boards ?? [], this.props.view.leading_method);
    const shown = board ? shower(board.rows.map((/** @type {any} */ row) => row.rating), board.extra?.tie_tolerance ?? 0) : null;
    const day = today(this.value("boards")?.last_day);
    const age = head?.pool_time ? Date.now() / 1000 - head.pool_time : null;
    return html`<section class="card pool"><header><h2><a href=${poolPath(view.pool)}><bdi>${view.pool}</bdi></a></h2>${view.label ? html`<span class="tag">${view.label}</span>` : null}</header>
      ${head?.stopped ? html`<p class="trouble">This pool stopped: ${head.stopped}</p>` : null}
      ${board?.reason ? html`<p class="soft">Not enough outcomes for ranks yet.</p>` : board?.rows.length ? html`<ol class="leaders" aria-label=${`Leaders by ${title(board.method)}`}>${board.rows.filter((/** @type {any} */ row) => row.rank !== null).map((/** @type {any} */ row) => html`<li key=${row.agent} value=${row.rank}><${Name} pool=${view.pool} row=${row} /><span class="number">${shown?.(row.rating)}</span></li>`)}</ol>
        <div class="under"><p class="soft">by ${title(board.method)}</p>${this.state.curve.length > 1 ? html`<${Sparkline} values=${this.state.curve} label=${`Rating of the leader over time, by ${title(this.state.by)}`} />` : null}</div>` : html`<p class="soft">${head ? "No board yet." : "No outcomes yet."}</p>`}
      ${head ? html`<p class="soft facts-line">${count(head.outcomes, view.kind === "games" ? "game" : "task result")}${day ? ` (${day})` : ""} · ${count(head.agents, "agent")}${age === null || age < 0 ? "" : ` · newest ${ago(age)}`}</p>` : null}
      ${head ? (this.state.searching ? html`<${AgentSearch} pool=${view.pool} />` : html`<button type="button" class="link" onClick=${() => this.setState({ searching: true })}>Find an agent</button>`) : null}</section>`;
  }
}
