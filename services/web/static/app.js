// The page of a pool: every method side by side, refreshed each second while the tab is visible. Names are set as text, never as HTML.
"use strict";

const SECOND = 1000;
const ROWS = 12;
const CHART_ROWS = 1000;
const CHART_SECONDS = 10;
const FEWEST_PAIRS = 100; // predicted pairs from which the accuracy of a method is shown, as in the insight
const FOLDING_TICKS = 5;
const PLOTLY = document.currentScript.dataset.plotly;
const TITLES = {
  elo: "Elo", sco: "Soft Condorcet (SCO)", fenchel_young: "Fenchel-Young", melo: "Multidimensional Elo", weng_lin: "Weng-Lin",
  glicko2: "Glicko-2", outcomes: "Activity", bradley_terry: "Bradley-Terry", sco_fit: "Soft Condorcet (SCO), fitted",
  fenchel_young_fit: "Fenchel-Young, fitted", deviation: "Deviation ratings", cce: "Coarse correlated equilibrium (CCE)",
  lle: "Limiting logit equilibrium (LLE)", alpharank: "alpha-Rank", alpharank_tasks: "alpha-Rank on tasks", stv: "Single transferable vote",
};

const main = document.getElementById("main");
const state = document.getElementById("state");
const pool = location.pathname.startsWith("/pools/") ? decodeURIComponent(location.pathname.slice("/pools/".length)) : null;

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function title(method) {
  return TITLES[method] ?? method.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
}

// All ratings of a column have the same number of decimals, by the largest rating. A rating that would be rounded to 0 is written with
// an exponent, unless it is a rounding error of a solver: below a millionth of the largest rating, or within the tie tolerance.
function shower(ratings, tied) {
  const most = Math.max(0, ...ratings.map(Math.abs));
  const decimals = ratings.every(Number.isInteger) ? 0 : most >= 100 ? 1 : most >= 10 ? 2 : 4;
  return (rating) => {
    if (rating === null || rating === undefined) return "–";
    if (Math.abs(rating) <= Math.max(tied, 1e-6 * most)) return "0";
    if (Math.abs(rating) < 0.5 * 10 ** -decimals) return rating.toExponential(0);
    return rating.toFixed(decimals);
  };
}

function proven(value) {
  return value === 0 ? "0" : value.toExponential(1);
}

