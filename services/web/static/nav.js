// The address is the state of a page: every choice is in the query, so each view has a link that can be sent to others.

/** @returns {Record<string, string>} The query of the address. */
export function query() {
  return Object.fromEntries(new URLSearchParams(location.search));
}

/** The address with some values of the query changed; empty values are removed. @param {Record<string, any>} changes @returns {string} */
export function withQuery(changes) {
  const given = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === null || value === "") given.delete(name);
    else given.set(name, String(value));
  }
  const text = given.toString();
  return location.pathname + (text ? `?${text}` : "");
}

/** Follows a link to the same page without loading it again. @param {MouseEvent} event */
export function follow(event) {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  go(/** @type {HTMLAnchorElement} */ (event.currentTarget).href);
}

/** @param {string} address */
export function go(address) {
  history.pushState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}
