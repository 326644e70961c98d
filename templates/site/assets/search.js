// The search page: reads what is asked from the box in the header and the filters below it, and shows what search-index.js finds,
// each note with the passage that matches. Texts of notes are only ever set as text.
"use strict";

const SHOWN = 10; // notes at first, and each time more are asked for
const PAUSE_MS = 150;
const LONGEST_PASSAGE = 260;
const RUN_UP = 90; // a passage begins with its sentence if that is not further away
const FIELDS = ["q", "kind", "tag", "from", "to"];
const SPOKEN = { earlier: "earlier report" };

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Where the words found stand in a text: start, end, which word was asked for, and how much it says.
function marksIn(text, terms) {
  return [...text.matchAll(SHOWN_WORD)].flatMap(({ 0: word, index }) => {
    if (!IN_PAIRS.test(word)) return terms.has(folded(word)) ? [[index, index + word.length, terms.get(folded(word))]] : [];
    const letters = [...word];
    let place = index;
    return letters.flatMap((letter, i) => {
      const [pair, start] = [letter + (letters[i + 1] || ""), place];
      place += letter.length;
      return terms.has(folded(pair)) ? [[start, start + pair.length, terms.get(folded(pair))]] : [];
    });
  });
}

function marked(text, terms) {
  const parts = [];
  let done = 0;
  for (const [start, end] of marksIn(text, terms)) {
    if (end <= done) continue;
    const from = Math.max(start, done);
    if (from === done && parts.at(-1) instanceof Element) parts.at(-1).append(text.slice(from, end));
    else parts.push(text.slice(done, from), element("mark", {}, text.slice(from, end)));
    done = end;
  }
  return [...parts, text.slice(done)];
}

// The part of a line in which the words found say most: [what it says, its start].
function bestPart(line, terms, phrases) {
  const marks = marksIn(line, terms);
  const bonus = marks.length && phrases.some((phrase) => phrase.test(folded(line))) ? 1000 : 0;
  let best = [0, 0];
  marks.forEach(([start], i) => {
    const words = new Map();
    for (let j = i; j < marks.length && marks[j][1] <= start + LONGEST_PASSAGE; j++) words.set(marks[j][2].word, marks[j][2].rarity);
    const says = bonus + [...words.values()].reduce((sum, rarity) => sum + rarity, 0);
    if (says > best[0]) best = [says, start];
  });
  return best;
}

function passageOf(text, terms, phrases) {
  let [best, found] = [0, ""];
  for (const line of text.split("\n")) {
    const [says, start] = bestPart(line, terms, phrases);
    if (says > best) [best, found] = [says, cut(line, start)];
  }
  return found;
}

// A line from the beginning of a sentence, or some words before `start`, to the end of a word.
function cut(line, start) {
  const before = line.slice(0, start);
  const sentence = Math.max(...[...before.matchAll(/[.!?…]\s+|[。！？।]\s*/gu)].map(({ 0: end, index }) => index + end.length), 0);
  const near = before.length - sentence <= RUN_UP;
  const from = near ? sentence : before.lastIndexOf(" ", start - RUN_UP / 2) + 1 || Math.max(0, start - RUN_UP / 2);
  const to = from + LONGEST_PASSAGE;
  const whole = line.length <= to;
  const end = whole ? line.length : line.lastIndexOf(" ", to) > start ? line.lastIndexOf(" ", to) : to;
  return `${near ? "" : "… "}${line.slice(from, end)}${whole ? "" : " …"}`;
}

// What was found, handed out a few at a time; of notes with the words of a phrase only those that hold the phrase.
class Results {
  constructor(index, question, { best, hidden, terms, guessed }) {
    Object.assign(this, { index, question, best, hidden, terms, guessed, place: 0, shown: 0 });
  }

  get atEnd() {
    return this.place >= this.best.length;
  }

  async next() {
    const found = [];
    while (!this.atEnd && found.length < SHOWN) {
      const some = this.best.slice(this.place, this.place + SHOWN - found.length);
      const notes = await Promise.all(some.map((one) => this.index.notesOf(one)));
      found.push(...notes.flat().filter((note) => this.fits(note)));
      this.place += some.length;
    }
    this.shown += found.length;
    return found;
  }

  fits([, title, , , , text]) {
    const lines = this.question.phrases.length ? [title, ...text.split("\n")].map(folded) : [];
    return this.question.phrases.every((phrase) => lines.some((line) => phrase.test(line)));
  }

