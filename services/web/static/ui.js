// Preact with templates instead of JSX, so that browsers run these files as they are. Text in templates is text, never HTML.
import { Component, h, render } from "./vendor/preact.mjs";
import htm from "./vendor/htm.mjs";

export const html = htm.bind(h);
export { Component, render };
