// The search page. The index comes in small scripts, loaded by the first letters of the words asked for, so that it works from a
// folder on disk as well. Texts of notes are only ever set as text.
"use strict";

const SHOWN = 40;
const WEIGHED = 120; // notes whose kind is looked at
const KINDS = { report: 2, topic: 1.4, source: 1.2, note: 1.6, worker: 0.6 };
const PREFIXED = 40; // words that the last, unfinished word may stand for
const PAUSE_MS = 150;
const ID_LENGTH = 7;
const ROOT = document.body.dataset.root;
const arrived = new Map();

// Called by the files of the index.
function researchIndex(name, held) {
  arrived.set(name, held);
}

const loading = new Map();

function load(name) {
  if (!loading.has(name)) {
    loading.set(name, new Promise((resolve) => {
      const script = Object.assign(document.createElement("script"), { src: `${ROOT}search/${name}.js` });
      script.onload = () => resolve(arrived.get(name) || {});
      script.onerror = () => resolve({}); // no word begins like that
      document.head.append(script);
    }));
  }
  return loading.get(name);
}

function wordsOf(text, stop) {
  const words = text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
  const parts = words.flatMap((word) => {
    if (word < "\u2e80") return [word];
    const letters = [...word];
    return letters.length < 2 ? [word] : letters.slice(1).map((letter, i) => letters[i] + letter);
  });
  const telling = parts.filter((word) => !stop.includes(word));
  return [...new Set(telling.length ? telling : parts)];
}

function fileOf(word) {
  const first = [...word].slice(0, 2).join("");
  return /^[\x00-\x7f]{2}$/.test(first) ? `w-${first}` : `w-u${word.codePointAt(0).toString(16)}`;
}

// The notes that hold a word, or one that begins with it when `open`: id to weight. A rare word weighs more.
async function holders(word, open, notes) {
  if (word.length < 2 && word < "\u2e80") return new Map();
  const held = await load(fileOf(word));
  const longer = open ? Object.keys(held).filter((term) => term.startsWith(word)).slice(0, PREFIXED) : [];
  const found = new Map();
  for (const term of new Set([word, ...longer])) {
    const codes = (Object.hasOwn(held, term) ? held[term] : "").match(/.{8}/g) || [];
    const rarity = Math.log(1 + notes / (codes.length || 1));
    for (const code of codes) {
      const id = code.slice(0, ID_LENGTH);
      const weight = rarity * parseInt(code.slice(ID_LENGTH), 36) * (term === word ? 1 : 0.6);
      found.set(id, Math.max(weight, found.get(id) || 0));
    }
  }
  return found;
}

// Notes with all words come first, then those with most of them; a report before the work that led to it.
async function ranked(words, open, notes) {
  const all = await Promise.all(words.map((word, i) => holders(word, open && i === words.length - 1, notes)));
  const scores = new Map();
  for (const found of all) {
    for (const [id, weight] of found) {
      const [count, score] = scores.get(id) || [0, 0];
      scores.set(id, [count + 1, score + weight]);
    }
  }
  const best = [...scores].map(([id, [count, score]]) => ({ id, count, score }));
  best.sort((a, b) => b.count - a.count || b.score - a.score || (a.id < b.id ? -1 : 1));
  return best;
}

async function notesOf(best) {
  const held = await Promise.all(best.map(({ id }) => load(`n-${(parseInt(id.slice(0, 2), 32) >> 2).toString(16).padStart(2, "0")}`)));
  const found = best.flatMap(({ id, count, score }, i) => (held[i][id] || []).map((note) => ({ note, count, score: score * (KINDS[note[2]] || 1) })));
  return found.sort((a, b) => b.count - a.count || b.score - a.score).slice(0, SHOWN).map(({ note }) => note);
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function marked(text, words) {
  const plain = words.map((word) => word.replace(/[^\p{L}\p{N}]/gu, "")).filter(Boolean);
  if (!plain.length) return [text];
  const parts = text.split(new RegExp(`(${plain.join("|")})`, "giu"));
  return parts.map((part, i) => (i % 2 ? element("mark", {}, part) : part));
}

function entry([address, title, kind, date, description], words) {
  const link = element("a", { className: "internal", href: ROOT + address }, ...marked(title, words));
  const about = element("p", { className: "facts" }, element("span", {}, kind));
  if (date) about.append(element("time", { dateTime: date }, date));
  return element("li", {}, link, ...(description ? [element("p", {}, ...marked(description, words))] : []), about);
}

let latest = 0;

async function search(text, open) {
  const number = ++latest;
  const status = document.querySelector(".search-status");
  const { notes = 1, stop = [] } = await load("meta");
  const words = wordsOf(text, stop);
  const best = await ranked(words, open, notes);
  const found = await notesOf(best.slice(0, WEIGHED));
  if (number !== latest) return;
  const list = element("ol", { className: "results" }, ...found.map((note) => entry(note, words)));
  document.getElementById("search-results").replaceChildren(...(found.length ? [list] : []));
  const more = best.length > SHOWN ? `, of which the best ${SHOWN} are shown` : "";
  status.textContent = words.length ? `${best.length || "No"} ${best.length === 1 ? "note" : "notes"} found${more}` : "";
}

function remember(text) {
  try {
    history.replaceState(null, "", text ? `?q=${encodeURIComponent(text)}` : location.pathname);
  } catch {
    // A page in a folder on disk may not change its address.
  }
}

function begin(form) {
  const input = form.elements.q;
  let timer = 0;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    remember(input.value);
    search(input.value, false);
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(input.value, true), PAUSE_MS);
  });
  input.value = new URLSearchParams(location.search).get("q") || "";
  if (input.value) search(input.value, false);
  input.focus();
}

begin(document.getElementById("search"));
