// The page of an address that does not exist.
import { html } from "../ui.js";

export default function Missing() {
  return html`<h1>No such page</h1><p>Nothing has the address <b><bdi>${location.pathname}</bdi></b>. <a href="/">All pools</a></p>`;
}
