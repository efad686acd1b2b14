// Which games to play next, so that the ratings become certain soonest.
import { Live, poolUrl } from "../api.js";
import { leftOut, percent, whole } from "../format.js";
import { Agent, Figure } from "../parts.js";
import { html } from "../ui.js";

/** @extends Live */
export default class Next extends Live {
  feeds() {
    return { plan: /** @type {[string, number]} */ ([poolUrl(this.props.pool, "/next", { count: 20 }), 15]) };
  }

  render() {
    const { pool, link } = this.props;
    const plan = this.value("plan");
    const error = this.failure();
    if (!plan) return html`<p class="soft" role="status">${error ? error.message : "Loading"}</p>`;
    if (plan.not_applicable) return html`<p class="soft">Not applicable: ${plan.not_applicable}</p>`;
    const most = Math.max(...plan.matches.map((/** @type {any} */ one) => one.rate), 1e-9);
    const table = [["first", "second", "rate"], ...plan.matches.map((/** @type {any} */ one) => [...one.agents, one.rate])];
    const saved = plan.uniform && plan.after ? ` ${plan.games} games drawn like this leave ${percent(plan.after / plan.before)} of the uncertainty; drawn evenly they leave ${percent(plan.uniform / plan.before)}.` : "";
    return html`<${Figure} title="Next games" says=${`Games drawn at these rates make the ratings certain soonest.${saved}`} file=${`${pool}-next-games`} table=${table} link=${link}>
      <table><caption class="hidden">Pairs to play next</caption><thead><tr><th scope="col">Pair</th><th scope="col" class="number">Share</th><th scope="col" class="wide">Share as a bar</th></tr></thead>
      <tbody>${plan.matches.map((/** @type {any} */ one) => html`<tr key=${one.agents.join()}><th scope="row">${one.agents.map((/** @type {string} */ agent, /** @type {number} */ i) => html`${i ? " against " : ""}<${Agent} pool=${pool} agent=${agent} answer=${plan} />`)}</th>
        <td class="number">${percent(one.rate)}</td><td class="wide"><span class="push up-push" style=${{ width: `${(100 * one.rate) / most}%` }}></span></td></tr>`)}</tbody></table>
      ${plan.others ? html`<p class="soft">${whole(plan.others)} other pairs share ${percent(plan.other_rate)} each. Assumes ${plan.assumes}. ${leftOut(plan.hidden_agents)}</p>` : null}<//>`;
  }
}
