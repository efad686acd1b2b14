// The page of an agent: how it got its rating, against whom, and what would happen next.
import { Live, ask, poolUrl } from "../api.js";
import { ShareCard } from "../card.js";
import { Sized } from "../chart.js";
import { Events, curveOf, eventsOf, extremes } from "../curve.js";
import { ago, between, clock, count, date, nameOf, percent, shower, signed, whole } from "../format.js";
import { bestBy, forecaster, isOutside, placed, preferred, rankOf, title } from "../methods.js";
import { follow, go, withQuery } from "../nav.js";
import { Agent, Figure, agentPath, flag, poolPath } from "../parts.js";
import { AgentSearch } from "../search.js";
import { missing } from "../past.js";
import { State } from "../state.js";
import { Component, html } from "../ui.js";

const OUTCOMES = 20;
const LISTS = ["outcomes", "opponents", "history"]; // parts of the page that are of a checkpoint, as the record of a profile is
const REST = 60; // seconds between two requests for them while there is no newer checkpoint
const SOON = 2; // the same, while a list is of another checkpoint than the record: API processes can differ for a moment
const HOLD = 10; // seconds for which the page shows an earlier checkpoint at most, until all parts are of one
const OUTCOMES_OF_DAY = 1000; // the most that one answer has
/** @type {Record<string, number>} */
const POINTS = { won: 1, drawn: 0.5, lost: 0 };
const ERRORS = 3; // standard errors between a record and a forecast that chance does not explain
const EVEN = 0.525; // a smaller score is no answer to who would win
const LIKELY = 0.75; // a score from which the answer is "probably"
const UNSEEN = "far from their results: ratings cannot show cycles";

/** Whether the record of two agents is further from a forecast than chance explains. @param {any} met @param {number | null | undefined} expected */
function unseen(met, expected) {
  if (!met?.games || typeof expected !== "number") return false;
  const error = Math.sqrt(Math.max(expected * (1 - expected), 1 / met.games) / met.games);
  return Math.abs((met.wins + met.draws / 2) / met.games - expected) > ERRORS * error;
}
const DAY = 86_400;
const LATEST = 1800; // seconds by which the day of an open page is late at most

/** @extends Live */
export default class AgentPage extends Live {
  /** @param {any} props */
  constructor(props) {
    super(props);
    this.dayAgo = Math.floor(Date.now() / 1000) - DAY;
  }

  feeds() {
    const { pool, agent, query: chosen } = this.props;
    const at = `/agents/${encodeURIComponent(agent)}`;
    const method = chosen.method ?? "";
    /** @type {Record<string, import("../api.js").Feed>} */
    const feeds = { profile: [poolUrl(pool, at), 2], pool: [poolUrl(pool), 30] };
    const profile = this.value("profile");
    const curve = method || this.followed(profile);
    if (profile?.no_record === null && curve !== undefined) {
      feeds.history = [poolUrl(pool, `${at}/history`, { method: curve, points: 400 }), profile.methods[curve]?.source === "solved" ? 10 : this.pause("history")];
      if (Date.now() / 1000 - DAY - this.dayAgo > LATEST) this.dayAgo = Math.floor(Date.now() / 1000) - DAY;
      feeds.before = [poolUrl(pool, `${at}/history`, { method: curve, points: 4, until: this.dayAgo }), 3600];
    }
    if (profile?.games && this.value("pool")) {
      feeds.outcomes = [poolUrl(pool, `${at}/outcomes`, { method: this.online(curve), count: OUTCOMES }), this.pause("outcomes")];
      feeds.opponents = [poolUrl(pool, `${at}/opponents`, { count: 200 }), this.pause("opponents")];
    }
    return feeds;
  }

  /** Newest answer of a feed; of a list, the one that is shown. @param {string} name @returns {any} */
  value(name) {
    return this.shown && LISTS.includes(name) ? this.shown[name] : super.value(name);
  }

  /** Whether the answer of a list is of another checkpoint than the record of the newest profile. @param {string} name */
  differs(name) {
    const poll = this.polls[name];
    const profile = this.value("profile");
    if (!poll?.value || poll.error || poll.value.source === "solved" || !profile?.games) return false;
    return poll.value.generation !== profile.generation || poll.value.position !== profile.games.position;
  }

  /** Seconds between two requests for a list. @param {string} name */
  pause(name) {
    return this.differs(name) ? SOON : REST;
  }

  /**
   * The profile, its ratings the newest ones, and its record that of the checkpoint of the lists: the record and the lists of a newer checkpoint are
   * shown once all have come, so that no part of the page contradicts another. If they do not come within `HOLD` seconds, the newest ones are shown.
   * @returns {any}
   */
  together() {
    const profile = this.value("profile");
    const now = performance.now() / 1000;
    const differ = LISTS.some((name) => this.differs(name));
    if (!differ) this.whole = now;
    if (!this.shown || !differ || now - (this.whole ?? now) > HOLD) {
      /** @type {Record<string, any> | undefined} */
      this.shown = { profile, ...Object.fromEntries(LISTS.map((name) => [name, super.value(name)])) };
    }
    const { games, streak, last_played } = this.shown.profile;
    return { ...profile, games, streak, last_played };
  }

