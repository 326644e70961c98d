// The search page. The index comes in small scripts, loaded by the first letters of the words asked for, so that it works from a
// folder on disk as well. It has segments, each with its own such scripts. Texts of notes are only ever set as text.
"use strict";

const SHOWN = 40;
const WEIGHED = 120; // notes whose kind is considered
const KINDS = { report: 2, topic: 1.4, source: 1.2, note: 1.6, worker: 0.6 };
const PREFIXED = 40; // words that the last, unfinished word may match
const PAUSE_MS = 150;
const ID_LENGTH = 7;
const CODE_LENGTH = ID_LENGTH + 1; // with the weight
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
  const content = parts.filter((word) => !stop.includes(word));
  return [...new Set(content.length ? content : parts)];
}

function fileOf(word) {
  const first = [...word].slice(0, 2).join("");
  return /^[\x00-\x7f]{2}$/.test(first) ? `w-${first}` : `w-u${word.codePointAt(0).toString(16)}`;
}

// The words that `word` may match, each with its notes: codes by the folders of the segments that have some.
async function spellings(word, open, segments) {
  const found = new Map();
  if (word.length < 2 && word < "\u2e80") return found;
  const held = await Promise.all(segments.map((folder) => load(folder + fileOf(word))));
  const longer = open ? held.flatMap((words) => Object.keys(words).filter((term) => term.startsWith(word))) : [];
  for (const term of new Set([word, ...[...new Set(longer)].sort().slice(0, PREFIXED)])) {
    found.set(term, segments.flatMap((folder, i) => (Object.hasOwn(held[i], term) ? [[folder, held[i][term]]] : [])));
  }
  return found;
}

// The notes that hold a word, or one that begins with it when `open`: folder and id to weight. A rare word weighs more.
async function holders(word, open, { notes, segments }) {
  const found = new Map();
  for (const [term, parts] of await spellings(word, open, segments)) {
    const count = parts.reduce((sum, [, codes]) => sum + codes.length / CODE_LENGTH, 0);
    const rarity = Math.log(1 + notes / (count || 1)) * (term === word ? 1 : 0.6);
    for (const [folder, codes] of parts) {
      for (let place = 0; place < codes.length; place += CODE_LENGTH) {
        const key = folder + codes.slice(place, place + ID_LENGTH);
        const weight = rarity * parseInt(codes[place + ID_LENGTH], 36);
        found.set(key, Math.max(weight, found.get(key) || 0));
      }
    }
  }
  return found;
}

// Notes with all words come first, then those with most of them; a report before the work that led to it.
async function ranked(words, open, index) {
  const all = await Promise.all(words.map((word, i) => holders(word, open && i === words.length - 1, index)));
  const scores = new Map();
  for (const found of all) {
    for (const [key, weight] of found) {
      const [count, score] = scores.get(key) || [0, 0];
      scores.set(key, [count + 1, score + weight]);
    }
  }
  const best = [...scores].map(([key, [count, score]]) => ({ id: key.slice(-ID_LENGTH), folder: key.slice(0, -ID_LENGTH), count, score }));
  best.sort((a, b) => b.count - a.count || b.score - a.score || (a.id < b.id ? -1 : 1));
  return best;
}

function noteFileOf({ folder, id }) {
  return `${folder}n-${(parseInt(id.slice(0, 2), 32) >> 2).toString(16).padStart(2, "0")}`;
}

async function notesOf(best) {
  const held = await Promise.all(best.map((one) => load(noteFileOf(one))));
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
  const { notes = 1, segments = [""], stop = [] } = await load("meta");
  const words = wordsOf(text, stop);
  const best = await ranked(words, open, { notes, segments });
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