function ago(seconds) {
  if (seconds < 2) return "now";
  if (seconds < 120) return `${Math.round(seconds)} s ago`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min ago`;
  return `${Math.round(seconds / 3600)} h ago`;
}

// Reads an address repeatedly. `since` gives the seconds since the newest answer by the browser's clock; they are added to ages in it.
class Poll {
  constructor(url) {
    this.url = url;
    this.tag = null;
    this.value = null;
    this.at = 0;
  }

  async next() {
    const headers = this.tag ? { "If-None-Match": this.tag } : {};
    const answer = await fetch(this.url, { headers, cache: "no-store", signal: AbortSignal.timeout(10 * SECOND) });
    if (answer.status === 304) return false;
    if (!answer.ok) throw await problem(answer);
    this.value = await answer.json();
    this.tag = answer.headers.get("ETag");
    this.at = performance.now();
    return true;
  }

  since() {
    return (performance.now() - this.at) / SECOND;
  }
}

// Reads every few seconds whether the pool is being folded. Boards that are no longer updated would otherwise look like a quiet pool.
class Folding {
  constructor() {
    this.trouble = null;
  }

  async next() {
    const answer = await fetch(`/v1/pools/${encodeURIComponent(pool)}`, { cache: "no-store", signal: AbortSignal.timeout(10 * SECOND) });
    const folding = answer.ok ? (await answer.json()).folding : null;
    this.trouble = folding && folding.status !== "fresh" ? folding.says : null;
  }
}

// Shows the state in the page's head: "live", or the reason why the page may be outdated.
function tellState(polled, trouble) {
  const stale = polled?.stale_seconds;
  const stopped = polled?.pool?.head?.stopped;
  if (stale !== undefined) tell(`The store does not answer, or lost its data. This data was read ${stale < 2 ? "a moment ago" : ago(stale)}.`, "bad");
  else if (trouble) tell(trouble, "bad");
  else if (stopped) tell("This pool stopped", "bad");
  else tell("live", "ok");
  mark(stale !== undefined || trouble, stopped);
}

// Marks live boards as "stopped" if no outcome of the pool is folded any more, and as "not updated" while they are not written.
// stopped: why the pool stopped, or nothing.
function mark(troubled, stopped) {
  for (const kind of document.querySelectorAll(".kind.live")) {
    kind.textContent = stopped ? "stopped" : troubled ? "not updated" : "live";
    kind.title = stopped || "";
    kind.classList.toggle("late", Boolean(troubled || stopped));
  }
}

async function problem(answer) {
  const told = await answer.json().catch(() => ({}));
  return Object.assign(new Error(told.detail || `the service answered ${answer.status}`), { status: answer.status });
}

const POSITION = "The log offset included in this board. A higher position is newer. Differences are not outcome counts: pools share a partition, and a record can hold many outcomes.";

function facts(head) {
  if (!head) return make("ul", { class: "facts" }, make("li", {}, "no outcomes yet"));
  const found = [["outcomes", head.outcomes], ["agents", head.agents], ["tasks", head.tasks], ["duplicates dropped", head.duplicates],
    ["conflicts", head.conflicts], ["retractions", head.retractions], ["refused", head.dead_letters]];
  const items = found.filter(([name, count]) => count > 0 || name === "outcomes").map(([name, count]) =>
    make("li", {}, make("b", {}, count.toLocaleString("en")), ` ${count === 1 ? name.replace(/s\b/, "") : name}`));
  items.push(make("li", { title: POSITION }, "position ", make("b", {}, String(head.position)), ` · generation ${head.generation}`));
  if (head.season !== "first") items.push(make("li", {}, "season ", make("a", { href: `/v1/pools/${encodeURIComponent(head.pool)}/seasons` }, head.season)));
  for (const [method, sums] of Object.entries(head.prequential)) {
    if (sums.pairs < FEWEST_PAIRS) items.push(make("li", {}, `${title(method)}: not enough outcomes yet for its accuracy`));
    else if (sums.kendall !== undefined) items.push(make("li", {}, `${title(method)} predicted `, make("b", {}, `${(100 * (1 - sums.kendall)).toFixed(1)} %`), " of wins"));
  }
  return make("ul", { class: "facts" }, ...items);
}

// A line that says why the pool stopped; nothing if it is folded.
function stoppage(head) {
  return head?.stopped ? [make("p", { class: "error" }, `This pool stopped: ${head.stopped}`)] : [];
}

// How many outcomes a solved board lacks. Positions cannot show it, because they also change with other pools of the partition.
function counted(board, head) {
  const newer = head && head.generation === board.generation ? head.outcomes - board.outcomes : null;
  if (newer === null) return `counts ${count(board.outcomes, "outcome")} of generation ${board.generation}`;
  return newer <= 0 ? "includes all outcomes of the live boards" : `${count(newer, "outcome")} behind the live boards`;
}

function proof(board, head) {
  const line = make("p", { class: "proof" });
  const age = make("span", { "data-age": board.age_seconds }, "");
  if (board.source === "live") {
    line.append(`counts ${count(board.outcomes ?? head?.outcomes ?? 0, "outcome")} · published `, age);
    line.title = `position ${board.position}. ${POSITION}`;
    return line;
  }
  if (board.certificate && board.certificate.value !== null) {
    line.append(`${board.certificate.kind.replaceAll("_", " ")} `, make("b", {}, proven(board.certificate.value)), ` · ${board.status}`);
  } else {
    line.append(board.status.replaceAll("_", " "));
  }
  if (board.status === "pending") return line;
  line.append(` · ${counted(board, head)} · took ${board.seconds.toFixed(2)} s · solved `, age);
  line.title = `position ${board.position}. ${POSITION}`;
  return line;
}

// The change of rank since the previous solve.
function arrow(row) {
  const up = (row.rank_before ?? row.rank) - row.rank;
  if (up === 0) return [];
  const told = `${up > 0 ? "up" : "down"} from ${row.rank_before}`;
  return [make("span", { class: up > 0 ? "up" : "down", title: told, "aria-label": told, role: "img" }, up > 0 ? "▲" : "▼")];
}

// A line about the newest try, if it failed.
function troubled(board) {
  if (board.status === "pending") return "Pending";
  if (board.status === "not_applicable") return "Not applicable";
  return board.rows.length ? "The newest solve failed; this is the previous result" : "The solve failed";
}

// Heading and cell of the columns of deviations and intervals, for those that the rows have.
function intervalColumns(rows, shown) {
  const found = [];
  if (rows.some((row) => row.deviation !== undefined)) found.push(["deviation", (row) => shown(row.deviation)]);
  if (rows.some((row) => row.low !== undefined)) found.push(["interval", (row) => (row.low === undefined ? "–" : `${shown(row.low)} to ${shown(row.high)}`)]);
  if (rows.some((row) => row.rank_low !== undefined)) found.push(["ranks", (row) => (row.rank_low === undefined ? "–" : `${row.rank_low}–${row.rank_high}`)]);
  return found;
}

function intervalLine(board) {
  const told = board.intervals;
  if (told.kind === "none") return make("p", { class: "proof short" }, `no intervals: ${told.why_not}`);
  const replicates = told.replicates ? `, ${told.replicates} replicates` : "";
  const older = told.position !== undefined && told.position !== board.position ? `, at position ${told.position}` : "";
  const of = told.of ? ` of ${told.of}` : "";
  const text = `${Math.round(100 * (told.level ?? 0.95))} % intervals${of}: ${told.kind}${replicates}${older}`;
  return make("p", { class: "proof short", title: `Assumption: ${told.assumes}` }, text);
}

// The reason for the question mark at the rank of a provisional agent.
function unsettled(row) {
  if (row.outcomes !== undefined) return `${count(row.outcomes, "outcome")}${row.opponents === undefined ? "" : `, ${count(row.opponents, "opponent")}`}, or a wide interval of its rank`;
  if (row.rank_low !== undefined) return "the interval of its rank is wide";
  return row.deviation === undefined ? "few outcomes yet" : "few outcomes yet, or a wide deviation";
}

// The tasks with the largest contributions to a rating, if the method reported them.
function parts(row, board) {
  const told = Object.entries(board.extra?.contributions?.[row.agent] ?? {}).filter(([, share]) => share !== 0);
  return told.length ? { title: `contributions: ${told.map(([part, share]) => `${part} ${share > 0 ? "+" : ""}${Number(share.toPrecision(3))}`).join(", ")}` } : {};
}

function rowOf(row, low, span, shown, intervals, board) {
  const name = make("td", { class: "name", title: row.agent }, row.display_name ?? row.agent);
  if (row.rating !== null && span > 0) name.style.backgroundSize = `${Math.round((100 * (row.rating - low)) / span)}% 100%`;
  const doubt = row.provisional ? { title: `provisional: ${unsettled(row)}` } : {};
  const rank = make("td", { class: "rank", ...doubt }, String(row.rank) + (row.provisional ? "?" : ""), ...arrow(row));
  return make("tr", {}, rank, name, make("td", { class: "number", ...parts(row, board) }, shown(row.rating)),
    ...intervals.map(([heading, cell]) => make("td", { class: `number ${heading}` }, cell(row))));
}

function tableOf(board, caption) {
  const rows = board.rows.slice(0, ROWS);
  const ratings = rows.map((row) => row.rating).filter((rating) => rating !== null);
  const low = Math.min(...ratings, ...(ratings.every((rating) => rating >= 0 && rating <= 1) ? [0] : []));
  const tied = board.extra?.tie_tolerance ?? 0;
  const span = Math.max(...ratings) - low;
  const shown = shower(ratings, tied);
  const intervals = intervalColumns(rows, shown);
  const head = make("tr", {}, make("th", { class: "rank", scope: "col" }, "rank"), make("th", { scope: "col" }, "agent"),
    make("th", { class: "number", scope: "col" }, board.method === "outcomes" ? "outcomes" : "rating"),
    ...intervals.map(([heading]) => make("th", { class: `number ${heading}`, scope: "col" }, heading)));
  return make("table", { "aria-label": caption }, make("thead", {}, head),
    make("tbody", {}, ...rows.map((row) => rowOf(row, low, span > tied ? span : 0, shown, intervals, board))));
}

function effect(feature) {
  const [coefficient, low, high] = [feature.coefficient, feature.low, feature.high].map((value) => value.toPrecision(3));
  return `feature ${feature.feature}: ${coefficient} logits per unit, 95 % interval ${low} to ${high}`;
}

// How many agents a card shows. A lottery's board leaves out the agents with probability 0.
function listed(board) {
  const shown = `${Math.min(ROWS, board.rows.length)} of ${board.total.toLocaleString("en")} agents`;
  return board.outside ? `${shown}; ${board.outside.toLocaleString("en")} have probability 0` : shown;
}

function card(board, thin, head) {
  const kind = make("span", { class: `kind ${board.source}` }, board.source);
  const uncertain = board.rows.some((row) => row.low !== undefined) ? " uncertain" : "";
  const section = make("section", { class: `card${uncertain}`, "data-method": board.method }, make("header", {}, make("h2", {}, title(board.method)), kind),
    proof(board, head));
  if (board.error) section.append(make("p", { class: "error" }, `${troubled(board)}: ${board.error}`));
  if (board.rows.length && board.rows.every((row) => row.provisional)) section.append(make("p", { class: "proof" }, "Not enough outcomes yet: all ratings shown are provisional."));
  const roster = board.extra?.roster;
  if (roster) section.append(make("p", { class: "proof" }, `only the ${roster.agents} ${roster.by} agents; ${roster.left_out} are left out`));
  if (board.extra?.unrated_because) section.append(make("p", { class: "proof" }, `– no rating: ${board.extra.unrated_because}`));
  for (const feature of board.extra?.features ?? []) section.append(make("p", { class: "proof" }, effect(feature)));
  if (board.intervals) section.append(intervalLine(board));
  if (thin) section.append(make("p", { class: "error" }, `Weakly connected agents among the first ${thin.of}: ${some(thin.agents, thin.agents.length)}.`));
  section.append(board.rows.length ? tableOf(board, `${title(board.method)} ratings`) : make("p", {}, "No agents yet."));
  if (board.total > ROWS || board.outside) {
    const address = `/v1/pools/${encodeURIComponent(board.pool)}/boards/${board.method}`;
    const links = [make("a", { href: `${address}?count=1000${board.outside ? "&all=true" : ""}` }, "JSON"), " · ", make("a", { href: `${address}?format=csv` }, "CSV")];
    section.append(make("p", { class: "more" }, `${listed(board)} · `, ...links));
  }
  return section;
}

function example(kind) {
  const where = `${location.origin}/v1/outcomes`;
  const name = pool ?? "mine";
  const event = kind === "scores" ? { v: 1, pool: name, task: "pong", scores: { alice: 20.5, bob: 11 } }
    : { v: 1, pool: name, sides: [{ agents: ["alice"], place: 1 }, { agents: ["bob"], place: 2 }] };
  return make("pre", { tabindex: "0" }, make("code", {}, `curl ${where} \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(event)}'`));
}