  /**
   * Method of the curve and of the newest games if none is chosen: the leading one where it has them, else the service's default. Only online methods
   * have a rating after each outcome; without outcomes, the curve is of solves. Undefined until the leading method is known, and if none rates the agent.
   * @param {any} profile @returns {string | undefined}
   */
  followed(profile) {
    const first = profile && this.value("pool") ? this.leading(profile) : undefined;
    return first === undefined || profile.last_played === null || profile.methods[first].source === "live" ? first : "";
  }

  /** Outcomes have ratings of online methods alone. @param {string | undefined} method */
  online(method) {
    return method && this.value("profile")?.methods[method]?.source === "live" ? method : "";
  }

  render() {
    const { pool, agent } = this.props;
    const profile = this.value("profile");
    const error = this.polls.profile?.error;
    if (error?.status === 404 && !profile) return absent(pool, agent, error);
    if (!profile) return html`<h1><bdi>${agent}</bdi></h1>${error ? html`<${State} poll=${this.polls.profile} error=${error} />` : html`<p class="soft" role="status">Loading</p>`}<p><a href=${poolPath(pool)}>All agents of <bdi>${pool}</bdi></a></p>`;
    return this.parts(this.together());
  }

  /** @param {any} profile */
  parts(profile) {
    const { pool, agent } = this.props;
    return html`<p class="path"><a href=${poolPath(pool)}><bdi>${pool}</bdi></a></p>${this.card(profile)}
      ${this.methods(profile)}
      ${this.slices(profile)}
      ${this.tasks(profile)}
      ${this.curve()}
      ${this.moved()}
      ${this.opponents()}
      ${this.value("pool")?.kind !== "games" ? null : html`<${Forecast} position=${profile.games?.position} pool=${pool} agent=${agent} name=${nameOf({ ...profile.details, agent })} rival=${this.props.query.against} method=${this.leading(profile)} />`}
      ${this.outcomes()}
      <${Why} pool=${pool} agent=${agent} methods=${preferred(Object.keys(profile.methods))} asked=${this.props.query.why} since=${this.props.query.since ?? ""} />`;
  }

  /** Who the agent is, in a card that can be shared: its link shows the same. @param {any} profile */
  card(profile) {
    const { details, games, scores, streak } = profile;
    const first = this.leading(profile);
    const best = profile.methods[first];
    const tags = Object.entries(details?.tags ?? {});
    return html`<section class="card person"><h1>${details?.country ? html`${flag(details.country)} ` : null}<bdi>${nameOf({ ...details, agent: profile.agent })}</bdi></h1>
      ${details?.display_name ? html`<p class="soft"><bdi>${profile.agent}</bdi></p>` : null}
      ${details?.organisation || details?.licence || tags.length || details?.url ? html`<p class="soft">${details.organisation ? html`<bdi>${details.organisation}</bdi> ` : null}${details.licence ? html`<span class="tag">licence: <bdi>${details.licence}</bdi></span> ` : null}${tags.map(([name, value]) => html`<span class="tag" key=${name}>${name}: <bdi>${value}</bdi></span> `)}${details.url ? html`<a href=${details.url} rel="noopener noreferrer nofollow">Website</a>` : null}</p>` : null}
      ${best ? html`<p class="headline">${placed(first, best)}</p>` : null}${this.dayChange(profile, first)}
      <p class="soft">${games?.games ? `${count(games.games, "game")}: ${whole(games.wins)} won, ${whole(games.draws)} drawn, ${whole(games.losses)} lost` : scores ? count(scores.tasks, "task") : count(profile.outcomes, games ? "game" : "outcome")}
        ${streak && streak.length > 1 ? ` · ${streak.result} the last ${streak.length}` : ""}${profile.last_played ? ` · last active ${ago(Math.max(0, Date.now() / 1000 - profile.last_played))}` : ""}</p>
      ${this.newer(profile)}<${State} poll=${this.polls.profile} error=${this.polls.profile.error} />
      <p class="tools"><a href=${agentPath(profile.pool, profile.agent)}>Permanent link</a> <a href=${`${poolPath(profile.pool)}?agent=${encodeURIComponent(profile.agent)}`}>Around this agent</a></p>
      <${ShareCard} profile=${profile} method=${first} history=${this.value("history")} /></section>`;
  }

  /** How many games are in the live ratings alone. @param {any} profile */
  newer(profile) {
    const newer = profile.outcomes - (this.value("outcomes")?.total ?? profile.outcomes);
    return newer > 0 ? html`<p class="soft small">${count(newer, "newer game")} ${newer === 1 ? "is" : "are"} in the live ratings alone until the next checkpoint.</p>` : null;
  }

  /** The method that leads the pages of the pool, if it rates the agent; else the first one that does. @param {any} profile @returns {string} Undefined if none rates it. */
  leading(profile) {
    return preferred(Object.keys(profile.methods).filter((method) => profile.methods[method].rating !== null), this.value("pool")?.leading_method)[0];
  }

