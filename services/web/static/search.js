// Search of a pool's agents by a part of their names.
import { ask, poolUrl } from "./api.js";
import { nameOf, shower, whole } from "./format.js";
import { title } from "./methods.js";
import { Name } from "./parts.js";
import { Component, html } from "./ui.js";

const DELAY = 200; // milliseconds without a key until a name is searched

/** method, slice: of ratings and ranks; by default those of the first online method. @extends Component<{pool: string, method?: string, slice?: string, then?: (agent: string) => void}> */
export class AgentSearch extends Component {
  /** @param {any} props */
  constructor(props) {
    super(props);
    /** @type {any} */
    this.state = { text: "", found: null, error: "" };
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
  }

  /** @param {string} text */
  type(text) {
    this.setState({ text });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.find(text), DELAY);
  }

  /** @param {string} text */
  async find(text) {
    if (!text.trim()) return this.setState({ found: null, error: "" });
    const { pool, method, slice } = this.props;
    try {
      const found = await ask(poolUrl(pool, "/agents", { query: text.trim(), count: 8, method, slice }));
      if (this.state.text === text) this.setState({ found, error: "" });
    } catch (error) {
      this.setState({ found: null, error: String(/** @type {Error} */ (error).message) });
    }
    return undefined;
  }

  render() {
    const { found, text, error } = this.state;
    return html`<form class="search" role="search" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), this.find(text))}>
      <label>Find an agent <input type="search" value=${text} onInput=${(/** @type {any} */ event) => this.type(event.target.value)} autocomplete="off" spellcheck=${false} /></label>
      <div aria-live="polite">${error ? html`<p class="trouble">${error}</p>` : null}${found ? this.results(found) : null}</div></form>`;
  }

  /** @param {any} found */
  results(found) {
    const { pool, then } = this.props;
    if (!found.agents.length && !found.suggestions.length) return html`<p class="soft">No agent has this in its name.</p>`;
    const shown = shower(found.agents.map((/** @type {any} */ row) => row.rating));
    const pick = (/** @type {any} */ row) => (then ? html`<button type="button" class="link" onClick=${() => then(row.agent)}><bdi>${nameOf(row)}</bdi></button>` : html`<${Name} pool=${pool} row=${row} />`);
    const rows = found.agents.length ? found.agents : found.suggestions.map((/** @type {string} */ agent) => ({ agent }));
    return html`${found.agents.length ? null : html`<p class="soft">Nothing has this name. Do you mean:</p>`}<ul class="results">${rows.map((/** @type {any} */ row) => html`<li key=${row.agent}>${pick(row)}
      ${row.rank ? html`<span class="soft"> no. ${whole(row.rank)} by ${title(found.method)}, ${shown(row.rating)}</span>` : null}</li>`)}</ul>`;
  }
}
