// What a reader asks for, cut into words by the same rules as the index (pipeline/site/search.py); and which words are
// alike enough to have been meant.
"use strict";

const UNSPACED =
  "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17e0-\u17e9" +
  "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\u318e" +
  "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\u{20000}-\u{3ffff}";
const SIGNS = "\u0900-\u0963\u0966-\u0dff";
const IN_PAIRS = new RegExp(`^[${UNSPACED}]`, "u");
const WORD = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}${SIGNS}])+`, "gu");
const SHOWN_WORD = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}\u0640])+`, "gu"); // as written, with its accents
const COMBINING = /[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/g;
const LONGEST_WORD = 24;
const FILTER = /(?:^|\s)(kind|tag|from|after|to|before):(?:"([^"]*)"|(\S+))/giu;
const PHRASE = /["“”„«»]([^"“”„«»]*)["“”„«»]/gu;
const SAME_FILTER = { after: "from", before: "to" };

function folded(text) {
  const bare = text.toLowerCase().normalize("NFKD").replace(COMBINING, "").normalize("NFC");
  return bare.replaceAll("\u0629", "\u0647").replaceAll("\u0649", "\u064a");
}

// The words of a text as they are indexed; where no spaces part words, each two neighbouring letters.
function termsOf(text, stop) {
  return (folded(text).match(WORD) || []).flatMap((word) => {
    const letters = [...word];
    if (!IN_PAIRS.test(word)) return 1 < letters.length && letters.length <= LONGEST_WORD && !stop.includes(word) ? [word] : [];
    return letters.length < 2 ? [word] : letters.slice(1).map((letter, i) => letters[i] + letter);
  });
}

// What is asked: words, phrases (each a list of all its words), and filters: kind, tag, from, to.
function questionOf(text, stop) {
  const filters = {};
  const unfiltered = text.replace(FILTER, (_, name, quoted, plain) => {
    const asked = name.toLowerCase();
    filters[SAME_FILTER[asked] || asked] = quoted ?? plain;
    return " ";
  });
  const phrases = [];
  const rest = unfiltered.replace(PHRASE, (_, phrase) => {
    if (phrase.trim()) phrases.push(phrase);
    return " ";
  });
  const exact = phrases.flatMap((phrase) => termsOf(phrase, stop));
  const words = [...new Set(termsOf(rest, stop))].filter((word) => !exact.includes(word));
  return { words, exact: [...new Set(exact)], phrases: phrases.map(phrasePattern), filters };
}

// A phrase stands in a folded text if its words follow each other there, whatever is between them.
function phrasePattern(phrase) {
  const words = folded(phrase).match(WORD) || [];
  const parts = words.map((word, i) => {
    const edge = (side) => (IN_PAIRS.test(word) ? "" : side);
    return `${i ? "" : edge(`(?<![\\p{L}\\p{N}${SIGNS}])`)}${word}${i < words.length - 1 ? "" : edge(`(?![\\p{L}\\p{N}${SIGNS}])`)}`;
  });
  return new RegExp(parts.join(`[^\\p{L}\\p{N}${SIGNS}]+`), "u");
}

// The other forms of a word that a reader means as well: the plural and the singular, an Arabic word with and without its article.
function formsOf(word) {
  const forms = [`${word}s`];
  if (word.endsWith("ies")) forms.push(`${word.slice(0, -3)}y`);
  if (word.endsWith("y")) forms.push(`${word.slice(0, -1)}ies`);
  if (word.endsWith("es")) forms.push(word.slice(0, -2));
  if (/[^s]s$/.test(word)) forms.push(word.slice(0, -1));
  if (/^\u0627\u0644../.test(word)) forms.push(word.slice(2));
  if (/^[\u0620-\u064a]/.test(word)) forms.push(`\u0627\u0644${word}`);
  return forms.filter((form) => form.length > 2);
}

// How many letters were left out, added, mistaken or swapped (optimal string alignment); more than `most` is `most + 1`.
function mistakes(word, other, most) {
  if (Math.abs(word.length - other.length) > most) return most + 1;
  let [before, last] = [[], [...Array(other.length + 1).keys()]];
  for (let i = 1; i <= word.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const same = word[i - 1] === other[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + same);
      const swapped = i > 1 && j > 1 && word[i - 1] === other[j - 2] && word[i - 2] === other[j - 1];
      if (swapped) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    if (Math.min(...row) > most) return most + 1;
    [before, last] = [last, row];
  }
  return last[other.length];
}

// How much a word counts for one that was asked for but occurs nowhere: 0 for one that is not like it.
function likeness(word, other) {
  const most = word.length < 4 ? 0 : word.length < 8 ? 1 : 2;
  const wrong = mistakes(word, other, most);
  if (wrong <= most) return (wrong === 1 ? 0.55 : 0.4) + (word[0] === other[0] ? 0.05 : 0);
  let shared = 0;
  while (shared < word.length && word[shared] === other[shared]) shared++;
  const isForm = shared >= Math.max(4, word.length - 3) && other.length - shared <= 3;
  if (isForm) return 0.35;
  // Beginnings are misspelt as well: electorn for electronic.
  return word.length >= 6 && mistakes(word, other.slice(0, word.length), 1) <= 1 ? 0.3 : 0;
}

// The lengths of the words that may be like a word.
function lengthsAround(word) {
  const span = word.length < 4 ? 0 : word.length < 6 ? 1 : 3;
  const from = Math.max(4, word.length - span);
  return Array.from({ length: Math.max(0, Math.min(LONGEST_WORD, word.length + span) - from + 1) }, (_, i) => from + i);
}
