// What an operator looks at: whether outcomes are folded, how fast, what was refused, and how solves ended.
import { Live, poolUrl, search } from "../api.js";
import { ago, count, whole } from "../format.js";
import { title } from "../methods.js";
import { follow, withQuery } from "../nav.js";
import { poolPath } from "../parts.js";
import { State } from "../state.js";
import { html } from "../ui.js";

const POOLS = 50;
const RATE_SECONDS = 20;
/** What to do about a reason for which outcomes are refused. docs/reference/dead-letters.md says more. @type {Record<string, string>} */
const REMEDIES = {
  unparsable: "correct the producer", too_large: "send fewer outcomes in a record", too_deep: "correct the producer", bad_field: "correct the producer",
  mixed_pools: "send one pool in a record", future_time: "set the producer's clock", wrong_partition: "let the producer choose the partition by the pool's name",
  unknown_pool: "create the pool, then equirank dead-letters replay", wrong_kind: "send to a pool of the right kind",
  too_many_agents: "raise max_agents of the pool, or look why names are new all the time", too_many_tasks: "raise max_tasks of the pool, or look why tasks are new all the time",
  conflicting_id: "give each outcome its own id; to correct a counted one, retract it and send another",
};

/** What a row has in columns that a narrow window does not show, in a line of its first cell. @param {string[]} parts */
function under(parts) {
  return html`<span class="narrow small">${parts.filter(Boolean).join(" · ")}</span>`;
}

/** The certificate of a solve in words. @param {any} board */
function checkedBy({ certificate }) {
  return certificate && certificate.value !== null ? `${certificate.kind.replaceAll("_", " ")} ${certificate.value === 0 ? "0" : certificate.value.toExponential(1)}` : "–";
}

/** How far the next generation of a pool is; empty if none is built. @param {any} head */
function building(head) {
  return head?.building ? ` next ${Math.round(100 * head.building.progress)} %` : "";
}

