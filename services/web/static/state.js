// Whether a page is up to date, in words.
import { ago } from "./format.js";
import { html } from "./ui.js";

/**
 * @param {{poll: import("./api.js").Poll | undefined, trouble?: string | null, stopped?: string | null, past?: string, error?: (Error & {status?: number}) | null}} props
 * poll: the page's main request. past: what is shown instead of "live" for a board that does not change any more. trouble: why folding is interrupted. error: of the newest request.
 */
export function State({ poll, trouble, stopped, past, error }) {
  const [kind, text] = told({ poll, trouble, stopped, past, error });
  return html`<p class=${`state ${kind}`} role="status">${text}</p>`;
}

/** @param {any} props @returns {[string, string]} */
function told({ poll, trouble, stopped, past, error }) {
  const value = poll?.value;
  if (error?.status === 404) return ["bad", error.message];
  if (value?.stale_seconds !== undefined && !poll.error) {
    const age = value.stale_seconds + poll.since();
    return ["bad", `The store does not answer, or lost its data. This data was read ${age < 2 ? "a moment ago" : ago(age)}.`];
  }
  const read = value ? `. This was read ${ago((performance.now() - poll.heard) / 1000)}` : "";
  if (error?.starts) return ["", `starting: this page shows the newest numbers as soon as they are there${read}`];
  if (error) return ["bad", `not updating: ${error.message}${read}`];
  if (!value) return ["", "connecting"];
  if (past) return ["past", past];
  if (trouble) return ["bad", trouble];
  if (stopped) return ["bad", "This pool stopped"];
  return ["ok", "live"];
}