  get status() {
    const certain = this.atEnd || !this.question.phrases.length;
    const count = this.question.phrases.length ? this.shown : this.best.length;
    const said = `${certain ? "" : "More than "}${count || "No"} ${count === 1 ? "note" : "notes"} found`;
    const beside = `; ${this.hidden} more under the kinds “${SPOKEN.earlier}” and “worker”`;
    return `${said}${this.guessed && count ? ", with words like these" : ""}${this.hidden && count ? beside : ""}`;
  }

  entry([address, title, kind, date, description, text]) {
    const link = element("a", { className: "internal", href: ROOT + address, dir: "auto" }, ...marked(title, this.terms));
    const passage = passageOf(text, this.terms, this.question.phrases) || description;
    const about = element("p", { className: "facts" }, element("span", {}, SPOKEN[kind] || kind));
    if (date) about.append(element("time", { dateTime: date }, date));
    return element("li", {}, link, ...(passage ? [element("p", { dir: "auto" }, ...marked(passage, this.terms))] : []), about);
  }
}

const place = document.getElementById("search-results");
const summary = document.querySelector(".search-status");
let latest = 0;
let index = null;

async function search(form) {
  const number = ++latest;
  index = index || new Index(await load("meta"));
  const given = Object.fromEntries(new FormData(form));
  const question = questionOf(given.q, index.stop);
  for (const name of FIELDS.slice(1)) if (given[name]) question.filters[name] = given[name];
  if (!given.q.trim() && !Object.keys(question.filters).length) return show(number, null, [], "");
  const results = new Results(index, question, await index.search(question));
  return show(number, results, await results.next(), results.status);
}

function show(number, results, notes, said) {
  if (number !== latest) return;
  const list = element("ol", { className: "results" }, ...notes.map((note) => results.entry(note)));
  place.replaceChildren(...(notes.length ? [list] : []));
  if (results && !results.atEnd) place.append(moreButton(results, list));
  summary.textContent = results && !said.startsWith("No") ? said : said && adviceFor(results, said);
}

function adviceFor({ question }, said) {
  if (!question.words.length && !question.exact.length && question.phrases.length) return `${said}: such common words are not searched for`;
  return question.phrases.length ? `${said} with this phrase; without quotation marks, its words may stand apart` : said;
}

function moreButton(results, list) {
  const button = element("button", { type: "button", className: "more" }, "Show more");
  button.addEventListener("click", async () => {
    const notes = await results.next();
    list.append(...notes.map((note) => results.entry(note)));
    summary.textContent = results.status;
    if (results.atEnd) button.remove();
    if (notes.length) list.children[list.children.length - notes.length].querySelector("a").focus();
  });
  return button;
}

function remember(form) {
  const given = [...new FormData(form)].filter(([, value]) => value);
  try {
    history.replaceState(null, "", given.length ? `?${new URLSearchParams(given)}` : location.pathname);
  } catch {
    // A page in a folder on disk may not change its address.
  }
}

// The arrow keys go from the box through the titles and back.
function walk(event, input) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const stops = [input, ...place.querySelectorAll(".results a")];
  const here = stops.indexOf(document.activeElement);
  const next = here < 0 ? null : stops[here + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

async function offerFilters(form) {
  index = index || new Index(await load("meta"));
  const [kinds, tags] = await Promise.all([index.facet("kind"), index.facet("tag")]);
  const chosen = form.elements.kind.value || new URLSearchParams(location.search).get("kind") || "";
  form.elements.kind.append(...[...kinds.keys()].sort().map((kind) => element("option", { value: kind }, SPOKEN[kind] || kind)));
  form.elements.kind.value = chosen;
  document.getElementById("tags").append(...[...tags.keys()].sort().map((tag) => element("option", { value: tag })));
}

async function begin(form) {
  const input = form.elements.q;
  let timer = 0;
  const now = () => {
    clearTimeout(timer);
    remember(form);
    return search(form);
  };
  const asked = new URLSearchParams(location.search);
  for (const name of FIELDS) if (asked.get(name)) form.elements[name].value = asked.get(name);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    now();
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(form), PAUSE_MS);
  });
  for (const name of FIELDS.slice(1)) form.elements[name].addEventListener("change", now);
  document.addEventListener("keydown", (event) => walk(event, input));
  input.focus();
  await offerFilters(form);
  if (FIELDS.some((name) => form.elements[name].value)) search(form);
}

begin(document.getElementById("search"));
