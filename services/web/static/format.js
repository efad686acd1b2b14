// Numbers, times and counts as text.

const ROUNDING = 1e-12; // a rating below it is a rounding error also where it is the only one

/**
 * All ratings of a column have the same number of decimals, by the largest rating. A rating that would be rounded to 0 is written with an
 * exponent, unless it is a rounding error of a solver: below a millionth of the largest rating, or within the tie tolerance.
 * @param {(number | null)[]} ratings @param {number} tied Tie tolerance of the board.
 * @returns {(rating: number | null | undefined) => string}
 */
export function shower(ratings, tied = 0) {
  const most = Math.max(0, ...known(ratings).map(Math.abs));
  const decimals = decimalsOf(ratings);
  return (rating) => {
    if (rating === null || rating === undefined) return "–";
    if (Math.abs(rating) <= Math.max(tied, 1e-6 * most, ROUNDING)) return "0";
    if (Math.abs(rating) < 0.5 * 10 ** -decimals) return minus(rating.toExponential(0));
    return minus(rating.toFixed(decimals));
  };
}

/** Decimals of all ratings of a column. @param {(number | null)[]} ratings @returns {number} */
export function decimalsOf(ratings) {
  const most = Math.max(0, ...known(ratings).map(Math.abs));
  return known(ratings).every(Number.isInteger) ? 0 : most >= 100 ? 1 : most >= 10 ? 2 : 4;
}

/** @param {(number | null | undefined)[]} ratings */
function known(ratings) {
  return /** @type {number[]} */ (ratings.filter((rating) => rating !== null && rating !== undefined));
}

/** @param {string} text */
function minus(text) {
  return text.replace(/^-/, "−");
}

/** @param {number} change @param {number} decimals */
export function signed(change, decimals = 1) {
  const size = Math.abs(change).toFixed(decimals);
  return `${Number(size) === 0 ? "" : change < 0 ? "−" : "+"}${size}`;
}

/** @param {number} share */
export function percent(share, decimals = 1) {
  return `${(100 * share).toFixed(decimals)} %`;
}

/** A share that is above 0 is never written as 0.0 %. @param {number} share @returns {string} */
export function shareOf(share) {
  return share > 0 && share < 5e-4 ? "less than 0.1 %" : percent(share);
}

/** @param {number} number */
export function whole(number) {
  return Number(number.toFixed(2)).toLocaleString("en");
}

/** @param {number} number @param {string} word Singular. */
export function count(number, word) {
  return `${whole(number)} ${word}${number === 1 ? "" : "s"}`;
}

/** What an outcome of a pool is called. @param {string} kind Of the pool. */
export function wordOf(kind) {
  return kind === "games" ? "game" : "task result";
}

/** @param {number} seconds */
export function ago(seconds) {
  if (seconds < 2) return "now";
  if (seconds < 120) return `${Math.round(seconds)} s ago`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} days ago`;
}

/** @param {number | null} time Seconds since 1970. */
export function date(time) {
  return time === null ? "–" : new Date(1000 * time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** @param {number} time Seconds since 1970. @returns {string} The time of the day. */
export function clock(time) {
  return new Date(1000 * time).toLocaleTimeString("en-GB");
}

/** The first whole second at or after a time, as addresses have it. @param {number} seconds Since 1970. */
export function utc(seconds) {
  return new Date(1000 * Math.ceil(seconds)).toISOString().slice(0, 19);
}

/** How long a change took, for the head of a column: "24 h", or since when. @param {{time: number, day: boolean}} earlier State that is compared. */
export function since(earlier) {
  const age = Date.now() / 1000 - earlier.time;
  if (earlier.day && age < 90_000) return "24 h";
  return `since ${new Date(1000 * earlier.time).toLocaleString("en-GB", age < 82_800 ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" })}`;
}

/** Both ends of a rating's interval in words. Two equal ends would repeat the rating beside them, and read as ranks. @param {number} low @param {number} high @param {(rating: number) => string} shown How a rating is written. */
export function between(low, high, shown) {
  return low === high ? "no spread" : `${shown(low)} to ${shown(high)}`;
}

/** The ranks that several rows share. @param {any[]} rows @returns {Set<number>} */
function sharedRanks(rows) {
  const [seen, shared] = [new Set(), new Set()];
  for (const { rank } of rows) {
    if (rank !== null) (seen.has(rank) ? shared : seen).add(rank);
  }
  return shared;
}

/** How ranks are written: "2=" where several of the rows share it, "?" without one. @param {any[]} rows @returns {(row: any) => string} */
export function placer(rows) {
  const shared = sharedRanks(rows);
  return (row) => (row.rank === null ? "?" : `${whole(row.rank)}${shared.has(row.rank) ? "=" : ""}`);
}

/** How many games the last 24 hours had, if it is known. @param {{outcomes: number, complete: boolean} | undefined} day */
export function today(day) {
  if (!day) return "";
  return day.outcomes ? `${day.complete ? "" : "more than "}${whole(day.outcomes)} in 24 h` : "none in 24 h";
}

/**
 * What readers see as the name of an agent: its display name, or else the name itself. Every name on a page comes from here.
 * @param {string | {agent: string, display_name?: string | null}} agent A name, or a row of a board. @param {any} [answer] Of the API, with
 * `display_names` of the agents that it names. @returns {string}
 */
export function nameOf(agent, answer) {
  if (typeof agent !== "string") return agent.display_name ?? agent.agent;
  return answer?.display_names?.[agent] ?? agent;
}

/** @param {number} hidden Number of agents that are not shown. @returns {string} One sentence; empty if all are shown. */
export function leftOut(hidden) {
  return hidden > 0 ? `${count(hidden, "hidden agent")} ${hidden === 1 ? "is" : "are"} left out.` : "";
}

/** The first few names, and how many more there are. @param {string[]} names @param {number} total @param {number} most */
export function some(names, total = names.length, most = 5) {
  const shown = names.slice(0, most);
  return shown.join(", ") + (total > shown.length ? ` and ${whole(total - shown.length)} more` : "");
}