  /** @param {any} profile */
  methods(profile) {
    const rows = Object.entries(profile.methods);
    if (!rows.length) return null;
    return html`<section class="card ranking"><h2>Rank by each method</h2><table><caption class="hidden">Rank by each method</caption><thead><tr><th scope="col">Method</th><th scope="col" class="number">Rank</th><th scope="col" class="number">Rating</th><th scope="col" class="wide">Interval</th></tr></thead>
      <tbody>${rows.map(([method, one]) => {
        const shown = shower([one.rating, one.low ?? null, one.high ?? null]);
        return html`<tr key=${method} data-method=${method}><th scope="row"><a href=${`${poolPath(profile.pool)}?method=${method}&agent=${encodeURIComponent(profile.agent)}`}>${title(method)}</a></th>
          <td class="number place">${one.rank !== null && isOutside(method, one) ? "outside the lottery" : html`<span class="one">${rankOf(one)}</span>`}${one.rank_low !== undefined && one.rank_low !== one.rank_high && !isOutside(method, one) ? html` <span class="ranks">${one.rank_low}–${one.rank_high}</span>` : null}</td>
          <td class="number">${shown(one.rating)}${one.low === undefined ? null : html`<span class="narrow small one">${between(one.low, one.high, shown)}</span>`}</td><td class="wide">${one.low === undefined ? "–" : between(one.low, one.high, shown)}</td></tr>`;
      })}</tbody></table></section>`;
  }

  /** Ratings in the slices of the pool. @param {any} profile */
  slices(profile) {
    const rows = Object.entries(profile.slices ?? {}).map(([slice, ratings]) => {
      const [method] = preferred(Object.keys(ratings), this.value("pool")?.leading_method);
      return { slice, method, one: ratings[method] };
    });
    if (!rows.length) return null;
    const place = (/** @type {any} */ one) => (one.rank === null ? 2 : one.rank / one.ranked);
    rows.sort((a, b) => place(a.one) - place(b.one));
    const shown = (/** @type {any} */ one) => shower([one.rating])(one.rating);
    return html`<section class="card slices"><h2>By slice</h2><p class="soft">Ratings from the ${profile.scores ? "scores" : "games"} of a slice alone, the best places first.</p><table><caption class="hidden">Ratings by slice</caption>
      <thead><tr><th scope="col">Slice</th><th scope="col" class="wide">Method</th><th scope="col" class="number">Rank</th><th scope="col" class="number">Rating</th></tr></thead>
      <tbody>${rows.map(({ slice, method, one }) => html`<tr key=${slice}><th scope="row"><a href=${`${poolPath(profile.pool)}?slice=${encodeURIComponent(slice)}&method=${method}&agent=${encodeURIComponent(profile.agent)}`}><bdi>${slice.replace(":", " ")}</bdi></a><span class="narrow small">${title(method)}</span></th>
        <td class="wide">${title(method)}</td><td class="number">${rankOf(one)}</td><td class="number">${shown(one)}</td></tr>`)}</tbody></table></section>`;
  }

  /** The places on tasks, in a pool of scores. @param {any} profile */
  tasks(profile) {
    const { best = [], worst = [] } = profile.scores ?? {};
    if (!best.length) return null;
    const shown = shower([...best, ...worst].map((/** @type {any} */ one) => one.score));
    const table = (/** @type {string} */ name, /** @type {any[]} */ rows) => (rows.length ? html`<div><h3>${name}</h3><table><caption class="hidden">${name}</caption><thead><tr><th scope="col">Task</th><th scope="col" class="number">Rank</th><th scope="col" class="number">Score</th></tr></thead>
      <tbody>${rows.map((one) => html`<tr key=${one.task}><th scope="row"><bdi>${one.task}</bdi></th><td class="number">${whole(one.rank)} of ${whole(one.agents)}</td><td class="number">${shown(one.score)}</td></tr>`)}</tbody></table></div>` : null);
    const all = best.length + worst.length === profile.scores.tasks;
    return html`<section class="card tasks"><h2>By task</h2><p class="soft">Mean scores, and the rank among the agents that have a score on the task.${all ? "" : ` The ${best.length} best and ${worst.length} worst of ${count(profile.scores.tasks, "task")}.`}</p><div class="two">${table("Best places", best)}${table("Worst places", worst)}</div></section>`;
  }

  /** How far the rating moved within a day, by the method of the curve; null if that is not known. Where another method leads, the line has the
   *  rank by this one as well, so that no change is read as that of the headline's rank. @param {any} profile @param {string} first Leading method. */
  dayChange(profile, first) {
    const [now, before] = [this.value("history"), this.value("before")].map((history) => history?.points[history.points.length - 1]);
    if (typeof now?.rating !== "number" || typeof before?.rating !== "number") return null;
    const { method } = this.value("history");
    const other = profile.methods[method];
    const rating = other?.rating ?? now.rating; // the newest one, as in the table
    const change = `${signed(rating - before.rating, Math.abs(rating) >= 100 ? 1 : 3)} in 24 hours`;
    return html`<p>${method === first || !other ? `${change} by ${title(method)}.` : `By ${title(method)}, another method: ${other.rank === null ? "" : "no. "}${rankOf(other)}, ${shower([rating])(rating)}, ${change}.`}${this.hasMoved() ? html` <a href="#moved" target="_self">Why?</a>` : null}</p>`;
  }

  /** Whether a game of the last 24 hours is known, which can explain a change. */
  hasMoved() {
    return (this.value("outcomes")?.outcomes ?? []).some((/** @type {any} */ one) => one.time >= Date.now() / 1000 - DAY);
  }

  /** The answer to the question of the change within a day. */
  moved() {
    const method = this.value("outcomes")?.method;
    return this.hasMoved() ? html`<${LastDay} key=${method} pool=${this.props.pool} agent=${this.props.agent} method=${method} />` : null;
  }

