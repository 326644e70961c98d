"""Words and sentences of every script: how a text is split, stemmed and measured, and in which language it is written.

Words follow Unicode's boundaries (UAX 29) in NFC, with their combining marks; identifiers, versions and hyphenated words stay
whole. Scripts without blanks give overlapping pairs of signs, each a word of its own, so that a text is found by what it shares
with a question. Stems are Snowball's (https://snowballstem.org), where it knows the language. Sentences are split in time linear
in the text's length.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import chain, pairwise, repeat
from posixpath import commonprefix

import regex
import Stemmer

from pipeline.text.cleaning import one_line

DEFAULT_LANGUAGE = "english"


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as a text."""
    return frozenset(text.split())


# Words with which questions are asked: a passage need not contain them to answer.
QUESTION_WORDS = word_set(
    """
    a an the this that these those there here it its they them their he she his her him i me my mine we us our you your yours
    what which who whom whose where when why how whether if then else
    than as of in on at to from by with without for about into onto
    over under between among across through during before after until
    till since per via and or but nor not no yes so such only just
    also too very really actually exactly ever even still yet already again once some any each every either neither both all
    most more less least many much few several other another same own
    is are was were be been being am do does did doing done have has had having can could may might must shall should will would
    ought cannot isn aren wasn weren don doesn didn haven hasn hadn can't
    won wouldn shouldn couldn don't doesn't didn't isn't aren't wasn't
    please tell explain describe say says said mean means meant happen happens happened
    get gets got let lets want wants wanted need needs like someone somebody
    anyone anybody something anything nothing everything one ones
    thing things way ways kind sort lot bit there's what's it's i'm i've up out off down away back because though although while
    """
)

