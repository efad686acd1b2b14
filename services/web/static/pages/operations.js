import { html } from "../ui.js";
export default function Copies() { return html`<h1>Cycles and copies</h1>`; }
