// Whether a page is up to date, in words.
import { ago } from "./format.js";
import { html } from "./ui.js";

/**
 * @param {{polled: any, since: number, trouble?: string | null, stopped?: string | null, error?: (Error & {status?: number}) | null}} props
 * polled: newest answer. trouble: why folding is interrupted. error: of the newest request.
 */
export function State({ polled, since, trouble, stopped, error }) {
  const [kind, text] = told({ polled, since, trouble, stopped, error });
  return html`<p class=${`state ${kind}`} role="status">${text}</p>`;
}

/** @param {any} props @returns {[string, string]} */
function told({ polled, since, trouble, stopped, error }) {
  if (error?.status === 404) return ["bad", error.message];
  if (error) return ["bad", `not updating: ${error.message}${polled ? `. This was read ${ago(since)}` : ""}`];
  if (!polled) return ["", "connecting"];
  if (polled.stale_seconds !== undefined) {
    const age = polled.stale_seconds + since;
    return ["bad", `The store does not answer, or lost its data. This data was read ${age < 2 ? "a moment ago" : ago(age)}.`];
  }
  if (trouble) return ["bad", trouble];
  if (stopped) return ["bad", "This pool stopped"];
  return ["ok", "live"];
}
