// Requests to the API, and components that repeat them while their page is visible.
import { Component } from "./ui.js";

const SECOND = 1000;
const RETRY = 5; // seconds at most until a request is repeated that the service could not answer

/** An answer of the API that is an error. */
export class Failure extends Error {
  /** @param {string} text @param {number} status @param {string} [title] Title of the problem. */
  constructor(text, status, title = "") {
    super(text);
    this.status = status;
    this.title = title;
  }

  /** Whether the service starts, so that the answer comes soon. */
  get starts() {
    return this.title === "starting";
  }
}

/** @param {string} url @param {RequestInit} [options] @returns {Promise<any>} JSON of the answer. Throws `Failure`. */
export async function ask(url, options = {}) {
  return (await answerOf(url, options)).json();
}

/** @param {string} url @param {RequestInit} options */
async function answerOf(url, options) {
  const answer = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(20 * SECOND), ...options });
  if (answer.ok || answer.status === 304) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Failure(problem.detail || `the service answered ${answer.status}`, answer.status, problem.title);
}

/** Repeats one request with its ETag. `at` is the browser's clock when the value came, so that ages grow, and `heard` when it was last
 *  confirmed. */
export class Poll {
  /** @param {string} url @param {number} seconds Pause between two requests. @param {Record<string, string>} headers */
  constructor(url, seconds, headers = {}) {
    this.url = url;
    this.seconds = seconds;
    this.headers = headers;
    this.tag = "";
    /** @type {any} */
    this.value = null;
    /** @type {Failure | null} */
    this.error = null;
    this.at = 0;
    this.heard = 0;
    this.ended = false;
    this.asked = ""; // by a component
  }

  /** Asks once. @returns {Promise<boolean>} Whether the value or the error changed. */
  async next() {
    const before = this.error;
    try {
      const answer = await answerOf(this.url, { headers: this.tag ? { ...this.headers, "If-None-Match": this.tag } : this.headers });
      this.error = null;
      this.heard = performance.now();
      if (answer.status === 304) return before !== null;
      this.value = await answer.json();
      this.tag = answer.headers.get("ETag") ?? "";
      this.at = this.heard;
      return true;
    } catch (error) {
      this.error = error instanceof Failure ? error : new Failure(String(error instanceof Error ? error.message : error), 0);
      return before?.message !== this.error.message;
    }
  }

  /** @param {() => void} changed Called after each request that changed something. */
  async run(changed) {
    while (!this.ended) {
      if (document.hidden) await visible();
      if ((await this.next()) && !this.ended) changed();
      await pause((this.error?.status ?? 0) >= 500 ? Math.min(RETRY, this.seconds) : this.seconds);
    }
  }

  /** Seconds since the newest answer. */
  since() {
    return (performance.now() - this.at) / SECOND;
  }
}

function visible() {
  return new Promise((resume) => document.addEventListener("visibilitychange", resume, { once: true }));
}

/** @param {number} seconds */
function pause(seconds) {
  return new Promise((resume) => setTimeout(resume, SECOND * seconds));
}

/** Address, seconds between requests, headers, and the version of what is there. @typedef {[string, number] | [string, number, Record<string, string>] | [string, number, Record<string, string>, any]} Feed */

/** A component with polls. A subclass names them in `feeds`, and reads `this.polls`. A feed whose address changes starts again. One whose version
 *  changes asks at once, and keeps its value until the answer. */
export class Live extends Component {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {Record<string, Poll>} */
    this.polls = {};
  }

  /** @returns {Record<string, Feed>} By name. */
  feeds() {
    return {};
  }

  /** @param {string} name @returns {any} Newest answer of a feed, or null. */
  value(name) {
    return this.polls[name]?.value ?? null;
  }

  /** @param {string} name @returns {number} Seconds by which ages in the answer of a feed have grown since. */
  since(name) {
    return this.polls[name]?.value ? this.polls[name].since() : 0;
  }

  /** @returns {Failure | null} The first error of a feed. */
  failure() {
    return Object.values(this.polls).find((poll) => poll.error)?.error ?? null;
  }

  componentDidMount() {
    this.sync();
    this.timer = setInterval(() => this.forceUpdate(), SECOND);
  }

  componentDidUpdate() {
    this.sync();
  }

  componentWillUnmount() {
    clearInterval(this.timer);
    for (const poll of Object.values(this.polls)) poll.ended = true;
  }

  sync() {
    const feeds = this.feeds();
    for (const [name, poll] of Object.entries(this.polls)) {
      if (JSON.stringify(feeds[name]) === poll.asked) continue;
      poll.ended = true;
      if (!feeds[name]) delete this.polls[name];
    }
    for (const [name, [url, seconds, headers = {}]] of Object.entries(feeds)) {
      const before = this.polls[name];
      if (before && !before.ended) continue;
      const poll = (this.polls[name] = new Poll(url, seconds, headers));
      poll.asked = JSON.stringify(feeds[name]);
      if (before?.url === url && JSON.stringify(before.headers) === JSON.stringify(headers)) Object.assign(poll, { value: before.value, tag: before.tag, at: before.at, heard: before.heard });
      poll.run(() => this.forceUpdate());
    }
  }
}

/** @param {string} pool @param {string} [rest] @param {Record<string, any>} [query] Empty values are left out; lists repeat their name. */
export function poolUrl(pool, rest = "", query = {}) {
  return `/v1/pools/${encodeURIComponent(pool)}${rest}${search(query)}`;
}

/** What of a pool a page is about: the end of a season, a moment, a slice; empty for all games of now. @typedef {{season?: string, at?: string, slice?: string}} Scope */

/** Address of a board, of now or of the past. @param {string} pool @param {string} method @param {Scope} scope @param {Record<string, any>} [query] */
export function boardUrl(pool, method, { season, at, slice }, query = {}) {
  return season ? poolUrl(pool, `/seasons/${encodeURIComponent(season)}/boards/${method}`, { ...query, slice }) : poolUrl(pool, `/boards/${method}`, { ...query, at, slice });
}

/** Seconds between two requests for a board. A board of the past hardly ever changes. @param {Scope} scope @param {number} seconds For a board of now. */
export function pauseOf({ season, at }, seconds) {
  return season || at ? 60 : seconds;
}

/** @param {Record<string, any>} query */
export function search(query) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null && one !== "") given.append(name, String(one));
  }
  const text = given.toString();
  return text ? `?${text}` : "";
}
