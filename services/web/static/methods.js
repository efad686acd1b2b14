// What a reader has to know of each method: its title, what it answers, and which one leads a pool's page.
import { count, shareOf, whole } from "./format.js";

/** @type {Record<string, string>} */
export const TITLES = {
  elo: "Elo", sco: "Soft Condorcet (SCO)", fenchel_young: "Fenchel-Young", melo: "Multidimensional Elo", weng_lin: "Weng-Lin",
  glicko2: "Glicko-2", bradley_terry: "Bradley-Terry", contextual_bradley_terry: "Contextual Bradley-Terry",
  sco_fit: "Soft Condorcet (SCO), fitted",
  fenchel_young_fit: "Fenchel-Young, fitted", deviation: "Deviation ratings", cce: "Coarse correlated equilibrium (CCE)",
  lle: "Limiting logit equilibrium (LLE)", alpharank: "alpha-Rank", alpharank_tasks: "alpha-Rank on tasks", stv: "Single transferable vote",
};

/** @type {Record<string, string>} */
const QUESTIONS = {
  elo: "How strong is each agent at the moment, against average opposition? Each game moves two ratings at once; 400 points more are odds of ten to one.",
  sco: "Which order of ratings disagrees with the fewest results? Each game moves it a little.",
  fenchel_young: "Under which ratings do noisy rankings look like those that were observed? Each game moves them a little.",
  melo: "How strong is each agent, and who beats whom in circles?",
  weng_lin: "How strong is each agent, and how well is that known? A mean and a deviation are kept of each one.",
  glicko2: "How strong is each agent, and how well is that known? Agents that rest become uncertain.",
  bradley_terry: "Under which strengths was all that happened likeliest? The order of the games does not matter.",
  davidson: "Under which strengths was all that happened likeliest, with a separate parameter for ties?",
  contextual_bradley_terry: "Under which strengths was all that happened likeliest, after the effect of features of the games is taken out?",
  sco_fit: "Which order of ratings disagrees with the fewest results, of all results at once?",
  fenchel_young_fit: "Under which ratings do noisy orders have the observed ranks on average?",
  copeland: "How many others does an agent beat head to head? A tie counts one half.",
  maximal_lottery: "Which mix of agents is such that no other mix is preferred to it? A rating is the probability in this mix: agents in a cycle share it, and copies share one part.",
  iterated_maximal_lotteries: "Which agents does some maximal lottery elect, and which are next after these are taken out?",
  nash_average: "What does an agent score on the mix of tasks that is hardest for the best mix of agents? Copies change nothing.",
  nash_average_agents: "What does an agent expect against the mix of agents that no other mix beats? 0 for the agents in it. Copies change nothing.",
  deviation: "What would a player gain by choosing this agent always, in the equilibrium that punishes such a change most? At most 0; copies change nothing.",
  uniform: "What does an agent get on average, if opponents and tasks are drawn evenly?",
  cce: "What would a player gain by choosing this agent always, in one coarse correlated equilibrium?",
  lle: "What would a player gain by choosing this agent, in the Nash equilibrium that logit responses lead to?",
  payoff: "What does each agent get against what the others play in an equilibrium?",
  alpharank: "How often is a population that mutates rarely found to consist of this agent?",
  alpharank_tasks: "How often is a population found at this agent, while a population of tasks evolves against it?",
  plurality: "How many ballots have an agent on top?",
  approval: "How many ballots put an agent among their first ones?",
  borda: "How many others is an agent above, over all ballots?",
  kemeny: "Which order agrees with most votes, pair by pair?",
  schulze: "Whose chain of victories over each other agent is stronger than any chain back?",
  ranked_pairs: "Which order is left when victories are locked in from the largest down?",
  stv: "Who is elected in turn, and who is eliminated last?",
};

// Where the pool's settings choose no method, the first of these that has an answer leads its pages. Methods that are not named follow in the order of the API.
const FIRST = ["bradley_terry", "nash_average", "elo", "glicko2", "weng_lin", "sco", "deviation", "copeland", "maximal_lottery"];

/** @param {string} method */
export function title(method) {
  return TITLES[method] ?? method.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
}

const OTHERS = "others"; // name of all shapes of games that are not told apart

/** Titles of the forecasts of methods, with the shape of their games if there are several. @param {any[]} forecasts @returns {(one: any) => string} */
export function forecastTitles(forecasts) {
  const several = hasShapes(forecasts);
  return (one) => (several ? `${title(one.method)}, ${shapeTitle(one.shape)}` : title(one.method));
}

