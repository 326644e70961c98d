// What a page gets where the site is served: it says which state of the site it shows, so that it is told of one that was made while
// it was loading. Its boxes below passages can be ticked: a tick is recorded as what a person said, and the page comes again.
const state = new URL(document.currentScript.src).search;
new EventSource(`/-/events${state}`).addEventListener("made", () => location.reload());
addEventListener("DOMContentLoaded", () => {
  let block = "";
  for (const one of document.querySelectorAll("article[data-note] a, article[data-note] li.task > input")) {
    const quote = /(?:%5E|quote-|\^)(q-[\w-]+)/.exec(one.getAttribute("href") ?? "");
    const words = /^\s*(useful|wrong)/.exec(one.parentElement.textContent);
    if (quote) block = quote[1];
    if (one.tagName !== "INPUT" || !words || !block) continue;
    const about = { note: one.closest("article").dataset.note, block };
    one.disabled = false;
    one.ariaLabel = words[1];
    one.addEventListener("change", () => fetch("/-/rate", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...about, rating: one.checked ? words[1] : "" }),
    }));
  }
});
