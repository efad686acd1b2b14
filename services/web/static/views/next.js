// Which games to play next, so that what the reader wants to know becomes certain soonest.
import { Live, poolUrl } from "../api.js";
import { count, leftOut, nameOf, percent, whole } from "../format.js";
import { go, withQuery } from "../nav.js";
import { Agent, Figure } from "../parts.js";
import { AgentSearch } from "../search.js";
import { TablePicture } from "../picture.js";
import { html } from "../ui.js";

const TARGETS = { all: "all ratings", top: "who is at the top", agent: "the rating of one agent" };
const LITTLE = 0.005; // a smaller part of the uncertainty does not matter
const FIRST = 3; // agents of the top that is shown first

/** @extends Live */
export default class Next extends Live {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { asksAgent: false };
  }

  feeds() {
    const { pool, query, scope } = this.props;
    return { plan: /** @type {[string, number]} */ ([poolUrl(pool, "/next", { count: 20, target: query.target, slice: scope.slice }), 15]) };
  }

  /** The target of the address. @returns {{kind: string, whom: string}} */
  target() {
    const [kind, ...rest] = (this.props.query.target || "all").split(":");
    return { kind, whom: rest.join(":") };
  }

  render() {
    const { pool, link, query } = this.props;
    const plan = this.value("plan");
    const error = this.failure();
    const address = query.target ? `${link}&target=${encodeURIComponent(query.target)}` : link;
    const matches = plan?.matches ?? [];
    const table = [["first", "second", "rate"], ...matches.map((/** @type {any} */ one) => [...one.agents, one.rate])];
    return html`<${Figure} title="Next games" says=${html`${plan && !plan.not_applicable ? this.says(plan) : null}${this.choice()}`} file=${`${pool}-next-games`} table=${matches.length ? table : undefined} link=${address} drawn=${false}>
      ${!plan || error ? html`<p class=${error ? "trouble" : "soft"} role="status">${error ? error.message : "Loading"}</p>` : null}
      ${plan?.not_applicable ? html`<p class="soft">Not applicable: ${plan.not_applicable}</p>` : plan && !error ? this.games(plan) : null}<//>`;
  }

  /** What the games are for, and what they are worth. @param {any} plan */
  says(plan) {
    const { kind, whom } = this.target();
    const named = html`<bdi>${nameOf(whom, plan)}</bdi>`;
    const aim = kind === "top" ? html`settle soonest who is among the first ${whom}` : kind === "agent" ? html`make the rating of ${named} certain soonest` : "make the ratings certain soonest";
    const [chosen, even] = [plan.after / plan.before, plan.uniform / plan.before];
    if (plan.uniform && plan.after && even - chosen < LITTLE) return html`<b>It hardly matters which games are played next:</b> ${whole(plan.games)} games leave ${percent(chosen)} of the uncertainty if they are drawn like this, and ${percent(even)} if they are drawn evenly. Games drawn at these rates ${aim}.`;
    const saved = plan.uniform && plan.after ? `${whole(plan.games)} games drawn like this leave ${percent(chosen)} of the uncertainty; drawn evenly they leave ${percent(even)}.` : "";
    return html`Games drawn at these rates ${aim}. ${saved}`;
  }

  /** What the games make certain, in a few words. @param {any} plan */
  aim(plan) {
    const { kind, whom } = this.target();
    return `To make certain: ${kind === "top" ? `the first ${whom}` : kind === "agent" ? `the rating of ${nameOf(whom, plan)}` : TARGETS.all}`;
  }

  /** What is to become certain: a part of the address, so that a link has it. */
  choice() {
    const { kind, whom } = this.target();
    const chosen = this.state.asksAgent ? "agent" : kind;
    const aim = (/** @type {string} */ target) => {
      this.setState({ asksAgent: false });
      go(withQuery({ target }));
    };
    const pick = (/** @type {any} */ event) => (event.target.value === "agent" ? this.setState({ asksAgent: true }) : aim(event.target.value === "top" ? `top:${FIRST}` : ""));
    return html`<span class="target"><label class="pick">Make certain <select value=${chosen} onChange=${pick}>${Object.entries(TARGETS).map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}</select></label>
      ${chosen === "top" ? html` <label class="pick">First <input type="number" min="1" value=${whom} onChange=${(/** @type {any} */ event) => event.target.value && aim(`top:${event.target.value}`)} /></label>` : null}</span>
      ${chosen === "agent" ? html`<${AgentSearch} pool=${this.props.pool} method=${this.props.main.method} slice=${this.props.scope.slice} then=${(/** @type {string} */ agent) => aim(`agent:${agent}`)} />` : null}`;
  }

  /** @param {any} plan */
  games(plan) {
    const most = Math.max(...plan.matches.map((/** @type {any} */ one) => one.rate), 1e-9);
    const rows = plan.matches.map((/** @type {any} */ one, /** @type {number} */ i) => ({ place: String(i + 1), name: one.agents.map((/** @type {string} */ agent) => nameOf(agent, plan)).join(" against "), value: percent(one.rate), bar: [0, one.rate / most], mark: null }));
    return html`<table><caption class="hidden">Pairs to play next</caption><thead><tr><th scope="col">Pair</th><th scope="col" class="number">Share</th><th scope="col" class="wide">Share as a bar</th></tr></thead>
      <tbody>${plan.matches.map((/** @type {any} */ one) => html`<tr key=${one.agents.join()}><th scope="row">${one.agents.map((/** @type {string} */ agent, /** @type {number} */ i) => html`${i ? " against " : ""}<${Agent} pool=${this.props.pool} agent=${agent} answer=${plan} />`)}</th>
        <td class="number">${percent(one.rate)}</td><td class="wide"><span class="push up-push" style=${{ width: `${(100 * one.rate) / most}%` }}></span></td></tr>`)}</tbody></table>
      <p class="soft">${plan.others ? `The mean share of the ${count(plan.others, "other pair")} is ${percent(plan.other_rate)}. ` : ""}Assumes ${plan.assumes}. ${leftOut(plan.hidden_agents)}</p>
      <details class="more"><summary>Picture</summary><${TablePicture} name=${`${this.props.pool}: next games`} under=${this.aim(plan)} file=${`${this.props.pool}-next-games`} rows=${rows} /></details>`;
  }
}
