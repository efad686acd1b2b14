// The API's description, from which requests can be sent. Swagger UI draws it from the OpenAPI document.
import { ask } from "./api.js";

const VERBS = ["get", "put", "post", "delete", "patch"];
const wait = /** @type {HTMLElement} */ (document.getElementById("wait"));

/** In the order of docs/reference/api.md: by group with health last, then by path. @param {string} a @param {string} b */
function byGroup(a, b) {
  return Number(a === "health") - Number(b === "health") || (a < b ? -1 : Number(a > b));
}

/** @param {any} a @param {any} b */
function byPath(a, b) {
  const [one, other] = [a, b].map((route) => `${route.get("path")} ${route.get("method")}`);
  return one < other ? -1 : Number(one > other);
}

/** The document without its servers, because requests go to this address, and without the HEAD twins of routes. @param {any} api */
function shown(api) {
  const { servers, ...rest } = api;
  for (const verbs of Object.values(rest.paths)) for (const verb of Object.keys(verbs)) if (!VERBS.includes(verb)) delete verbs[verb];
  return rest;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
follow();
dark.addEventListener("change", follow);

try {
  const spec = shown(await ask("/openapi.json"));
  /** @type {any} */ (window).SwaggerUIBundle({ spec, dom_id: "#routes", validatorUrl: null, displayRequestDuration: true, defaultModelsExpandDepth: 0, tagsSorter: byGroup, operationsSorter: byPath });
  wait.remove();
} catch (error) {
  wait.textContent = `The routes cannot be shown: ${/** @type {Error} */ (error).message}`;
}
