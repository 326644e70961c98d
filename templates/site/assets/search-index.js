// Finds and ranks notes in the index. It comes in small scripts, loaded by the first letters of the words asked for, so that it works
// from a folder on disk as well.
"use strict";

const DIGITS = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 5;
const CODE_LENGTH = ID_LENGTH + 1; // with the weight
// An answer and the reader's own words come before the work and the pages behind it, and before an answer that a newer one replaced.
const KINDS = { report: 4, note: 3, topic: 2, worker: 0.6, earlier: 0.6 };
const BEGUN = 60; // words that a beginning may stand for
const ALIKE = 8; // words that a misspelt one may stand for
const STEPS = 20; // scores that differ by less than such a part of the best are equal: then the newer note comes first
const ROOT = document.body.dataset.root;
const arrived = new Map();
const loading = new Map();

// Called by the files of the index.
function researchIndex(name, held) {
  arrived.set(name, held);
}

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

async function unpacked(held) {
  if (typeof held !== "string") return held;
  const bytes = Uint8Array.from(atob(held), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

function fileOf(word) {
  const first = [...word].slice(0, 2).join("");
  return /^[\x00-\x7f]{2}$/.test(first) ? `w-${first}` : `w-u${word.codePointAt(0).toString(16)}`;
}

function* codesIn(codes) {
  for (let place = 0; place < codes.length; place += CODE_LENGTH) {
    yield [codes.slice(place, place + ID_LENGTH), parseInt(codes[place + ID_LENGTH], 36)];
  }
}

class Index {
  constructor({ notes = 1, stop = [] }) {
    Object.assign(this, { notes, stop });
  }

  // The values of a facet ("kind", "day", "tag"), each with the keys of its notes.
  async facet(name) {
    const terms = Object.entries(await load(`f-${name}`));
    return new Map(terms.map(([term, codes]) => [term.slice(name.length + 1), [...codesIn(codes)].map(([id]) => id)]));
  }

  // The terms that a word may mean, each with how much it counts: itself, its forms, and those that it begins.
  async spellings(word) {
    const found = new Map([[word, 1]]);
    if (IN_PAIRS.test(word)) return found;
    const begun = Object.keys(await load(fileOf(word))).filter((term) => term.startsWith(word));
    const shortest = begun.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, BEGUN);
    for (const term of shortest) found.set(term, term === word ? 1 : Math.max(0.4, (0.9 * word.length) / term.length));
    for (const form of formsOf(word)) found.set(form, 0.9);
    return found;
  }

  // The terms that are like a word which occurs nowhere, or not with the others.
  async alike(word) {
    if (IN_PAIRS.test(word)) return new Map();
    const lists = await Promise.all(lengthsAround(word).map((length) => load(`v-${length}`)));
    const words = new Set(lists.flatMap((held) => (held.words || "").split(" ")));
    const rated = [...words].map((other) => [other, likeness(word, other)]).filter(([other, like]) => like && other !== word);
    return new Map(rated.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, ALIKE));
  }

  // The notes that hold one of these terms: id to weight. A word that few notes hold weighs more.
  async holders(spellings) {
    const found = new Map();
    const shown = new Set();
    await Promise.all([...spellings].map(async ([term, share]) => {
      const held = await load(fileOf(term));
      if (!Object.hasOwn(held, term)) return;
      shown.add(term);
      for (const [id, weight] of codesIn(held[term])) found.set(id, Math.max(share * weight, found.get(id) || 0));
    }));
    const rarity = Math.log(1 + this.notes / (found.size || 1));
    for (const [key, weight] of found) found.set(key, weight * rarity);
    return { found, rarity, terms: shown };
  }

  // For each word the notes that hold it; where it occurs nowhere, those with a word like it.
  async matches({ words, exact }) {
    const asExact = await Promise.all(exact.map((word) => this.holders(new Map([[word, 1]]))));
    const asBegun = await Promise.all(words.map(async (word) => {
      const found = await this.holders(await this.spellings(word));
      return found.found.size ? found : { ...(await this.holders(likest(await this.alike(word)))), guessed: true };
    }));
    return { asExact, asBegun };
  }

  // The same, with words like those that do occur.
  async widened({ words, exact }, { asExact, asBegun }) {
    const wider = await Promise.all(words.map(async (word, i) => {
      if (asBegun[i].guessed) return asBegun[i];
      return this.holders(new Map([...(await this.alike(word)), ...(await this.spellings(word))]));
    }));
    return { asExact, asBegun: wider };
  }

  // The keys of the notes that pass all filters, null for any note.
  async passing({ kind, tag, from, to }) {
    const sets = [];
    if (kind) sets.push((await this.facet("kind")).get(kind.toLowerCase()) || []);
    if (tag) sets.push(keysWhere(await this.facet("tag"), (value) => isTag(value, tag.toLowerCase())));
    if (from || to) {
      const wanted = (day) => (!from || day >= from) && (!to || day.slice(0, to.length) <= to);
      sets.push(keysWhere(await this.facet("day"), wanted));
    }
    return sets.length ? sets.map((keys) => new Set(keys)).reduce((all, keys) => new Set([...all].filter((key) => keys.has(key)))) : null;
  }

  // The notes that were asked for, best first: those with all words before those with most; a report before the work that led to it.
  // `terms` are those found, each with how much it says.
  async search(question) {
    const allowed = await this.passing(question.filters);
    const [kinds, days] = await Promise.all(["kind", "day"].map(async (name) => byKey(await this.facet(name))));
    let found = await this.matches(question);
    let scores = scored(found, allowed);
    const count = question.words.length + question.exact.length;
    if (count > 1 && question.words.length && ![...scores.values()].some(([held]) => held === count)) {
      found = await this.widened(question, found);
      scores = scored(found, allowed);
    }
    if (!count && !question.phrases.length) for (const key of allowed || []) scores.set(key, [0, 1]);
    const best = [...scores].map(([key, [held, score]]) => ({ key, held, score: score * (KINDS[kinds.get(key)] || 1), day: days.get(key) || "" }));
    const shown = question.filters.kind ? best : withoutWork(best, kinds);
    const more = { hidden: best.length - shown.length, terms: termsIn(found), guessed: found.asBegun.some((one) => one.guessed) };
    return { best: inOrder(shown), ...more };
  }

  // What is shown of a note: address, title, kind, day, description, text. Notes with the same number are all found.
  async notesOf({ key }) {
    const number = (DIGITS.indexOf(key[0]) << 2) + (DIGITS.indexOf(key[1]) >> 4);
    return (await unpacked(await load(`n-${number.toString(16).padStart(2, "0")}`)))[key] || [];
  }
}