function empty(text, kind) {
  return make("div", { class: "empty" }, make("p", {}, text), example(kind));
}

function heading(view) {
  const top = make("h1", {}, view.pool);
  if (view.label) top.append(make("span", { class: "tag" }, view.label));
  return top;
}

// A refresh keeps focus and scroll position, because the card of the chart stays and only boards are replaced.
class PoolPage {
  constructor() {
    this.poll = new Poll(`/v1/pools/${encodeURIComponent(pool)}/boards?count=${ROWS}`);
    this.top = make("div");
    this.boards = make("div", { class: "boards" });
    this.chart = new Chart();
    this.insight = new InsightCard();
    this.fresh = false;
    main.replaceChildren(this.top, this.boards);
  }

  // `fresh` stays set if the second request fails, so that the answer to the first one is drawn.
  async next() {
    this.fresh = (await this.poll.next()) || this.fresh;
    if (this.poll.value.stale_seconds === undefined) this.fresh = (await this.insight.poll.next()) || this.fresh;
  }

  draw() {
    this.fresh = false;
    const { pool: view, boards } = this.poll.value;
    this.top.replaceChildren(heading(view), facts(view.head), ...stoppage(view.head));
    const cards = boards.filter((board) => board.method !== "outcomes" || boards.length === 1).map((board) => card(board, this.insight.thin(board.method), view.head));
    if (!cards.length || (boards.length === 1 && !boards[0].rows.length)) {
      this.boards.replaceChildren(empty("This pool has no outcomes yet. Send one to see its boards here:", view.kind));
      return;
    }
    if (boards.length === 1) cards.push(empty("There are no solved boards yet: the first solve is running, or it needs more outcomes. Send more:", view.kind));
    for (const old of this.boards.querySelectorAll(":scope > :not(.wide)")) old.remove();
    this.boards.prepend(...cards);
    this.chart.draw(this.boards, boards);
    this.insight.draw(this.boards, this.poll.since());
  }
}