/** Whether forecasts are of several shapes of games. @param {any[]} forecasts */
export function hasShapes(forecasts) {
  return new Set(forecasts.map((one) => one.shape)).size > 1;
}

/** A shape of games in words. @param {string | null} shape @returns {string} */
export function shapeTitle(shape) {
  return shape === OTHERS ? "games of other shapes" : `games ${shape}`;
}

/** Whether a lottery gives an agent no part. All these agents share the last rank. @param {string} method @param {any} one Its rating. */
export function isOutside(method, one) {
  return method === "maximal_lottery" && one.rating !== null && one.rating <= 1e-9;
}

/** Rank of an agent, with the interval of it. @param {string} method @param {any} one Its rating by the method. @returns {string} */
export function placed(method, one) {
  if (isOutside(method, one)) return "Outside the maximal lottery";
  const interval = one.rank_low === undefined || one.rank_low === null || one.rank_low === one.rank_high ? "" : ` (${whole(one.rank_low)} to ${whole(one.rank_high)})`;
  return one.rank === null ? `Provisional by ${title(method)}: too little evidence for a rank` : `No. ${rankOf(one)}${interval} by ${title(method)}`;
}

/** Rank among the settled agents of a board. @param {any} one An agent's rating by a method. @returns {string} */
export function rankOf(one) {
  return one.rank === null ? "provisional" : `${whole(one.rank)} of ${whole(one.ranked)}`;
}

/**
 * How two methods order the pairs of agents, apart from ties: a lottery ties most pairs, which is no contradiction.
 * @param {{kendall: number, tied?: number | null}} distance Of the insight. @returns {string} In words, to follow a name of the two.
 */
export function ordersOf({ kendall, tied }) {
  if (tied === null || tied === undefined) return `order ${shareOf(kendall)} of the pairs of agents differently, where a pair that only one of them ties counts as half`;
  const opposite = Math.max(0, kendall - tied / 2);
  return `order ${opposite ? `${shareOf(opposite)} of the pairs` : "no pair"} of agents oppositely${tied ? `; ${shareOf(tied)} of the pairs are tied by one of the two alone` : ""}`;
}

/** The ranks of an agent on the boards of two methods. @param {any} one A disputed agent of the insight. @returns {string} */
export function disputedSays(one) {
  const place = (/** @type {number} */ rank, /** @type {number | undefined} */ shared) => `${whole(rank)}${shared && shared > 1 ? ` (shared by ${whole(shared)})` : ""}`;
  return `place ${place(one.high_place, one.high_shared)} by ${title(one.high)}, ${place(one.low_place, one.low_shared)} by ${title(one.low)}`;
}

/** What of the majorities' margins the best order contradicts: a share, or its bounds. @param {any} part `cyclicity` of the insight. @returns {string} */
export function contradicted({ against_order: share, against_order_least: least }) {
  const [high, low] = [shareOf(share), shareOf(least ?? share)];
  return high === low ? high : (least ?? 0) < 5e-4 ? `at most ${high}` : `${low} to ${high}`;
}

/** @param {any} findings Findings of the insight. @returns {any | null} The strongest cycle that is proven; null if chance can explain all. */
export function provenCycle(findings) {
  return findings?.cycles?.cycles?.find((/** @type {any} */ one) => one.proven) ?? null;
}

/** A cycle in words; empty without one. @param {any | null} cycle @param {(agent: string) => string} named What readers see as the name of an agent. @returns {string} */
export function cycleSays(cycle, named) {
  return cycle ? [...cycle.agents, cycle.agents[0]].map(named).join(" beats ") : "";
}

/**
 * The best record of forecasts so far, by mean log loss; undefined if no method has made enough. Log losses compare only within one shape of games.
 * @param {any[] | undefined} forecasts Records of methods. @param {string | undefined} [shape] Shape of the games, such as "1:1"; without it, the shape with most forecasts. @returns {any}
 */
export function bestForecasts(forecasts, shape) {
  const enough = (forecasts ?? []).filter((one) => one.enough !== false && typeof one.log_loss === "number" && one.shape !== OTHERS);
  const most = shape ?? [...enough].sort((a, b) => b.pairs - a.pairs)[0]?.shape;
  const scored = enough.filter((one) => (one.shape ?? most) === most); // without a shape: all games of the pool
  return scored.sort((a, b) => a.log_loss - b.log_loss)[0];
}