// The notes without the reports that a newer one supersedes, and without the work of perspectives; those alone, if nothing else
// was found.
function withoutWork(best, kinds) {
  const current = best.filter(({ key }) => !["earlier", "worker"].includes(kinds.get(key)));
  return current.length ? current : best;
}

// Those words that are about as much like a misspelt one as the likest.
function likest(words) {
  const most = Math.max(...words.values(), 0);
  return new Map([...words].filter(([, like]) => like >= most - 0.1));
}

function keysWhere(facet, wanted) {
  return [...facet].flatMap(([value, keys]) => (wanted(value) ? keys : []));
}

// A tag is found by its name or by the part after or before a slash: topic/logs by topic, logs, and topic/logs.
function isTag(value, tag) {
  return `/${value}/`.includes(`/${tag.replace(/^#/, "").replace(/\s+/g, "-")}/`) || value === tag;
}

function byKey(facet) {
  return new Map([...facet].flatMap(([value, keys]) => keys.map((key) => [key, value])));
}

// Key to the number of words held, and the sum of their weights; a note without a word of a phrase is none.
function scored({ asExact, asBegun }, allowed) {
  const scores = new Map();
  for (const { found } of [...asExact, ...asBegun]) {
    for (const [key, weight] of found) {
      if (allowed && !allowed.has(key)) continue;
      const [held, score] = scores.get(key) || [0, 0];
      scores.set(key, [held + 1, score + weight]);
    }
  }
  for (const { found } of asExact) for (const key of scores.keys()) if (!found.has(key)) scores.delete(key);
  return scores;
}

function inOrder(best) {
  const most = Math.max(...best.map(({ score }) => score), 0) || 1;
  const step = ({ score }) => Math.round((score / most) * STEPS);
  const newer = (a, b) => (a.day === b.day ? 0 : a.day < b.day ? 1 : -1);
  return best.sort((a, b) => b.held - a.held || step(b) - step(a) || newer(a, b) || b.score - a.score || (a.key < b.key ? -1 : 1));
}

function termsIn({ asExact, asBegun }) {
  return new Map([...asExact, ...asBegun].flatMap(({ terms, rarity }, word) => [...terms].map((term) => [term, { word, rarity }])));
}
