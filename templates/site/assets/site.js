// What makes reading easier where scripts run; every page reads without it.
// Texts of other pages are only ever set as text, never as HTML.
"use strict";

const WAIT_MS = 250;

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

function element(name, className, text) {
  return Object.assign(document.createElement(name), { className, textContent: text });
}

// The card of a citation is made from the quotes at the end of the same page: source, place and date, the quote in its context.
function quoteCard(link) {
  const quote = link.hash && document.getElementById(decodeURIComponent(link.hash.slice(1)));
  const source = quote && quote.closest(".citations details");
  if (!source) return null;
  const place = source.querySelector(".place");
  const parts = [element("strong", "", source.querySelector(".source").textContent)];
  if (place) parts.push(element("p", "place", place.textContent));
  const shown = [...quote.cloneNode(true).childNodes];
  shown.forEach((part) => part.querySelectorAll && part.querySelectorAll(".back").forEach((back) => back.remove()));
  return [...parts, ...shown];
}

class Preview {
  constructor() {
    this.box = document.createElement("div");
    Object.assign(this.box, { className: "preview", id: "preview", hidden: true });
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

  show(link) {
    this.hide();
    const parts = quoteCard(link);
    if (!parts) return;
    this.link = link;
    this.fill(parts, "tooltip");
    link.setAttribute("aria-describedby", "preview");
    this.place(link.getBoundingClientRect());
  }

  fill(parts, role) {
    this.box.replaceChildren(...parts);
    this.box.setAttribute("role", role);
    this.box.classList.toggle("sheet", role === "dialog");
    this.box.hidden = false;
  }

  // On a phone the card rises from the lower edge and stays until it is closed.
  open(link, parts) {
    this.hide();
    this.link = link;
    const close = Object.assign(element("button", "", "Close"), { type: "button" });
    close.addEventListener("click", () => this.close());
    const all = Object.assign(element("a", "", "All quotes"), { href: link.hash });
    all.addEventListener("click", () => this.hide());
    const foot = element("p", "foot", "");
    foot.append(all, close);
    this.fill([...parts, foot], "dialog");
    this.box.setAttribute("aria-label", "The quote");
    this.box.style.left = this.box.style.top = "";
    close.focus({ preventScroll: true });
  }

  close() {
    const link = this.link;
    this.hide();
    if (link) link.focus({ preventScroll: true });
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
    this.box.removeAttribute("aria-label");
    this.link = null;
  }
}

function offerPreviews(preview) {
  const linkAt = (event) => event.target.closest && event.target.closest("main .cite a");
  const begin = (event) => {
    const link = linkAt(event);
    if (link) preview.plan(link);
    else if (preview.box.contains(event.target)) clearTimeout(preview.timer);
  };
  document.addEventListener("mouseover", begin);
  document.addEventListener("mouseout", (event) => { if (linkAt(event) || preview.box.contains(event.target)) preview.leave(); });
  document.addEventListener("focusin", (event) => { if (event.target.matches(":focus-visible")) begin(event); });
  document.addEventListener("focusout", () => preview.leave());
}

function offerSheets(preview) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("main .cite a");
    const parts = link && quoteCard(link);
    if (parts) {
      event.preventDefault();
      preview.open(link, parts);
    } else if (!preview.box.contains(event.target)) {
      preview.hide();
    }
  });
}

function offerCards() {
  const preview = new Preview();
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") preview.close(); });
  if (matchMedia("(hover: hover)").matches) offerPreviews(preview);
  else offerSheets(preview);
}

document.querySelectorAll(".filter").forEach(filterList);
document.querySelectorAll(".toc").forEach(followContents);
addEventListener("hashchange", openTarget);
addEventListener("keydown", goToSearch);
openTarget();
offerCards();
