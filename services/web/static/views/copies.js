// Agents and tasks that are copies of each other, and names that look alike.
import { leftOut, whole } from "../format.js";
import { ignoresCopies, title } from "../methods.js";
import { Agent, Figure } from "../parts.js";
import { html } from "../ui.js";

const GROUPS = 20;

/** @param {any} props */
export default function Copies({ pool, insight, boards, link: address }) {
  const found = insight?.findings;
  if (!found) return html`<p class="soft" role="status">${insight?.error ?? "The findings are being computed."}</p>`;
  const { clones, look_alikes: alike } = found;
  const link = (/** @type {string} */ agent) => html`<${Agent} kind="chip" pool=${pool} agent=${agent} answer=${insight} />`;
  const proof = boards.map((/** @type {any} */ board) => board.method).filter(ignoresCopies).map(title);
  const about = `Ratings that average over opponents change when copies join. ${proof.length ? `${proof.join(" and ")} ${proof.length === 1 ? "does" : "do"} not.` : ""}`;
  const near = apart(clones);
  const none = !clones.not_applicable && !clones.exact_total && !clones.tasks_total && !clones.near_total;
  const table = [["kind", "group", "name"], ...rowsOf("equal agents", clones.exact ?? []), ...rowsOf("equal tasks", clones.tasks ?? []), ...rowsOf("near copies", near.map((/** @type {any} */ pair) => pair.agents)), ...rowsOf("names that look alike", (alike?.groups ?? []).map((/** @type {any[]} */ group) => group.map((one) => one.agent)))];
  return html`<${Figure} title="Copies" says=${html`${about} <a href="/copies">The story of copies</a>. ${leftOut(insight.hidden_agents)}`} file=${`${pool}-copies`} table=${table} link=${address} drawn=${false}>
      ${clones.not_applicable ? html`<p>Not applicable: ${clones.not_applicable}</p>` : null}
      ${none ? html`<p>None: no two agents have equal results against all others${clones.radius ? `, or results within ${clones.radius} of that. Weakly connected agents are not compared` : ""}.</p>` : null}
      ${groups("Agents with equal results", clones.exact, clones.exact_total, link)}
      ${groups("Tasks with equal scores", clones.tasks, clones.tasks_total, (task) => html`<span class="chip"><bdi>${task}</bdi></span>`)}
      ${near.length ? html`<h3>Near copies</h3><ul class="plain">${near.slice(0, GROUPS).map((/** @type {any} */ pair) => html`<li key=${pair.agents.join()}>${pair.agents.map(link)} <span class="soft">mean results differ by at most ${pair.distance.toPrecision(2)}</span></li>`)}</ul>` : null}
      ${clones.near_not_applicable ? html`<p class="soft">Near copies: ${clones.near_not_applicable}</p>` : null}<//>
    <section class="card"><h2>Names that look alike</h2>${alike?.groups?.length ? html`<ul class="plain">${alike.groups.map((/** @type {any[]} */ group, /** @type {number} */ i) => html`<li key=${i}>${group.map((one) => html`${link(one.agent)} <span class="soft">activity ${whole(one.activity)}, ${one.characters.join(", ") || "plain ASCII"}</span> `)}</li>`)}</ul>` : html`<p>${alike?.not_applicable ?? "None: no two names look alike but differ."}</p>`}</section>`;
}

/** Rows of the CSV. @param {string} kind @param {string[][]} groups */
function rowsOf(kind, groups) {
  return groups.flatMap((group, i) => group.map((name) => [kind, i + 1, name]));
}

/** @param {string} name @param {string[][]} found @param {number} total @param {(name: string) => any} show */
function groups(name, found, total, show) {
  if (!total) return null;
  return html`<h3>${name}</h3><ul class="plain">${found.slice(0, GROUPS).map((group, i) => html`<li key=${i}>${group.slice(0, 40).map(show)}${group.length > 40 ? html`<span class="soft"> and ${whole(group.length - 40)} more</span>` : null}</li>`)}</ul>
    ${total > Math.min(GROUPS, found.length) ? html`<p class="soft">and ${whole(total - Math.min(GROUPS, found.length))} more groups</p>` : null}`;
}

/** Near copies that are not exact ones. @param {any} clones @returns {any[]} */
export function apart(clones) {
  const group = new Map((clones.exact ?? []).flatMap((/** @type {string[]} */ agents, /** @type {number} */ i) => agents.map((agent) => [agent, i])));
  return (clones.near ?? []).filter((/** @type {any} */ pair) => !group.has(pair.agents[0]) || group.get(pair.agents[0]) !== group.get(pair.agents[1]));
}