  curve() {
    const history = this.value("history");
    const failed = this.polls.history?.error;
    if (!history) return failed ? html`<section class="card"><h2>Rating over time</h2><p class="soft">${failed.message}</p></section>` : null;
    const { pool, agent } = this.props;
    const points = history.points.filter((/** @type {any} */ point) => point.rating !== null);
    const table = [["time", "rating", "low", "high", "outcome"], ...points.map((/** @type {any} */ point) => [point.time, point.rating, point.low ?? "", point.high ?? "", point.outcome ?? ""])];
    const now = this.value("profile").methods[history.method];
    const events = eventsOf(history, nameOf({ ...this.value("profile").details, agent }));
    const banded = points.length > 1 && points.some((/** @type {any} */ point) => typeof point.low === "number");
    const interval = points.length < 2 ? "" : banded ? "The band is the interval of each of the newest solves." : typeof now?.low === "number" ? `The bar at the end is the present interval${history.source === "live" ? ", because earlier ones are not kept" : ""}.` : "";
    const pick = html`<label class="pick">Method <select value=${history.method} onChange=${(/** @type {any} */ event) => go(withQuery({ method: event.target.value }))}>${Object.keys(this.value("profile").methods).map((method) => html`<option key=${method} value=${method}>${title(method)}</option>`)}</select></label>`;
    return html`<${Figure} title="Rating over time" says=${html`${history.source === "live" ? `After each outcome, by ${title(history.method)}.` : `In each kept solve of ${title(history.method)}.`} ${extremes(points)} ${interval} ${pick}`} file=${`${pool}-${agent}-history`} table=${table} link=${`${agentPath(pool, agent)}?method=${history.method}`} drawn=${points.length > 1}>
      ${points.length > 1 ? html`<${Sized}>${(/** @type {number} */ width) => curveOf(points, width, title(history.method), banded ? null : now, events)}<//><${Events} events=${events} total=${history.events_total} />` : html`<p class="soft">A curve needs two points, and ${points.length ? "one is" : "none is"} kept so far.</p>`}<//>`;
  }

  opponents() {
    const answer = this.value("opponents");
    const teams = answer?.team_games ? html`<p class="soft">${count(answer.team_games, "game")} in teams ${answer.team_games === 1 ? "counts" : "count"} for no opponent.</p>` : null;
    if (!answer?.opponents.length) return teams && html`<section class="card"><h2>Opponents</h2>${teams}</section>`;
    const { pool } = this.props;
    const scored = answer.opponents.filter((/** @type {any} */ one) => one.games > 0).map((/** @type {any} */ one) => ({ ...one, rate: (one.wins + one.draws / 2) / one.games }));
    const best = scored.filter((/** @type {any} */ one) => one.rate >= 0.5).sort((/** @type {any} */ a, /** @type {any} */ b) => b.rate - a.rate || b.games - a.games).slice(0, 5);
    const worst = scored.filter((/** @type {any} */ one) => one.rate < 0.5).sort((/** @type {any} */ a, /** @type {any} */ b) => a.rate - b.rate || b.games - a.games).slice(0, 5);
    const table = (/** @type {string} */ name, /** @type {any[]} */ rows) => (rows.length ? html`<div><h3>${name}</h3><table><caption class="hidden">${name}</caption><thead><tr><th scope="col">Opponent</th><th scope="col" class="number">Score</th><th scope="col" class="number">Games</th><th scope="col" class="number">Next game</th></tr></thead>
      <tbody>${rows.map((one) => html`<tr key=${one.agent}><th scope="row"><${Agent} pool=${pool} agent=${one.agent} answer=${answer} /></th><td class="number">${percent(one.rate, 0)}</td><td class="number">${whole(one.games)}</td><td class="number" title=${unseen(one, one.expected_score) ? UNSEEN : undefined}>${one.expected_score === null || one.expected_score === undefined ? "–" : html`<a href=${withQuery({ against: one.agent })} onClick=${follow}>${percent(one.expected_score, 0)}</a>`}${unseen(one, one.expected_score) ? " *" : ""}</td></tr>`)}</tbody></table></div>` : null);
    return html`<section class="card"><h2>Opponents</h2><p class="soft">Score: wins, and half of the draws, of all games.${answer.method === null ? "" : ` Next game: the expected score by ${title(answer.method)}.`}${[...best, ...worst].some((one) => unseen(one, one.expected_score)) ? ` * ${UNSEEN}.` : ""}</p><div class="two">${table("Best against", best)}${table("Worst against", worst)}</div>${teams}</section>`;
  }