/** The method of an answer of /predict that readers see: the one that forecasts best, else the first one that forecasts; undefined without one. @param {any} answer @returns {any} */
export function forecaster({ methods }) {
  const able = methods.filter((/** @type {any} */ one) => !one.matches[0].no_forecast);
  const best = bestForecasts(able.map((/** @type {any} */ one) => ({ ...one.records[0], method: one.method })));
  return able.find((/** @type {any} */ one) => one.method === best?.method) ?? able[0];
}

/** By what a method forecasts best. @param {any} record Of its forecasts. @returns {string} */
export function bestBy({ pairs }) {
  return `lowest log loss, of ${count(pairs, "forecast")}`;
}

/** @param {string} method @returns {boolean} Whether copies of an agent leave the ratings of the others as they are. */
export function ignoresCopies(method) {
  return ["maximal_lottery", "nash_average", "deviation"].includes(method);
}

/**
 * What has to be known before ratings by a method are read: a few words for each, and the view that says more. Cycles and copies do not change some methods, so these have none.
 * @param {string} method @param {any} insight @returns {{short: string, view: "cycles" | "copies"}[]}
 */
export function cautions(method, insight) {
  if (ignoresCopies(method)) return [];
  const copies = insight?.findings?.clones?.exact?.[0];
  return [...(provenCycle(insight?.findings) ? [{ short: "proven cycles", view: /** @type {const} */ ("cycles") }] : []), ...(copies ? [{ short: `${whole(copies.length)} equal agents`, view: /** @type {const} */ ("copies") }] : [])];
}

/** @param {string} method @returns {string} One sentence: what the method answers; empty if unknown. */
export function question(method) {
  return QUESTIONS[method] ?? "";
}

/** @param {string[]} methods @param {string} [chosen] Leading method by the settings of the pool. @returns {string[]} The same, those that lead a page first. */
export function preferred(methods, chosen) {
  const place = (/** @type {string} */ method) => (method === chosen ? -1 : (FIRST.indexOf(method) + FIRST.length + 1) % (FIRST.length + 1));
  return [...methods].sort((a, b) => place(a) - place(b));
}

/** @param {any[]} boards Boards with their first row. @param {string} [chosen] Leading method by the settings of the pool. @returns {any | null} The board that leads the page. */
export function leading(boards, chosen) {
  const answered = boards.filter((board) => board.rows.some((/** @type {any} */ row) => row.rating !== null));
  const [first] = preferred(answered.map((board) => board.method), chosen);
  return boards.find((board) => board.method === first) ?? null;
}

/** @type {Record<string, string>} */
const INTERVALS = {
  posterior: "from draws of the true margins", cells: "from resampled counts of games", clustered: "from resampled games", tasks: "from resampled tasks",
  ballots: "from resampled ballots", fisher: "from standard errors", sandwich: "from standard errors", belief: "from the method's own belief",
};

/** @param {string} kind Kind of intervals. @returns {string} How they were computed, in words. */
export function computed(kind) {
  return INTERVALS[kind] ?? kind;
}

/** @param {any} intervals Description of the intervals of a board. @returns {number} Their level in per cent. */
export function levelOf(intervals) {
  return Math.round(100 * (intervals?.level ?? 0.95));
}

/** @param {any} intervals Description of the intervals of a board. @returns {boolean} Whether they hold with their level. */
export function isProven(intervals) {
  return intervals?.proven ?? true;
}

/** @param {any} intervals Description of the intervals of a board. @returns {string} What its intervals of ranks promise. */
export function ranksHold(intervals) {
  return isProven(intervals) ? `With ${levelOf(intervals)} %, all ranks are within their intervals at once.` : "How often such an interval includes the true rank is not proven for this method.";
}

/** @type {Record<string, string>} */
const CHECKS = {
  exact: "The result was computed exactly, without rounding in the order of agents.",
  score_gap_per_game: "The largest difference between the points an agent scored and the points its rating predicts, per game.",
  exploitability: "The most that any other choice could win against this answer.",
  regret: "The most that any agent could gain by another choice.",
  kkt_residual: "How far the answer is from satisfying the conditions of an optimum.",
};

/** @param {string} kind Kind of a certificate. @returns {string} What was checked. */
export function checked(kind) {
  return CHECKS[kind] ?? `The ${kind.replaceAll("_", " ")} of the answer, which is 0 for a perfect one.`;
}
