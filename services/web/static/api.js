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
    this.asked = JSON.stringify([url, headers]);
    this.wake = () => {};
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
      const soon = this.error !== null && (this.error.status === 0 || this.error.status >= 500); // no answer, or one of a service that cannot answer now
      await this.pause(soon ? Math.min(RETRY, this.seconds) : this.seconds);
    }
  }

  /** @param {number} seconds @returns {Promise<void>} */
  pause(seconds) {
    return new Promise((resume) => {
      const timer = setTimeout(resume, SECOND * seconds);
      this.wake = () => {
        clearTimeout(timer);
        resume();
      };
    });
  }

  /** Sets the pause between two requests. A shorter one ends the present pause, so that the next request is made at once. @param {number} seconds */
  every(seconds) {
    const shorter = seconds < this.seconds;
    this.seconds = seconds;
    if (shorter) this.wake();
  }

  end() {
    this.ended = true;
    this.wake();
  }

  /** Seconds since the newest answer. */
  since() {
    return (performance.now() - this.at) / SECOND;
  }
}

function visible() {
  return new Promise((resume) => document.addEventListener("visibilitychange", resume, { once: true }));
}

/** Address, seconds between requests, and headers. @typedef {[string, number] | [string, number, Record<string, string>]} Feed */

/** A component with polls. A subclass names them in `feeds`, and reads `this.polls`. A feed whose address or headers change starts again. */
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
    for (const poll of Object.values(this.polls)) poll.end();
  }

  sync() {
    const feeds = this.feeds();
    for (const [name, poll] of Object.entries(this.polls)) {
      const [url, seconds, headers = {}] = feeds[name] ?? [];
      if (seconds !== undefined && JSON.stringify([url, headers]) === poll.asked) {
        poll.every(seconds);
        continue;
      }
      poll.end();
      delete this.polls[name];
    }
    for (const [name, [url, seconds, headers]] of Object.entries(feeds)) {
      if (this.polls[name]) continue;
      const poll = (this.polls[name] = new Poll(url, seconds, headers));
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
