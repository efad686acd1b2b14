// The pages of Equirank. The path names the page, the query what of it is shown. Text is set as text, never as HTML.
import { query } from "./nav.js";
import { Component, html, render } from "./ui.js";

const PAGES = {
  home: () => import("./pages/home.js"),
  pool: () => import("./pages/pool.js"),
  agent: () => import("./pages/agent.js"),
  copies: () => import("./pages/copies.js"),
  missing: () => import("./pages/missing.js"),
  operations: () => import("./pages/operations.js"),
};

/** @returns {{page: keyof typeof PAGES, props: Record<string, string>, name: string}} What the path asks for. */
function route() {
  const parts = location.pathname.split("/").slice(1).map(decodeURIComponent);
  const [first, pool = "", agents, agent = ""] = parts;
  if (first === "pools" && agents === "agents") return { page: "agent", props: { pool, agent }, name: `${agent} · ${pool}` };
  if (first === "pools") return { page: "pool", props: { pool }, name: pool };
  if (first === "copies") return { page: "copies", props: {}, name: "Cycles and copies" };
  if (first === "operations") return { page: "operations", props: {}, name: "Operations" };
  if (first) return { page: "missing", props: {}, name: "No such page" };
  return { page: "home", props: {}, name: "" };
}

class App extends Component {
  /** @param {any} props */
  constructor(props) {
    super(props);
    this.asked = route();
    /** @type {any} */
    this.state = { query: query(), Page: null, error: "" };
    addEventListener("popstate", () => this.setState({ query: query() }));
    document.title = this.asked.name ? `${this.asked.name} · Equirank` : "Equirank";
    PAGES[this.asked.page]().then((module) => this.setState({ Page: module.default }), (error) => this.setState({ error: String(error) }));
  }

  render() {
    const { Page, query: chosen, error } = this.state;
    if (error) return html`<p class="trouble">This page cannot be shown: ${error}. Load it again.</p>`;
    return Page ? html`<${Page} ...${this.asked.props} query=${chosen} />` : html`<p class="soft">Loading</p>`;
  }
}

if (query().embed === "1") {
  document.documentElement.classList.add("embed");
  document.head.append(Object.assign(document.createElement("base"), { target: "_blank" })); // other pages refuse frames; `follow` stays in this one
}
for (const link of document.querySelectorAll("body > header nav a")) {
  if (link.getAttribute("href") === location.pathname) link.setAttribute("aria-current", "page");
}
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
main.replaceChildren();
render(html`<${App} />`, main);