  outcomes() {
    const answer = this.value("outcomes");
    if (!answer) return null;
    const { pool } = this.props;
    const shown = shower(answer.outcomes.map((/** @type {any} */ one) => one.after));
    const names = (/** @type {string[]} */ agents) => agents.map((agent, i) => html`${i ? ", " : ""}<${Agent} key=${agent} pool=${pool} agent=${agent} answer=${answer} />`);
    const when = (/** @type {any} */ one) => html`<time datetime=${new Date(1000 * one.time).toISOString()}>${date(one.time)}</time>`;
    return html`<section class="card"><h2>Newest games</h2><p class="soft">Ratings by ${title(answer.method)}. A result that was not expected moves a rating more.</p>
      <table class="games"><caption class="hidden">Newest games</caption><thead><tr><th scope="col">Against</th><th scope="col">Result</th><th scope="col" class="number">Expected</th><th scope="col" class="number">Change</th><th scope="col" class="number wide">Rating</th><th scope="col" class="wide">When</th></tr></thead>
      <tbody>${answer.outcomes.map((/** @type {any} */ one) => html`<tr key=${one.outcome}><td>${one.opponents.map((/** @type {any} */ side, /** @type {number} */ i) => html`${i ? " and " : ""}${names(side.agents)}`)}${one.team.length ? html` <span class="small">with ${names(one.team)}</span>` : null}</td>
        <td class=${one.result}>${one.result}</td><td class="number">${one.expected_score === null ? "–" : percent(one.expected_score, 0)}</td><td class="number">${signed(one.change, Math.abs(one.after) >= 100 ? 1 : 3)}</td>
        <td class="number wide">${shown(one.before)} → ${shown(one.after)}</td><td class="wide">${when(one)}</td></tr><tr class="narrow small" key=${`${one.outcome} more`}><td colspan="4">Rating ${shown(one.before)} → ${shown(one.after)} · ${when(one)}</td></tr>`)}</tbody></table></section>`;
  }
}

/** What is shown in place of an agent that does not exist. @param {string} pool @param {string} agent @param {import("../api.js").Failure} error Of its profile. */
function absent(pool, agent, error) {
  const why = error.title === "nothing yet" ? "No outcome of this pool is counted yet." : error.title === "no such pool" ? "No pool has this name." : "No agent of this pool has this name. Upper and lower case matter.";
  return html`<h1><bdi>${agent}</bdi></h1><p class="state bad" role="status">no such agent</p><p>${why} <a href=${poolPath(pool)}>All agents of <bdi>${pool}</bdi></a></p><${AgentSearch} pool=${pool} />`;
}

/** Reads its answer at once where the address names its part of the page, and on a click otherwise. Subclasses have `part`, and `read`. @extends Component */
class Asked extends Component {
  part = "";

  read() {}

  onHash = () => {
    if (location.hash === `#${this.part}`) this.read();
  };

  componentDidMount() {
    addEventListener("hashchange", this.onHash);
    this.onHash();
  }

  componentWillUnmount() {
    removeEventListener("hashchange", this.onHash);
  }

  /** Shows the answer where the address asks for it: what is above can have moved it away. @param {any} _ @param {any} before */
  componentDidUpdate(_, before) {
    if (before.busy && !this.state.busy && location.hash === `#${this.part}`) document.getElementById(this.part)?.scrollIntoView();
  }
}

/** What moved an online rating within a day, by opponent. It is asked for by a click or a link, because it needs the games of the day. @extends Asked */
class LastDay extends Asked {
  /** @param {any} props */
  constructor(props) {
    super(props);
    this.part = "moved";
    /** @type {any} */
    this.state = { games: null, error: "", busy: false };
  }

  async read() {
    const { pool, agent, method } = this.props;
    this.setState({ busy: true, error: "" });
    try {
      const answer = await ask(poolUrl(pool, `/agents/${encodeURIComponent(agent)}/outcomes`, { method, count: OUTCOMES_OF_DAY }));
      const since = Date.now() / 1000 - DAY;
      const games = answer.outcomes.filter((/** @type {any} */ one) => one.time >= since);
      this.setState({ games, answer, at: Date.now() / 1000 - answer.age_seconds, cut: games.length === OUTCOMES_OF_DAY && answer.next, busy: false });
    } catch (error) {
      this.setState({ error: String(/** @type {Error} */ (error).message), busy: false });
    }
  }

  render() {
    const { games, cut, error, busy } = this.state;
    return html`<section class="card" id="moved"><h2>Why it moved in the last 24 hours</h2>
      ${games ? null : html`<p><button type="button" disabled=${busy} onClick=${() => this.read()}>${busy ? "Working" : "Sum by opponent"}</button></p>`}
      <div aria-live="polite">${error ? html`<p class="trouble">${error}</p>` : null}${games ? this.sums(games, cut) : null}</div></section>`;
  }

  /** @param {any[]} games @param {boolean} cut Whether the day has more games. */
  sums(games, cut) {
    if (!games.length) return html`<p class="soft">It had no game in the last 24 hours.</p>`;
    const groups = new Map();
    for (const one of games) {
      const key = JSON.stringify(one.opponents.map((/** @type {any} */ side) => side.agents)); // two agents can have one display name
      const name = one.opponents.map((/** @type {any} */ side) => side.agents.map((/** @type {string} */ agent) => nameOf(agent, this.state.answer)).join(", ")).join(" and ");
      const group = groups.get(key) ?? { key, name, games: 0, points: 0, expected: 0, change: 0 };
      groups.set(key, { key, name, games: group.games + 1, points: group.points + POINTS[one.result], expected: group.expected === null || one.expected_score === null ? null : group.expected + one.expected_score, change: group.change + one.change });
    }
    const rows = [...groups.values()].sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
    const total = rows.reduce((sum, row) => sum + row.change, 0);
    const decimals = Math.abs(games[0].after) >= 100 ? 1 : 3;
    const shown = rows.slice(0, OUTCOMES);
    const most = rows.length > 1 ? rows.find((row) => row.change * total > 0) : undefined;
    return html`<p>${signed(total, decimals)} by ${title(this.props.method)} in ${cut ? "its newest " : ""}${count(games.length, "game")}. Games until ${clock(this.state.at)} are counted. ${cut ? "The day has more games. " : ""}${most ? html`The largest part is by ${most.points.toFixed(1)} points in ${count(most.games, "game")} against <bdi>${most.name}</bdi>${most.expected === null ? "" : `, where ${most.expected.toFixed(1)} were expected`}: ${signed(most.change, decimals)}. ` : null}A game with more points than expected raises the rating, one with fewer lowers it, and each by more while the rating is uncertain.</p>
      <table class="day"><caption class="hidden">Changes of the last 24 hours by opponent</caption><thead><tr><th scope="col">Against</th><th scope="col" class="number">Games</th><th scope="col" class="number">Points</th><th scope="col" class="number">Expected</th><th scope="col" class="number">Change</th></tr></thead>
      <tbody>${shown.map((row) => html`<tr key=${row.key}><th scope="row"><bdi>${row.name}</bdi></th><td class="number">${whole(row.games)}</td><td class="number">${row.points.toFixed(1)}</td><td class="number">${row.expected === null ? "–" : row.expected.toFixed(1)}</td><td class="number">${signed(row.change, decimals)}</td></tr>`)}</tbody></table>
      ${rows.length > shown.length ? html`<p class="soft">${count(rows.length - shown.length, "other opponent")}: ${signed(rows.slice(OUTCOMES).reduce((sum, row) => sum + row.change, 0), decimals)}.</p>` : null}`;
  }
}