# Scripts that put no blanks between words, as a class for `re`, and how many of their signs make about a word.
_IDEOGRAPHS = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SYLLABLES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
UNSPACED = _IDEOGRAPHS + _SYLLABLES
_ANY_UNSPACED = re.compile(f"[{UNSPACED}]+")
_SIGNS_OF_A_WORD = {
    re.compile(f"[{_IDEOGRAPHS}]"): 2,
    re.compile(f"[{_SYLLABLES}]"): 4,
}  # counted in a tenth of the time of a loop
# Hangul has blanks, but its particles are written to the word: pairs find a noun whatever follows it.
_PAIRED = re.compile(f"[{UNSPACED}\uac00-\ud7af]+")
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:(?:[._:/'’+#-]{1,2}|_+)[\p{L}\p{N}][\p{L}\p{N}\p{M}]*)*(?:\+\+|#)?")
# The same for text in ASCII, in half the time.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:(?:[._:/'+#-]{1,2}|_+)[A-Za-z0-9]+)*(?:\+\+|#)?", re.ASCII)
# 3.11 is one word, and no number of its parts.
_VERSION = re.compile(r"[vV]?\d+(?:[.,:]\d+)+|\d+")
# 1,024 is written 1024 too.
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
_JOINT = re.compile(r"[._:/'’+#-]+")
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # where readLine has its parts
_ENDINGS = ("'s", "'t", "'re", "'ve", "'ll", "'d", "'m")  # "page's" is the word "page"
_LETTERS = re.compile(r"[^\W\d_]+")  # of a sample, whose language function words tell
_LONGEST = 60  # characters; a longer "word" is noise
_SAMPLE = 4_000  # characters of a text from which its language is detected
_LANGUAGE_SHARE = 0.08  # least share of function words for a language to be detected
# Words that ask in one language, or in one far more often than in others: one of them tells the language of a short question.
_ASKING = word_set(
    """
    what which who whose where when why how wie wo warum wieso weshalb wer wann welche welcher welches pourquoi quand combien
    quels quelles où qué cuál cuándo cuánto cuántos cuánta cuántas cómo dónde quién perché quanti quante quale quali porquê quem
    onde waarom wanneer welke hvordan hvorfor hvor hvornår hvilke hvad jak varför vilka vilken vad miksi kuinka milloin missä
    mikä miten miért hogyan mikor melyik dlaczego kiedy gdzie proč kdy kolik unde când niçin neden nasıl nerede mengapa
    bagaimana kapan
    """
)
_STEMMERS = threading.local()  # a stemmer must not be used by two threads at once
# Languages by Snowball's name with the code of their stop words; those that have a script of their own are known by it.
_CODES = {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt", "dutch": "nl",
    "swedish": "sv", "danish": "da", "norwegian": "no", "finnish": "fi", "hungarian": "hu", "polish": "pl", "czech": "cs",
    "romanian": "ro", "turkish": "tr", "vietnamese": "vi", "indonesian": "id", "russian": "ru", "ukrainian": "uk",
    "greek": "el", "hebrew": "he", "arabic": "ar", "hindi": "hi",
}  # fmt: skip
_CODES_BY_SCRIPT = {"japanese": "ja", "korean": "ko", "chinese": "zh", "thai": "th"}
_SCRIPTS = {
    "japanese": "\u3040-\u30ff", "korean": "\uac00-\ud7af", "chinese": "\u3400-\u4dbf\u4e00-\u9fff", "thai": "\u0e00-\u0e7f",
    "greek": "\u0370-\u03ff", "hebrew": "\u0590-\u05ff", "hindi": "\u0900-\u097f", "arabic": "\u0600-\u06ff",
    "vietnamese": "\u1ea0-\u1ef9\u01a1\u01b0", "russian": "\u0400-\u04ff",
}  # fmt: skip
# The same for the scripts that tell a language.
_OF_SCRIPT = {name: re.compile(f"[{signs}]") for name, signs in _SCRIPTS.items()}
_JAPANESE = 0.1  # least share of kana among the signs of a Japanese text, which is mostly Chinese signs
_VIETNAMESE = 8  # of so many letters one has marks that no other language writes


def words(text: str) -> list[str]:
    """Return the words of ``text`` as written; identifiers, hyphenated words and numbers are not split."""
    return [word for word in _words(text) if len(word) <= _LONGEST]


def stems(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the stems of all words of ``text`` in order; an identifier's parts follow its whole."""
    return list(chain.from_iterable(map(forms, _words(text), repeat(language))))


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    found: list[str] = _WORD.findall(unicodedata.normalize("NFC", text))
    return list(chain.from_iterable(map(_pairs, found))) if _PAIRED.search(text) else found


def _pairs(word: str) -> list[str]:
    """Return overlapping pairs of the signs in a word's runs of a script without blanks, and what is between them."""
    if not _PAIRED.search(word):
        return [word]
    found: list[str] = []
    at = 0
    for run in _PAIRED.finditer(word):
        found += [word[at : run.start()]] if run.start() > at else []
        signs = run[0]
        found += [signs[place : place + 2] for place in range(len(signs) - 1)] or [signs]
        at = run.end()
    return [*found, *([word[at:]] if at < len(word) else [])]


def word_count(text: str) -> int:
    """Return the length of ``text`` in words; two Chinese or Japanese signs, or four Thai ones, count as about a word."""
    if text.isascii() or not _PAIRED.search(text):
        return len(text.split())
    unspaced = sum(-(-len(signs.findall(text)) // each) for signs, each in _SIGNS_OF_A_WORD.items())
    return unspaced + len([word for word in _ANY_UNSPACED.sub(" ", text).split() if any(map(str.isalnum, word))])


def is_unspaced(text: str) -> bool:
    """Return whether most of a text is in a script without blanks between words."""
    return not text.isascii() and 2 * sum(map(len, _ANY_UNSPACED.findall(text))) > len(text)


@lru_cache(maxsize=262_144)
def forms(word: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """Return the stems of one written word, that of the whole word first; none for a word of over 60 characters.

    >>> forms("os.replace")
    ('os.replac', 'os', 'replac')
    >>> forms("3.11")
    ('3.11',)
    """
    if len(word) > _LONGEST:
        return ()
    if word.isascii() and word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
        return (_stemmed(word.lower(), language),)  # most words: they have no parts
    plain = word
    if not word.isascii():  # without accents, vowel points and other marks above or below, typographic variants unified
        kept = "".join(sign for sign in unicodedata.normalize("NFKD", word) if not unicodedata.combining(sign))
        plain = unicodedata.normalize("NFC", kept).replace("’", "'").replace("ς", "σ")
    plain = next((plain[: -len(end)] for end in _ENDINGS if plain.lower().endswith(end)), plain)
    if _VERSION.fullmatch(plain):
        return (_THOUSANDS.sub("", plain.lstrip("vV")),)
    parts = [piece for joint in _JOINT.split(plain.replace("_", ".")) for piece in _INNER_CAPITAL.split(joint) if piece]
    whole = plain.lower()
    if len(parts) < 2:
        return (_stemmed(whole, language),) if whole else ()
    if all(part.isascii() for part in parts) and "." not in whole and not any(part.isdigit() for part in parts):
        whole = "".join(part.lower() for part in parts)  # ColBERT, col-bert and colbert are one word
    small = (_stemmed(part.lower(), language) for part in parts if len(part) > 1 or part.isdigit())
    return tuple(dict.fromkeys([_stemmed(whole, language), *small]))


def _stemmed(word: str, language: str) -> str:
    known: dict[str, Stemmer.Stemmer | None] = _STEMMERS.__dict__
    if language not in known:
        # without its cache: forms() has one
        known[language] = Stemmer.Stemmer(language, 0) if language in Stemmer.algorithms() else None
    stemmer = known[language]
    return str(stemmer.stemWord(word)) if stemmer else word


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the words of a language that only ask, join or point, in lower case; none for a language that is not known."""
    if language == DEFAULT_LANGUAGE:
        return QUESTION_WORDS
    from stopwordsiso import stopwords  # imported late: its lists are needed for other languages alone

    return frozenset(stopwords(_CODES[language])) if language in _CODES else frozenset()


@lru_cache(maxsize=1_024)
def language_of(text: str) -> str:
    """Return the language of ``text``, by Snowball's name if it has one, from its script or its function words; "" if unknown.

    A single function word tells no language unless it asks: "car" is one of French. Nor do more if two languages have as many
    of them, unless one of them asks, or one language is English. The script is evidence too.
    """
    sample, script = text[:_SAMPLE], ""
    letters = _LETTERS.findall(sample)
    if not sample.isascii():
        counts = {name: len(signs.findall(sample)) for name, signs in _OF_SCRIPT.items()}
        if counts["japanese"] > _JAPANESE * (counts["japanese"] + counts["chinese"]):
            counts["japanese"] += counts["chinese"]
        counts["vietnamese"] *= _VIETNAMESE
        best = max(counts, key=lambda name: counts[name])
        script = best if 2 * counts[best] > sum(map(len, letters)) else ""
        if script not in ("", "russian"):  # other languages write Cyrillic too: their function words tell
            return script
    is_shouted = sample.isupper()  # else a word in capitals is a name
    # Single letters are words of most languages, but for those with accents.
    said = [word for word in letters if (len(word) > 1 or not word.isascii()) and (is_shouted or not word.isupper())]
    found = Counter(map(str.lower, said))
    shares = {name: sum(count for word, count in found.items() if word in stop_words(name)) for name in _CODES}
    asking = found.keys() & _ASKING
    best = max(shares, key=lambda name: (shares[name], name == DEFAULT_LANGUAGE, len(asking & stop_words(name))))
    evidence, asks = found.keys() & stop_words(best), bool(asking & stop_words(best))
    is_told = script or asks or len(evidence) > 1
    is_alone = asks or best == DEFAULT_LANGUAGE or list(shares.values()).count(shares[best]) == 1
    return best if is_told and is_alone and shares[best] > _LANGUAGE_SHARE * found.total() else script


def language_code(*texts: str) -> str:
    """Return the code of the language of the first of ``texts`` that tells its language, such as ``de``; ``en`` if none does."""
    return next((code for text in texts if (code := (_CODES | _CODES_BY_SCRIPT).get(language_of(text)))), "en")


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets of stems, 0 to 1; 0 if one is empty."""
    return len(a & b) / len(a | b) if a and b else 0.0


def repeated(part: str, whole: str) -> float:
    """Return the share, 0 to 1, of the pairs of adjoining words in ``part`` that ``whole`` has too; 0 if it has no pair."""
    pairs, known = (frozenset(pairwise(map(str.lower, words(text)))) for text in (part, whole))
    return len(pairs & known) / len(pairs) if pairs else 0.0


def question_words_in(question: str, text: str) -> int:
    """Return how many different words of a question a text has, in whatever form; function words do not count."""
    language = language_of(question)
    return len({*stems(question, language)}.intersection(stems(text, language)) - stop_words(language))


def from_nearest(question: str, text: str, parts: Iterable[str], room: int = 0) -> str:
    """Return a text from the one of its parts on that has most words of a question; ``…`` stands for what is before it.

    If that part ends within the first ``room`` characters, it is the whole text.
    """
    nearest = max(parts, key=lambda part: question_words_in(question, part), default="")
    place = text.find(nearest)
    return f"… {text[place:]}" if place > 0 and place + len(nearest) > room else text


def words_around_change(said: str, was: str, longest: int) -> str:
    """Return the words of a sentence around the first that differ from what it ``was``, and what they were.

    These are at most ``longest`` characters. Signs at their ends are no difference.
    """
    start = said.rfind(" ", 0, len(commonprefix([said, was]))) + 1
    same_end = min(len(commonprefix([said[::-1], was[::-1]])), len(said) - start, len(was) - start)
    same_end -= len(said[len(said) - same_end :].partition(" ")[0])  # to the end of the word that differs
    old = _without_end_signs(was[start : len(was) - same_end])
    old = f"{old})" if old.count("(") > old.count(")") else old
    is_inserted = {*words(old)} <= {*words(said[start : len(said) - same_end])}  # what was there is still
    words_before = f" (was “{one_line(old, longest // 2)}”)" if old and not is_inserted else ""
    longest, end = longest - len(words_before), len(said) - same_end
    shown = (
        said[min(start, said.find(" ", end - longest + 3) + 1) :] if end > longest else said
    )  # so far behind that it is the end
    return one_line(shown if shown == said else f"… {shown}", longest) + words_before


def _without_end_signs(text: str) -> str:
    """``text`` without the stops at its ends, and without a bracket or quotation mark there that has not its pair."""
    alone = [pair for pair in ("()", "[]", "“”") if text.count(pair[0]) != text.count(pair[1])]
    return text.strip(" .,;:" + "".join([*alone, *(mark for mark in "'\"`" if text.count(mark) % 2)]))


_TOKEN = re.compile(r"\S+")  # with its place, which splitting does not give
_CLOSERS = "\"'”’»)]}*_`“"  # the last one closes in German
_OPENERS = "\"'“‘«([{*_`„"
_END_MARKS = ".!?…"
# Behind the stops of scripts that put no blank there, and the danda of Indic ones: they are never part of an abbreviation.
_FULL_STOP = re.compile(r"(?<=[。！？।])(?![」』”’）〉》])")
_LONGEST_TOKEN = 32  # characters of a token that are inspected: a limit keeps the time linear
_BRACKETED = 400  # characters after which an open bracket no longer prevents the end of a sentence
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")  # J. R. R. Tolkien: none of these dots ends a sentence
# A sentence may begin with a name in code, in lower case.
_IDENTIFIER = re.compile(r"[`_]|[A-Za-z_]\w*(?:[._]\w|\(|::)|[a-z]+[A-Z]")
_BRACKETS = frozenset("()[]„“”")
# A dot after one of these ends no sentence.
_ABBREVIATIONS = word_set(
    """
    e.g i.e cf vs viz dr mr mrs ms prof rev gen sen rep hon st jr sr fig figs eq eqs sec secs ch chap vol vols no nos p pp
    par art ed eds al approx ca c resp incl excl dept univ assn bros inc ltd co corp ph.d m.sc b.sc u.s.a jan feb mar apr
    jun jul aug sep sept oct nov dec
    """
)

# German nouns that stand behind ordinal numbers.
_COUNTED = word_set(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember jahrhundert jahrhunderts jahrtausend
    jahrtausends jahrzehnt jahrzehnts jahr jahres jahre lebensjahr lebensjahres schuljahr geburtstag geburtstages jahrestag monat
    monats woche stunde minute mal auflage ausgabe kapitel abschnitt absatz klasse stock stockwerk etage platz runde bundesliga
    liga weltkrieg weltkriegs weltkrieges grades ordnung sinfonie preis
    """
)

# … except when a sentence clearly begins after it.
_SOFT_ABBREVIATIONS = word_set(
    """
    inc ltd co corp jr sr u.s u.k u.n e.u a.m p.m etc ph.d u.s.a al
    """
)

_SENTENCE_STARTERS = word_set(
    """
    the a an this that these those it they we you he she i in on at for if when while as however but and or there here its
    their our his her to from with by after before since because although though where what which who why how no not some
    many most all both each every any one two new use using see return returns note changed deprecated
    """
)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of ``text`` in order, each verbatim; together they contain every word of it."""
    return [sentence for part in _FULL_STOP.split(text) for sentence in _spaced_sentences(part)]


def _spaced_sentences(text: str) -> list[str]:
    found: list[str] = []
    tokens = [(match.start(), match.end()) for match in _TOKEN.finditer(text)]
    start, depth, last = -1, 0, len(tokens) - 1
    bracketed = not _BRACKETS.isdisjoint(text)
    for place, (left, right) in enumerate(tokens):
        start = left if start < 0 else start
        token = text[left:right]
        if bracketed and not _BRACKETS.isdisjoint(token):
            opened, closed = ("„", "“”") if "„" in text else ("“", "”")  # what opens in English closes in German
            depth += sum((sign in f"([{opened}") - (sign in f")]{closed}") for sign in token)
            depth = max(0, depth)
        if token[-1].isalnum() and place < last:
            continue  # no end mark, so no sentence ends here
        following = text[slice(*tokens[place + 1])][:_LONGEST_TOKEN] if place < last else ""
        held = depth > 0 and right - start < _BRACKETED
        if not following or (not held and _ends_sentence(token[-_LONGEST_TOKEN:], following)):
            found.append(text[start:right])
            start, depth = -1, 0
    return found


def _ends_sentence(token: str, following: str) -> bool:
    core, begins = token.rstrip(_CLOSERS), following.lstrip(_OPENERS)[:_LONGEST_TOKEN]
    if not core or core[-1] not in _END_MARKS or not begins:
        return False
    if not (begins[0].isupper() or begins[0].isdigit() or _IDENTIFIER.match(begins)):
        return False
    word, bare = core[:-1].lstrip(_OPENERS), following.strip(_OPENERS + _CLOSERS + ",:;.")
    lowered = word.lower()
    if core[-1] != ".":
        return True
    if word.isdecimal() and len(word) <= 2 and bare.lower() in _COUNTED:  # "12. August": a German ordinal number
        return False
    if lowered in _ABBREVIATIONS and lowered not in _SOFT_ABBREVIATIONS:
        return lowered in ("no", "p", "art", "c", "ed", "mar", "sec", "fig") and not bare[:1].isdigit()
    if lowered in _SOFT_ABBREVIATIONS or (_INITIALS.fullmatch(word) is not None and word != "I"):
        return bare.lower() in _SENTENCE_STARTERS
    return True
