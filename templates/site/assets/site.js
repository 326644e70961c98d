// What makes reading easier where scripts run; every page reads without it.
// Texts of other pages are only ever set as text, never as HTML.
"use strict";

const WAIT_MS = 250;
const LONGEST = 320;

function filterList(filter) {
  const entries = [...document.querySelectorAll(".entries > li")];
  const output = filter.querySelector("output");
  const words = entries.map((entry) => entry.textContent.toLowerCase());
  const apply = (input) => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    entries.forEach((entry, i) => { entry.hidden = !wanted.every((word) => words[i].includes(word)); });
    const shown = entries.filter((entry) => !entry.hidden).length;
    output.textContent = wanted.length ? `${shown} of ${entries.length} on this page` : "";
  };
  filter.hidden = false;
  filter.addEventListener("input", (event) => apply(event.target));
}

function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const details = target && target.closest("details:not([open])");
  if (details) {
    details.open = true;
    target.scrollIntoView();
  }
}

function followContents(toc) {
  const links = new Map([...toc.querySelectorAll("a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  const headings = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  const mark = () => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
    const here = passed.length && links.get(passed[passed.length - 1].id);
    links.forEach((link) => link.classList.toggle("here", link === here));
  };
  const watch = new IntersectionObserver(mark, { rootMargin: "0px 0px -66% 0px" });
  headings.forEach((heading) => watch.observe(heading));
}

// The key "/" goes to the search, as on many sites; in a field it is a letter.
function goToSearch(event) {
  const box = document.querySelector(".site-search input");
  const writes = event.target.closest && event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || writes || !box) return;
  event.preventDefault();
  box.focus();
  box.select();
}

const pages = new Map();

function pageAt(address) {
  const url = address.split("#")[0];
  if (!pages.has(url)) {
    const load = fetch(url).then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(String(answer.status)))));
    pages.set(url, load.then((text) => new DOMParser().parseFromString(text, "text/html")));
  }
  return pages.get(url);
}

function short(text) {
  const line = (text || "").replace(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

// Links inside a drawing know their address only as it is written.
function addressOf(link) {
  return new URL(link.getAttribute("href"), document.baseURI);
}

async function previewOf(link) {
  const to = addressOf(link);
  const here = to.pathname === location.pathname;
  const page = here ? document : await pageAt(to.href);
  const place = to.hash && page.getElementById(decodeURIComponent(to.hash.slice(1)));
  const title = page.querySelector("h1");
  const about = page.querySelector('meta[name="description"]');
  const text = place && !/^H\d$/.test(place.tagName) ? place.textContent : about && about.content;
  return { title: here ? "" : short(title && title.textContent), text: short(text) };
}

class Preview {
  constructor() {
    this.box = document.createElement("div");
    Object.assign(this.box, { className: "preview", id: "preview", hidden: true });
    this.box.setAttribute("role", "tooltip");
    document.body.append(this.box);
    this.link = null;
    this.timer = 0;
  }

  plan(link) {
    clearTimeout(this.timer);
    if (link !== this.link) this.timer = setTimeout(() => this.show(link), WAIT_MS);
  }

  leave() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.hide(), WAIT_MS);
  }

  async show(link) {
    this.hide();
    this.link = link;
    const found = await previewOf(link).catch(() => null);
    if (this.link !== link || !found || !found.text) return;
    const parts = [];
    if (found.title) parts.push(Object.assign(document.createElement("strong"), { textContent: found.title }));
    parts.push(Object.assign(document.createElement("p"), { textContent: found.text }));
    this.box.replaceChildren(...parts);
    this.box.hidden = false;
    link.setAttribute("aria-describedby", "preview");
    this.place(link.getBoundingClientRect());
  }

  // Positions set through the object model are allowed by the pages' policy; a style attribute is not.
  place(at) {
    const left = Math.max(16, Math.min(at.left, document.documentElement.clientWidth - this.box.offsetWidth - 16));
    const below = at.bottom + this.box.offsetHeight + 16 < innerHeight;
    this.box.style.left = `${scrollX + left}px`;
    this.box.style.top = `${scrollY + (below ? at.bottom + 6 : at.top - this.box.offsetHeight - 6)}px`;
  }

  hide() {
    clearTimeout(this.timer);
    if (this.link) this.link.removeAttribute("aria-describedby");
    this.box.hidden = true;
    this.link = null;
  }
}

function offerPreviews() {
  const preview = new Preview();
  const linkAt = (event) => event.target.closest && event.target.closest("main a.internal, main .cite a, .around a.internal, svg a");
  const begin = (event) => {
    const link = linkAt(event);
    if (link && link.hasAttribute("href")) preview.plan(link);
    else if (preview.box.contains(event.target)) clearTimeout(preview.timer);
  };
  document.addEventListener("mouseover", begin);
  document.addEventListener("mouseout", (event) => { if (linkAt(event) || preview.box.contains(event.target)) preview.leave(); });
  document.addEventListener("focusin", (event) => { if (event.target.matches(":focus-visible")) begin(event); });
  document.addEventListener("focusout", () => preview.leave());
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") preview.hide(); });
}

document.querySelectorAll(".filter").forEach(filterList);
document.querySelectorAll(".toc").forEach(followContents);
addEventListener("hashchange", openTarget);
addEventListener("keydown", goToSearch);
openTarget();
if (location.protocol !== "file:" && matchMedia("(hover: hover)").matches) offerPreviews();