/** The expected score of a game against anybody of the pool. position: of the checkpoint with the record of the two. @extends Component */
class Forecast extends Component {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { answer: null, error: "" };
  }

  componentDidMount() {
    this.read();
  }

  /** @param {any} before */
  componentDidUpdate(before) {
    if (before.rival !== this.props.rival || before.position !== this.props.position) this.read();
  }

  async read() {
    const { pool, agent, rival } = this.props;
    if (!rival) return this.setState({ answer: null, error: "" });
    const body = JSON.stringify({ matches: [{ sides: [[agent], [rival]] }] });
    try {
      const forecasts = ask(poolUrl(pool, "/predict"), { method: "POST", body, headers: { "Content-Type": "application/json" } });
      const [answer, profile] = await Promise.all([forecasts, ask(poolUrl(pool, `/agents/${encodeURIComponent(rival)}`)).catch(() => null)]);
      if (rival === this.props.rival) this.setState({ answer, other: nameOf({ ...profile?.details, agent: rival }), error: "" });
    } catch (error) {
      if (rival === this.props.rival) this.setState({ answer: null, error: String(/** @type {Error} */ (error).message) });
    }
    return undefined;
  }

  render() {
    const { pool, name, method } = this.props;
    const { answer, error, other } = this.state;
    const met = answer?.met[0];
    const expected = (/** @type {any} */ one) => one.matches[0].sides[0].expected_score;
    const reason = answer?.methods.find((/** @type {any} */ one) => one.matches[0].no_forecast)?.matches[0].no_forecast;
    const methods = [...(answer?.methods ?? [])].sort((a, b) => (loss(a) === loss(b) ? 0 : loss(a) - loss(b)));
    const best = answer && forecaster(answer);
    return html`<section class="card"><h2>If they met</h2><${AgentSearch} pool=${pool} method=${method} then=${(/** @type {string} */ against) => go(withQuery({ against }))} />
      ${error ? html`<p class="trouble">${error}</p>` : null}
      ${met ? html`<div class="met">${best ? answered(name, other, met, best, expected(best)) : null}
        <p>${met.games ? html`They met ${count(met.games, "time")}: <bdi>${name}</bdi> won ${percent(met.wins / met.games, 0)}${met.draws ? `, drew ${percent(met.draws / met.games, 0)}` : ""}, a score of ${percent((met.wins + met.draws / 2) / met.games, 0)}.` : "They have not met."}</p></div>` : null}
      ${answer ? html`<details class="more"><summary>All methods</summary><table><caption>Expected score against <bdi>${other}</bdi>. <i>Right so far</i> is the share of games with a winner in which the winner had the better chance. This and <i>Log loss</i>, of which a lower one is better, are of all games of two agents of the pool, not of these two.</caption><thead><tr><th scope="col">Method</th><th scope="col" class="number">Expected</th><th scope="col" class="number">Right so far</th><th scope="col" class="number">Log loss</th></tr></thead>
        <tbody>${methods.map((one) => html`<tr key=${one.method} class=${unseen(met, expected(one)) ? "unseen" : undefined}><th scope="row">${title(one.method)}${unseen(met, expected(one)) ? html` <span class="small one">${UNSEEN}</span>` : null}</th><td class="number">${expected(one) === null ? "–" : percent(expected(one))}</td><td class="number">${right(one) ?? "–"}${one.records[0].enough ? null : ` (${count(one.records[0].pairs, "result")})`}</td><td class="number">${loss(one) < Infinity ? loss(one).toFixed(4) : "–"}</td></tr>`)}</tbody></table></details>
        ${reason ? html`<p class="soft">No probability: ${reason}.</p>` : null}
        ${answer.methods.length ? null : html`<p class="soft">No method of this pool forecasts games: ${Object.values(answer.without)[0]}.</p>`}` : null}</section>`;
  }
}

/** The share of the games with a winner in which a method gave the winner the better chance; undefined if it forecast too few, or none was decided. @param {any} method @returns {string | undefined} */
function right({ records: [record] }) {
  return record.enough && record.wins_predicted !== null ? percent(record.wins_predicted) : undefined;
}