// The card with the insight report. A part that does not apply to the pool gives its reason.
class InsightCard {
  constructor() {
    this.poll = new Poll(`/v1/pools/${encodeURIComponent(pool)}/insight`);
    this.list = make("dl", { class: "findings" });
    this.about = make("p", { class: "proof short" });
    this.card = make("section", { class: "card wide", id: "insight" }, make("header", {}, make("h2", {}, "Insight")), this.about, this.list);
  }

  // The weakly connected agents among the first of a method's board; undefined if there are none.
  thin(method) {
    const links = this.poll.value?.findings?.connectivity;
    return links?.leaders.find((board) => board.method === method);
  }

  // since: seconds since the boards arrived, which are added to all ages.
  draw(where, since) {
    const told = this.poll.value;
    if (!told || (!told.findings && told.status === "pending")) {
      this.card.remove();
      return;
    }
    if (!this.card.isConnected) where.append(this.card);
    this.about.replaceChildren(...this.dated(told, since));
    this.list.replaceChildren(...(told.findings ? lines(told.findings).flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, ...text)]) : []));
  }

  dated(told, since) {
    const age = make("span", { "data-age": (told.age_seconds ?? 0) + this.poll.since() - since }, "");
    const why = told.findings ? "The newest computation failed" : "No insight yet";
    const failed = told.error ? [make("span", { class: "bad" }, `${why}: ${told.error} `)] : [];
    return told.findings ? [...failed, "as of position ", make("b", {}, String(told.position)), " · computed ", age] : failed;
  }
}