/** @extends Live */
export default class Operations extends Live {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { key: "" }; // in memory alone: it is gone when the page is left
    /** @type {{at: number, outcomes: Record<string, number>}[]} */
    this.counted = []; // numbers of outcomes within the last seconds, oldest first
  }

  feeds() {
    const { pool, start = "" } = this.props.query;
    /** @type {Record<string, [string, number] | [string, number, Record<string, string>]>} */
    const feeds = { pools: [`/v1/pools${search({ count: POOLS, start })}`, 2], inside: ["/v1/operations?count=50", this.locked() ? 3600 : 5, this.state.key ? { Authorization: `Bearer ${this.state.key}` } : {}] };
    const first = pool ?? this.value("pools")?.pools.find((/** @type {any} */ view) => view.head)?.pool;
    if (first) Object.assign(feeds, { boards: [poolUrl(first, "/boards", { count: 1 }), 2], folding: [poolUrl(first), 2], generations: [poolUrl(first, "/generations"), 10] });
    return feeds;
  }

  /** Whether the answer for operators needs a key, or another one. */
  locked() {
    return [401, 403].includes(this.polls.inside?.error?.status ?? 0);
  }

  componentDidUpdate() {
    super.componentDidUpdate();
    const poll = this.polls.pools;
    if (!poll?.value || this.counted[this.counted.length - 1]?.at === poll.at) return;
    this.counted.push({ at: poll.at, outcomes: Object.fromEntries(poll.value.pools.map((/** @type {any} */ view) => [view.pool, view.head?.outcomes ?? 0])) });
    this.counted = this.counted.filter((one) => poll.at - one.at <= 1000 * RATE_SECONDS);
  }

  /** Outcomes of a pool per second, over the last seconds. @param {string} pool */
  rate(pool) {
    const first = this.counted.find((one) => one.outcomes[pool] !== undefined);
    const last = this.counted[this.counted.length - 1];
    if (!first || !last || first === last || last.outcomes[pool] === undefined) return null;
    return (1000 * (last.outcomes[pool] - first.outcomes[pool])) / (last.at - first.at);
  }

  render() {
    const list = this.value("pools");
    return html`<h1>Operations</h1>${this.verdict(list)}
      <p class="soft">Numbers for alerts are metrics: <a href="/metrics">those of this API process</a>; the engine has its own.</p>
      ${list ? this.pools(list) : html`<p class="soft">Loading</p>`}${this.one()}${this.inside()}`;
  }

  /** One line: all is well, or what is not. Whether outcomes are folded is what /freshz says. @param {any} list */
  verdict(list) {
    const poll = this.polls.pools;
    if (!list || poll?.error || list.trouble || list.stale_seconds !== undefined) return html`<${State} poll=${poll} trouble=${list?.trouble} error=${poll?.error} />`;
    const stopped = list.pools.filter((/** @type {any} */ view) => view.head?.stopped).map((/** @type {any} */ view) => `pool ${view.pool} stopped`);
    const boards = this.value("boards");
    const failed = (boards?.boards ?? []).filter((/** @type {any} */ board) => board.error).map((/** @type {any} */ board) => `the newest solve of ${title(board.method)} in pool ${boards.pool.pool} failed`);
    const wrong = [...stopped, ...failed];
    if (wrong.length) return html`<p class="state bad" role="status">Needs attention: ${wrong.join("; ")}</p>`;
    return html`<p class="state ok" role="status">All well: outcomes of all partitions are folded in time, and no pool${list.total > list.pools.length ? " of this page" : ""} is stopped</p>`;
  }

  /** @param {any} list */
  pools(list) {
    const start = Number(this.props.query.start) || 0;
    return html`<section class="card"><h2>Pools</h2><p class="soft">A name chooses the pool whose lag, solves and generations are below.</p><table><caption class="hidden">Pools</caption><thead><tr><th scope="col">Pool</th><th scope="col" class="number">Outcomes</th><th scope="col" class="number">per second</th><th scope="col" class="number wide">Refused</th><th scope="col" class="number wide">Duplicates</th><th scope="col" class="number wide">Partition</th><th scope="col" class="number wide">Generation</th><th scope="col">State</th></tr></thead>
      <tbody>${list.pools.map((/** @type {any} */ view) => {
        const { head } = view;
        const rate = this.rate(view.pool);
        return html`<tr key=${view.pool}><th scope="row"><a href=${withQuery({ pool: view.pool })} onClick=${follow}><bdi>${view.pool}</bdi></a>${head ? under([`${whole(head.dead_letters)} refused`, count(head.duplicates, "duplicate"), `partition ${head.partition ?? "–"}`, `generation ${head.generation ?? "–"}${building(head)}`]) : null}</th><td class="number">${head ? whole(head.outcomes) : "–"}</td>${rate === null ? html`<td class="number">–</td>` : html`<td class="number rate">${rate.toFixed(1)}</td>`}
          <td class="number wide">${head ? whole(head.dead_letters) : "–"}</td><td class="number wide">${head ? whole(head.duplicates) : "–"}</td><td class="number wide">${head?.partition ?? "–"}</td><td class="number wide">${head?.generation ?? "–"}<span class="small">${building(head)}</span></td>
          <td>${head?.stopped ? html`<span class="lost">stopped: ${head.stopped}</span>` : head ? "folded" : "no outcomes"}</td></tr>`;
      })}</tbody></table>${list.total > POOLS ? html`<nav class="pages" aria-label="More pools">${start > 0 ? html`<a href=${withQuery({ start: Math.max(0, start - POOLS) || "" })} onClick=${follow}>Previous</a>` : null}<span>${start + 1} to ${start + list.pools.length} of ${count(list.total, "pool")}</span>${start + POOLS < list.total ? html`<a href=${withQuery({ start: start + POOLS })} onClick=${follow}>Next</a>` : null}</nav>` : null}</section>`;
  }

  /** Lag, solves and generations of one pool. */
  one() {
    const [list, view, made] = [this.value("boards"), this.value("folding"), this.value("generations")];
    if (!list || !view?.folding) return null;
    const { folding } = view;
    const solved = list.boards.filter((/** @type {any} */ board) => board.source === "solved");
    const behind = (/** @type {any} */ board) => (board.outcomes === null ? "–" : whole(Math.max(0, (list.pool.head?.outcomes ?? 0) - board.outcomes)));
    return html`<section class="card"><h2><a href=${poolPath(view.pool)}><bdi>${view.pool}</bdi></a></h2>
      <p>${folding.status === "fresh" ? "Folded in time" : folding.says}: ${count(folding.lag_records, "record")} waiting, the oldest for ${folding.lag_seconds.toFixed(1)} s at most; partition last folded ${folding.idle_seconds === null ? "never" : ago(folding.idle_seconds)}.</p>
      ${made?.serving ? html`<p class="soft">Generation ${made.serving.number} is served${made.newest && made.newest.number !== made.serving.number ? `, ${made.newest.number} is being folded` : ""}${made.waiting ? ", and another one is requested" : ""}.</p>` : null}
      ${solved.length ? html`<table><caption>Solves</caption><thead><tr><th scope="col">Method</th><th scope="col">Ended</th><th scope="col" class="wide">Certificate</th><th scope="col" class="number">Took</th><th scope="col" class="number wide">Outcomes since</th><th scope="col" class="number">Age</th></tr></thead>
      <tbody>${solved.map((/** @type {any} */ board) => html`<tr key=${board.method}><th scope="row">${title(board.method)}${under([checkedBy(board).replace("-", "\u2011"), `${behind(board)} outcomes since`])}</th><td>${board.status.replaceAll("_", " ")}${board.error ? html` <span class="lost">${board.error}</span>` : null}</td>
        <td class="wide">${checkedBy(board)}</td><td class="number">${(board.seconds ?? 0).toFixed(2)} s</td>
        <td class="number wide">${behind(board)}</td><td class="number">${ago(board.age_seconds + this.since("boards"))}</td></tr>`)}</tbody></table>` : html`<p class="soft">No method is solved for this pool.</p>`}</section>`;
  }

  /** Partitions and refused outcomes. They need a key if the installation has keys. */
  inside() {
    const [inside, error] = [this.value("inside"), this.polls.inside?.error];
    if (this.locked()) return this.unlock(/** @type {Error} */ (error).message);
    if (!inside) return error ? html`<p class="trouble">${error.message}</p>` : null;
    const number = (/** @type {number | null} */ value) => (value === null ? "–" : whole(value));
    return html`<section class="card"><h2>Partitions</h2><table><caption class="hidden">Partitions</caption><thead><tr><th scope="col" class="number">Partition</th><th scope="col" class="number">Records waiting</th><th scope="col" class="number">Lag</th><th scope="col" class="number wide">Next offset</th><th scope="col" class="wide">Shard</th><th scope="col">State</th></tr></thead>
      <tbody>${inside.partitions.map((/** @type {any} */ one) => html`<tr key=${one.partition}><th scope="row" class="number">${one.partition}</th><td class="number">${number(one.lag_records)}</td><td class="number">${one.lag_seconds === null ? "–" : `${one.lag_seconds.toFixed(1)} s`}</td><td class="number wide">${number(one.position)}</td><td class="wide">${one.shard ?? "–"}</td>
        <td>${one.stopped ? html`<span class="lost">stopped${one.reason ? `: ${one.reason}` : ""}</span>` : one.idle_seconds === null ? "not reported" : `folded ${ago(one.idle_seconds)}`}${under([`next offset ${number(one.position)}`, one.shard ?? "no shard"])}</td></tr>`)}</tbody></table></section>
      <section class="card"><h2>Refused outcomes</h2>${inside.refused.length ? html`<p class="soft">The newest of ${count(inside.refused_total, "entry").replace("entrys", "entries")}. <code>equirank dead-letters</code> shows them complete, and sends them again.</p>
      <table><caption class="hidden">Refused outcomes</caption><thead><tr><th scope="col">Pool</th><th scope="col">Reason</th><th scope="col">Rule</th><th scope="col" class="wide">What to do</th><th scope="col" class="number wide">Partition</th><th scope="col" class="number wide">Offset</th></tr></thead>
      <tbody>${inside.refused.map((/** @type {any} */ one) => html`<tr key=${`${one.generation}/${one.partition}/${one.offset}/${one.item}`}><th scope="row"><bdi>${one.pool ?? "–"}</bdi></th><td>${one.reason.replaceAll("_", " ")}</td><td><code>${one.path}</code> ${one.rule}${under([REMEDIES[one.reason] ?? "", `partition ${one.partition}`, `offset ${one.offset}`])}</td><td class="wide">${REMEDIES[one.reason] ?? "–"}</td><td class="number wide">${one.partition}</td><td class="number wide">${one.offset}</td></tr>`)}</tbody></table>` : html`<p>None.</p>`}</section>`;
  }

  /** @param {string} why */
  unlock(why) {
    const send = (/** @type {any} */ event) => {
      event.preventDefault();
      this.setState({ key: String(new FormData(event.target).get("key") ?? "").trim() });
    };
    return html`<section class="card"><h2>Partitions and refused outcomes</h2><p class="soft">${why}. The key stays in this page, and is forgotten when it is left.</p>
      <form onSubmit=${send}><label>Key <input type="password" name="key" autocomplete="off" /></label> <button type="submit">Show</button></form></section>`;
  }
}