/** Mean log loss of a method's forecasts; infinite if there are too few to compare it. @param {any} method @returns {number} */
function loss({ records: [record] }) {
  return record.enough ? (record.log_loss ?? Infinity) : Infinity;
}

/**
 * Whether one would beat the other, in one sentence: by the method whose forecasts were best, if enough are known, or, where chance does not explain how far the
 * record is from it, by the record.
 * @param {string} name @param {string} other @param {any} met @param {any} best The method. @param {number} expected Its expected score.
 */
function answered(name, other, met, best, expected) {
  const blind = unseen(met, expected);
  const score = blind ? (met.wins + met.draws / 2) / met.games : expected;
  const [first, second] = score < 0.5 ? [other, name] : [name, other];
  const likely = Math.max(score, 1 - score);
  const by = `${title(best.method)}${loss(best) < Infinity ? `, which forecasts best so far (${bestBy(best.records[0])})` : ""}`;
  const how = likely < LIKELY ? "would more likely" : "would probably";
  const says = likely < EVEN ? html`It would be an even game: <bdi>${name}</bdi> scores ${percent(score, 0)}` : html`<bdi>${first}</bdi> ${how} beat <bdi>${second}</bdi>: ${blind ? "its score so far is" : "expected score"} ${percent(likely, 0)}`;
  return html`<p class="headline">${says}.</p><p class="soft">${blind ? html`By their games. ${by}${loss(best) < Infinity ? "," : ""} expects ${percent(expected, 0)} for <bdi>${name}</bdi>, ${UNSEEN}.` : html`By ${by}${right(best) ? `. It gave the winner the better chance in ${right(best)} of the games with a winner` : ""}.`}</p>`;
}

/** What a rating is the sum of. It is asked for by a click or a link, because a solved method is solved again for it. @extends Asked */
class Why extends Asked {
  /** @param {any} props */
  constructor(props) {
    super(props);
    this.part = "why";
    const { asked, since } = props;
    /** @type {any} */
    this.state = { method: asked, since, why: null, error: null, busy: false };
  }

  /** The chosen method if it rates the agent, else the first one: methods can come after the page. @returns {string | undefined} */
  method() {
    const { methods } = this.props;
    return methods.includes(this.state.method) ? this.state.method : methods[0];
  }

  async read() {
    const { pool, agent } = this.props;
    const { since } = this.state;
    const method = this.method();
    if (!method) return;
    this.setState({ busy: true, error: null, why: null });
    try {
      this.setState({ why: await ask(poolUrl(pool, `/boards/${method}/why/${encodeURIComponent(agent)}`, { count: 12, since: since || null })), at: Date.now() / 1000, busy: false });
    } catch (error) {
      this.setState({ error, busy: false });
    }
  }

  render() {
    const { methods } = this.props;
    const { since, why, at, error, busy } = this.state;
    const method = this.method();
    if (!methods.length) return null;
    return html`<section class="card" id="why"><h2>Why this rating</h2><p class="pick"><label>Method <select value=${method} onChange=${(/** @type {any} */ event) => this.setState({ method: event.target.value, why: null })}>${methods.map((/** @type {string} */ one) => html`<option key=${one} value=${one}>${title(one)}</option>`)}</select></label>${" "}
      <label><span class="one">What changed since (UTC)</span> <input type="datetime-local" step="1" defaultValue=${since} onInput=${(/** @type {any} */ event) => this.setState({ since: event.target.value })} /></label>${" "}
      <button type="button" disabled=${busy} onClick=${() => this.read()}>${busy ? "Working" : "Explain"}</button></p>
      <div aria-live="polite">${error ? html`<p class="trouble">${since ? missing(error.status) : "The rating cannot be explained now."}</p><details class="more"><summary>What the service says</summary><p class="soft">${error.message}</p></details>` : null}${why ? html`<p>${why.rating === null ? "No rating" : `Rating ${shower([why.rating])(why.rating)}`} from ${count(why.outcomes, "outcome")} of the pool, explained at ${clock(at)}.</p>` : null}${why?.not_applicable ? html`<p class="soft">${why.not_applicable}</p>` : null}${why?.change ? changed(why.change, why) : null}${(why?.sums ?? []).map((/** @type {any} */ sum) => reasons(sum, why))}</div></section>`;
  }
}

/** What changed since an earlier moment, and the results that moved the rating most. @param {any} change @param {any} why The answer. */
function changed({ before, after, outcomes, moves, other_moves: others, other_effect: rest, no_moves: none }, why) {
  const shown = shower([before.rating, after.rating]);
  const decimals = Math.abs(after.rating ?? 0) >= 100 ? 1 : 3;
  const rank = (/** @type {any} */ state) => (state.rank === null ? "" : `, rank ${whole(state.rank)} of all agents`);
  const row = (/** @type {any} */ move) => html`<tr key=${`${move.agent} ${move.opponent}`}><th scope="row"><bdi>${nameOf(move.agent, why)}</bdi> – <bdi>${nameOf(move.opponent, why)}</bdi></th><td class="number">${whole(move.wins)}–${whole(move.ties)}–${whole(move.losses)}</td><td class="number">${signed(move.effect, decimals)}</td></tr>`;
  return html`<div class="change"><h3>Since then</h3><p>${shown(before.rating)}${rank(before)}, then ${count(outcomes, "outcome")} of the pool: ${shown(after.rating)}${rank(after)}.</p>${none ? html`<p class="soft">${none}.</p>` : null}
    ${moves.length ? html`<table><caption class="hidden">Results that moved the rating</caption><thead><tr><th scope="col">Results of</th><th scope="col" class="number">Won–tied–lost</th><th scope="col" class="number">Effect</th></tr></thead>
      <tbody>${moves.map(row)}${others ? html`<tr><th scope="row" colspan="2">${count(others, "other pair")}</th><td class="number">${signed(rest, decimals)}</td></tr>` : null}</tbody></table>` : null}</div>`;
}