function lines(found) {
  const parts = [["Links", found.connectivity, links], ["Cyclicity", found.cyclicity, cyclicity], ["Order", found.order, order], ["Strongest cycles", found.cycles, cycles],
    ["Clones", found.clones, clones], ["Look-alikes", found.look_alikes, lookAlikes], ["The top", found.top, votes], ["Methods disagree", found.disagreement, disagree],
    ["Forecasts", found.prequential, forecasts]];
  return parts.map(([name, part, told]) => [name, part.not_applicable ? [line(`not applicable: ${part.not_applicable}`, "none")] : told(part)]);
}

function line(text, kind) {
  return make("p", kind ? { class: kind } : {}, ...[text].flat());
}

function some(names, total) {
  const shown = names.slice(0, 5);
  return shown.join(", ") + (total > shown.length ? ` and ${(total - shown.length).toLocaleString("en")} more` : "");
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

function count(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

function links(part) {
  const all = part.components === 1 ? "; all agents are linked" : "";
  const told = [line(`${count(part.pairs, "pair")} with games, ${percent(part.density)} of all pairs${all}`)];
  if (part.components > 1) told.push(line(`${part.components} groups without games between them; outside the largest: ${some(part.apart, part.apart_total)}`, "bad"));
  if (part.thin_total) {
    const least = part.thin.map((one) => `${one.agent} (${count(one.games, "game")} against ${one.opponents})`);
    told.push(line(`weakly connected, fewer than ${part.threshold.toPrecision(3)} effective games: ${some(least, part.thin_total)}`));
  }
  if (part.leaders.length) told.push(line(`boards with weakly connected agents among the first: ${part.leaders.map((board) => title(board.method)).join(", ")}`, "bad"));
  return told;
}

function cyclicity(part) {
  if (part.within_noise) return [line(`no cyclic part beyond noise: the estimate of ${percent(part.share)} fits one order of strength (assumes ${part.assumes})`)];
  return [line([make("b", {}, percent(part.share)), ` of the results are cyclic, after noise is removed (assumes ${part.assumes})`])];
}

function order(part) {
  const high = part.high == null ? "infinite" : part.high.toPrecision(3);
  const interval = `95 % interval ${part.low.toPrecision(3)} to ${high}, from ${part.pairs} pairs with several games`;
  if (part.kappa == null) return [line(`one order of strength is compatible with the results (kappa infinite, ${interval})`)];
  return [line(["results of pairs deviate from an order; the order's prediction is worth ", make("b", {}, `${part.kappa.toPrecision(3)} games`), ` (kappa; ${interval})`]),
    line(`evidence for deviations ${part.evidence.toPrecision(3)} nats, p = ${part.p_value.toPrecision(2)}`)];
}

function cycles(part) {
  if (!part.cycles.length) return [line("none: the head-to-head majorities form no cycle")];
  return part.cycles.map((one) => line(`${[...one.agents, one.agents[0]].join(" › ")}, by head-to-head majorities of ${one.margins.join(", ")}`));
}

function clones(part) {
  const told = [["equal agents", part.exact, part.exact_total], ["equal tasks", part.tasks, part.tasks_total]].flatMap(([what, groups, total]) =>
    [...groups.slice(0, 5).map((group) => line(`${what}: ${some(group, group.length)}`)), ...(total > 5 ? [line(`and ${total - 5} more groups of ${what}`)] : [])]);
  told.push(...part.near.slice(0, 5).map((pair) => line(`near copies: ${pair.agents.join(" and ")}, mean results differ by at most ${pair.distance.toPrecision(2)}`)));
  if (part.near_not_applicable) told.push(line(`near copies: ${part.near_not_applicable}`, "none"));
  return told.length ? told : [line(part.radius ? `none: no near copies within ${part.radius}; weakly connected agents are not compared` : "none")];
}

function lookAlikes(part) {
  const named = (one) => `${one.agent} (activity ${one.activity.toLocaleString("en")}, ${one.characters.join(", ") || "plain ASCII"})`;
  const told = part.groups.slice(0, 5).map((group) => line(`names look alike: ${group.slice(0, 5).map(named).join("; ")}`, "bad"));
  if (part.groups_total > 5) told.push(line(`and ${part.groups_total - 5} more groups`));
  return told.length ? told : [line("none: no two names look alike")];
}

function votes(part) {
  const least = part.low === part.high ? String(part.low) : part.high === null ? `at least ${part.low}` : `${part.low} to ${part.high}`;
  const unit = least === "1" ? part.unit.replace(/s$/, "") : part.unit;
  const alone = part.agents_total === 1;
  const top = part.agents.length ? `${some(part.agents, part.agents_total)} ${alone ? "loses" : "lose"} to no opponent` : "every agent loses to another one";
  const told = [line([`by majority of head-to-head results, ${top}; without `, make("b", {}, `${least} ${unit}`), `, ${part.rival} would be level or ahead`])];
  const places = Object.entries(part.elsewhere ?? {}).map(([method, rank]) => `${rank} by ${title(method)}`);
  if (places.length) told.push(line(`other boards rank ${alone ? "it" : "the best of them"} lower: ${places.join(", ")}`));
  if (part.votes.length) told.push(line(`${part.unit}: ${part.votes.join(", ")}`));
  return told;
}

function disagree(part) {
  if (!part.disputed.length) return [line(`none: one order of the ${part.agents} agents fits all boards`)];
  const told = part.disputed.slice(0, 5).map((one) => line(`${one.agent}: place ${one.high_place} by ${title(one.high)}, ${one.low_place} by ${title(one.low)}`));
  const [far] = part.distances;
  return [...told, line(`largest distance: ${far.methods.map(title).join(" and ")}, ${percent(far.kendall)} of pairs`)];
}

function forecasts(part) {
  return part.forecasts.map((one) => {
    if (one.enough === false) return line(`${title(one.method)}: not enough outcomes yet (${one.pairs.toLocaleString("en")} of ${part.least_pairs} predicted pairs)`);
    const named = [["log loss", one.log_loss], ["Brier", one.brier], ["calibration error", one.calibration_error ?? null]];
    const means = named.filter(([, value]) => value !== null).map(([name, value]) => `${name} ${value.toFixed(4)}`);
    if (one.kendall !== null) means.push(`${percent(one.kendall)} of wins predicted wrongly`);
    return line(`${title(one.method)}: ${means.join(" · ") || "no pair yet"}`);
  });
}

// A chart of the ratings of one method against those of another. Agents on which the methods disagree, such as clones, stand out.
class Chart {
  constructor() {
    this.across = make("select", { "aria-label": "Across" });
    this.up = make("select", { "aria-label": "Up" });
    this.plot = make("div", { id: "chart", role: "img" });
    const pick = make("p", { class: "pick" }, make("label", {}, "across ", this.across), make("label", {}, "up ", this.up));
    this.note = make("p", { class: "more", id: "plotted" });
    this.card = make("section", { class: "card wide" }, make("header", {}, make("h2", {}, "Where methods disagree")), pick, this.plot, this.note);
    for (const select of [this.across, this.up]) select.addEventListener("change", () => this.show());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.plotNow());
    this.given = [];
    this.whole = new Map();
    this.library = null;
  }

  draw(where, boards) {
    this.given = boards.filter((board) => board.method !== "outcomes" && board.rows.some((row) => row.rating !== null));
    if (this.given.length < 2) {
      this.card.remove();
      return;
    }
    if (!this.card.isConnected) where.append(this.card);
    this.offer();
    this.library ??= load(PLOTLY);
    this.library.then(() => this.show()).catch((error) => this.plot.replaceChildren(`The chart cannot be shown: ${error.message}`));
  }

  offer() {
    const names = this.given.map((board) => board.method);
    const chosen = [this.across.value, this.up.value];
    const first = names.includes("elo") ? "elo" : names[0];
    const fallback = [first, ["maximal_lottery", "nash_average", ...names].find((name) => name !== first && names.includes(name))];
    [this.across, this.up].forEach((select, i) => {
      if ([...select.options].map((option) => option.value).join() !== names.join()) {
        select.replaceChildren(...names.map((name) => make("option", { value: name }, title(name))));
        select.value = names.includes(chosen[i]) ? chosen[i] : fallback[i];
      }
    });
  }

  // Cards hold only the first rows. The chart reads the two selected boards with as many rows as the API gives, every few seconds.
  async show() {
    await Promise.all([this.across.value, this.up.value].map((name) => this.fill(name))).catch(() => {});
    this.plotNow();
  }

  async fill(name) {
    const board = this.given.find((one) => one.method === name);
    const held = this.whole.get(name);
    const now = performance.now() / SECOND;
    if (!board || (held && now - held.at < CHART_SECONDS)) return;
    if (board.rows.length >= board.total) {
      this.whole.delete(name);
      return;
    }
    const answer = await fetch(`/v1/pools/${encodeURIComponent(board.pool)}/boards/${name}?count=${CHART_ROWS}&all=true`, { signal: AbortSignal.timeout(10 * SECOND) });
    if (answer.ok) this.whole.set(name, { at: now, board: await answer.json() });
  }

  shown(points, x, y) {
    const all = Math.max(x.total, y.total);
    if (points === all) return `all ${all.toLocaleString("en")} agents`;
    const first = all > CHART_ROWS ? `; only the first ${CHART_ROWS.toLocaleString("en")} of each are shown` : "";
    return `${points.toLocaleString("en")} of ${all.toLocaleString("en")} agents, which both methods rate${first}`;
  }

  plotNow() {
    const [x, y] = [this.across.value, this.up.value].map((name) => this.whole.get(name)?.board ?? this.given.find((board) => board.method === name));
    if (!x || !y || !window.Plotly) return;
    const heights = new Map(y.rows.map((row) => [row.agent, row.rating]));
    const points = x.rows.filter((row) => row.rating !== null && (heights.get(row.agent) ?? null) !== null);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = (board) => ({ title: { text: title(board.method), standoff: 8 }, gridcolor: colour("--line"), zeroline: false, automargin: true });
    const few = points.length <= 15 && this.plot.clientWidth > 500;
    const best = new Set([...x.rows.slice(0, 3), ...y.rows.slice(0, 3)].map((row) => row.agent));
    const trace = {
      type: "scatter", mode: "markers+text", x: points.map((row) => row.rating), y: points.map((row) => heights.get(row.agent)),
      text: points.map((row) => (few || best.has(row.agent) ? escaped(row.agent) : "")), customdata: points.map((row) => escaped(row.agent)),
      hovertemplate: "%{customdata}<br>%{x:.5g}, %{y:.5g}<extra></extra>", textposition: "top center",
      textfont: { size: 11, color: colour("--soft") }, marker: { size: 9, color: colour("--mark"), opacity: 0.85 }, cliponaxis: false,
    };
    const layout = {
      margin: { l: 60, r: 20, t: 16, b: 48 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      font: { color: colour("--ink"), family: getComputedStyle(document.body).fontFamily }, xaxis: axis(x), yaxis: axis(y), uirevision: `${x.method}/${y.method}`,
    };
    this.note.replaceChildren(this.shown(points.length, x, y));
    this.plot.setAttribute("aria-label", `${points.length} agents by ${title(x.method)} and ${title(y.method)}; the tables above hold the numbers`);
    window.Plotly.react(this.plot, [trace], layout, { displayModeBar: false, responsive: true });
  }
}

// Shortens a name and escapes it, because Plotly interprets some HTML tags in its texts.
function escaped(text) {
  const short = text.length > 24 ? `${text.slice(0, 23)}…` : text;
  return short.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function load(source) {
  return new Promise((resolve, reject) => {
    const script = make("script", { src: source });
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error("its script did not load")));
    document.head.append(script);
  });
}

class ListPage {
  constructor(list) {
    this.poll = list;
    this.fresh = true;
    main.replaceChildren(make("h1", {}, "Pools"));
    this.boards = make("div", { class: "boards" });
    main.append(this.boards);
  }

  // The caller reads the list; this page only draws it.
  async next() {}

  draw() {
    const { pools, total } = this.poll.value;
    if (!pools.length) {
      this.boards.replaceChildren(empty("There are no pools yet. The first outcome creates its pool. If this is switched off, create a pool first with PUT /v1/pools/NAME:", "games"));
      return;
    }
    const cards = pools.map((view) => make("section", { class: "card" },
      make("header", {}, make("h2", {}, make("a", { href: `/pools/${encodeURIComponent(view.pool)}` }, view.pool),
        ...(view.label ? [make("span", { class: "tag" }, view.label)] : [])), make("span", { class: "kind" }, view.kind)), facts(view.head), ...stoppage(view.head)));
    if (total > pools.length) cards.push(make("p", { class: "more" }, `${pools.length} of ${total} pools; /v1/pools?start=${pools.length} lists the others`));
    this.boards.replaceChildren(...cards);
  }
}

function navigate(list) {
  const links = list.pools.slice(0, 30).map((view) => {
    const link = make("a", { href: `/pools/${encodeURIComponent(view.pool)}` }, view.pool);
    if (view.pool === pool) link.setAttribute("aria-current", "page");
    return make("li", {}, link);
  });
  document.getElementById("pools").replaceChildren(...links);
}

function tell(text, kind) {
  if (state.textContent !== text) state.textContent = text;
  state.className = `state ${kind}`;
}

function grow(since) {
  for (const node of document.querySelectorAll("[data-age]")) node.textContent = ago(Number(node.dataset.age) + since);
}

function failed(error) {
  if (error.status === 404 && !document.querySelector("[data-method]")) {
    main.replaceChildren(make("h1", {}, pool ?? ""), empty("No pool has this name. The first outcome creates it. If this is switched off, create it with PUT /v1/pools/NAME:", "games"));
  }
  tell(error.status === 404 ? "no such pool" : `not updating: ${error.message}`, "bad");
  mark(true);
}

async function run() {
  const list = new Poll("/v1/pools?count=200");
  const page = pool === null ? new ListPage(list) : new PoolPage();
  const folding = new Folding();
  document.title = pool === null ? "Equirank" : `${pool} · Equirank`;
  for (let tick = 0; ; tick += 1) {
    if (document.hidden) await new Promise((resume) => document.addEventListener("visibilitychange", resume, { once: true }));
    try {
      if (tick % 10 === 0 || pool === null) {
        if (await list.next()) navigate(list.value);
      }
      try {
        await page.next();
      } finally {
        if (page.fresh) {
          if (!main.contains(page.boards)) main.replaceChildren(...[page.top, page.boards].filter(Boolean));
          page.draw();
        }
      }
      if (pool !== null && tick % FOLDING_TICKS === 0 && page.poll.value.stale_seconds === undefined) await folding.next();
      tellState(page.poll.value, pool === null ? list.value.trouble : folding.trouble);
    } catch (error) {
      failed(error);
    }
    grow(page.poll.since());
    await new Promise((resume) => setTimeout(resume, SECOND));
  }
}

run();