/** A sum with its largest terms, the other ones, and what all of them sum to. @param {any} sum @param {any} why The answer. */
function reasons(sum, why) {
  if (sum.quantity === "change") return changes(sum, (term) => nameOf(term.name, why));
  const terms = sum.terms.map((/** @type {any} */ term) => ({ name: html`<bdi>${sum.by === "opponent" ? nameOf(term.name, why) : term.name}</bdi>`, value: term.value, drawn: true }));
  const rest = Object.entries(sum.rest).map(([name, value]) => ({ name, value, drawn: true }));
  const others = sum.others ? [{ name: count(sum.others, `other ${sum.by}`), value: sum.others_sum, drawn: false }] : [];
  const rows = [...terms, ...rest, ...others];
  const most = Math.max(...rows.map((row) => Math.abs(row.value)), 1e-300);
  const shown = shower(rows.map((row) => row.value), sum.total === null ? 0 : Math.min(sum.allowed, 1e-6 * most));
  const plus = (/** @type {number} */ value) => `${value > 0 && shown(value) !== "0" ? "+" : ""}${shown(value)}`;
  return html`<div key=${`${sum.by} ${sum.quantity}`}><h3>By ${sum.by}: ${sum.quantity}</h3><p class="soft">${sentence(sum.meaning)}</p><table><caption class="hidden">Terms by ${sum.by}</caption><thead><tr><th scope="col">${sentence(sum.by, "")}</th><th scope="col" class="number">${sentence(sum.quantity, "")}</th><th scope="col" class="wide">Size</th></tr></thead>
    <tbody>${rows.map((row, i) => html`<tr key=${i}><th scope="row">${row.name}</th><td class="number">${plus(row.value)}</td><td class="wide">${row.drawn ? html`<span class=${`push ${row.value < 0 ? "down-push" : "up-push"}`} style=${{ width: `${(100 * Math.abs(row.value)) / most}%` }}></span>` : null}</td></tr>`)}
      ${sum.total === null ? null : html`<tr class="sum"><th scope="row"><b>Sum of all terms</b></th><td class="number"><b>${shown(sum.sum)}</b></td><td class="wide"></td></tr>`}</tbody></table></div>`;
}

/** A text of the API as a sentence. @param {string} text @param {string} end */
function sentence(text, end = ".") {
  return text[0].toUpperCase() + text.slice(1) + end;
}

/** The changes of an online rating by opponent, those that raised it and those that lowered it. With many games both are large, so their difference comes first. @param {any} sum @param {(term: any) => string} named */
function changes(sum, named) {
  const start = /** @type {number[]} */ (Object.values(sum.rest)).reduce((a, b) => a + b, 0);
  const decimals = Math.abs(sum.sum) >= 100 ? 1 : 3;
  const shown = shower([sum.sum, start]);
  const total = (/** @type {any[]} */ terms) => terms.reduce((all, term) => all + term.value, 0);
  const group = (/** @type {string} */ name, /** @type {any[]} */ terms) => (terms.length ? html`<tbody key=${name}><tr><th scope="rowgroup" colspan="4">${name}</th><td class="number"><b>${signed(total(terms), decimals)}</b></td></tr>
    ${terms.map((term) => html`<tr key=${term.name}><th scope="row"><bdi>${named(term)}</bdi></th><td class="number">${whole(term.details.games)}</td><td class="number">${term.details.points.toFixed(1)}</td><td class="number">${term.details.expected.toFixed(1)}</td><td class="number">${signed(term.value, decimals)}</td></tr>`)}</tbody>` : null);
  return html`<div key=${`${sum.by} ${sum.quantity}`}><h3>By ${sum.by}: ${sum.quantity}</h3>
    <p>${shown(start)} at the start, ${signed(sum.sum - start, decimals)} by all games: ${shown(sum.sum)}.</p><p class="soft">${sentence(sum.meaning)} A win that was expected changes it little; an opponent against which the agent has more points than expected raised it.</p>
    <table><caption class="hidden">Changes by ${sum.by}</caption><thead><tr><th scope="col">${sentence(sum.by, "")}</th><th scope="col" class="number">Games</th><th scope="col" class="number">Points</th><th scope="col" class="number">Expected</th><th scope="col" class="number">${sentence(sum.quantity, "")}</th></tr></thead>
      ${group("More points than expected", sum.terms.filter((/** @type {any} */ term) => term.value >= 0))}${group("Fewer points than expected", sum.terms.filter((/** @type {any} */ term) => term.value < 0))}
      ${sum.others ? html`<tbody><tr><th scope="rowgroup" colspan="4">${count(sum.others, "other opponent")}</th><td class="number"><b>${signed(sum.others_sum, decimals)}</b></td></tr></tbody>` : null}</table></div>`;
}
