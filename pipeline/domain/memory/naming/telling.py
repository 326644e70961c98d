"""Which sentences say something about a name, and which only mention it. Pure.

A note that lists passing mentions is not worth opening. So a sentence counts only if it is whole, understandable by itself, and
about the name: the name is in its first noun phrase, or the sentence is from a document or section that is called so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.domain.memory.naming.own_documents import homes_of, subject_key
from pipeline.domain.memory.naming.prose import CAPITALISED_NOUNS, UNSPACED, Sentence, is_closed, sentences_of, words_of
from pipeline.domain.memory.naming.word_classes import is_function_word, word_set
from pipeline.domain.memory.values import Statement
from pipeline.text.stemming import stems
from pipeline.text.word_lists import LANGUAGES, QUESTION_WORDS

_LEAST_WORDS, _MOST_WORDS = 5, 60
_LEAST_UNNAMED = 7  # words of a sentence that does not hold the name of its document
_NEAR = 10  # words from the beginning within which a name must be in a document that is called so
FRONT = 4  # words that may be before a name in the noun phrase that a sentence begins with
_ARTICLES = word_set(
    """
    the a an each every any all some no one two three its der die das dem den ein eine einen einem einer jede jeder
    jedes alle kein keine le la les un une l' el los las una il lo gli i uno o os as um uma de het een en ett
    """
)
_VERB_SECOND = frozenset({"german", "dutch", "swedish", "danish", "norwegian"})  # the subject may come after the verb
_CLAUSES = frozenset(
    ["that", "because", "whether", "dass", "weil", "ob", "que", "parce"]
)  # with an article, they begin a clause about a name
_OPENERS = word_set(
    "unlike like given once unless initially normally usually every each today whenever otherwise besides despite"
)
_NOMINATIVE = frozenset(
    ["der", "die", "das", "ein", "eine", "jede", "jeder", "jedes", "kein", "keine", "de", "het", "een", "en", "ett"]
)
# A sentence that begins so leans on what was said before it, or sends the reader elsewhere.
_LEANING = word_set(
    """
    this these that those it they he she such his her their its both neither here there however therefore thus hence so
    my our your i we you similarly likewise conversely
    finally lastly secondly thirdly schließlich
    then also otherwise instead moreover furthermore see note another and or but dies diese dieser dieses diesen diesem
    es er sie ihr sein seine ihre dort dabei dafür damit dazu deshalb daher trotzdem außerdem auch und oder aber siehe
    dann so
    """
)
_REFERRING = re.compile(r"\A(?:For (?:further|more|additional|other)\b|For [^.]+, see\b|\(|e\.g|i\.e|[-–—*•…\\])", re.IGNORECASE)
# "If enabled, …", "… of this option", "On such systems", "as noted above": what is meant was said before.
_LEANS_INSIDE = re.compile(
    r"\A(?:If|When|Where)\s+(?:enabled|disabled|set|true|false|not|on|off|used|specified|given|present|invoked|-\w+)\b"
    r"|\A(?:\w+\s){1,4}(?:this|these|those|such|diese[mnrs]?)\s(?!as\b|that\b)\w+"
    r"|\A(?:\w+\s){1,3}(?:this|these|that|those),"  # "To prevent this, …"
    r"|\A[^,.]{1,40},\s(?:this|these|those)\s"
    r"|\blet[’']s\b|\bwe[’'](?:ll|ve|re)\b|\bin this (?:chapter|tutorial|article|example)\b|\bListing \d"  # a lesson's talk
    r"|\A(?:In|On|For|Bei|In)\s(?:both|that|either|some|other|such|diese[mnrs]?)\s"
    r"|\bthis (?:socket |unit )?(?:option|flag|argument|parameter|field|setting|case|mode|function|call|section|page|document)\b"
    r"|\A(?:When|If|While|Because|Although|Wenn|Weil)\b[^,]*\Z|\A(?:Unless|As) (?:otherwise )?(?:noted|stated|specified)\b"
    r"|\b(?:is|are) an? (?:very )?(?:useful|powerful|great|popular|nice|handy)\b"
    r"|\b(?:noted|described|mentioned|listed|shown|discussed|given|marked) (?:above|below|earlier)\b"
    r"|\b(?:above|below)[\s)]*[.,:;]|\bthe (?:above|following)\b|(?-i:[A-Z]- [A-Z])|\?[\"'”’»)]*\Z",
    re.IGNORECASE,
)
_LIST = re.compile(r"\s[-•*]\s.*\s[-•*]\s|\([a-z0-9]\)\s.*\([a-z0-9]\)\s")
_CODE = re.compile(
    r"```|[\u2500-\u257f]|\(\.\.\.\)|self,|[=-]{4,}|\\[_*`]|[{};]\s*\S+\s*[{};]|\$\s\w|https?://\S+\s\S*https?://|\([Cc]\)\s+\d{4}|©"
)
_PART = re.compile(r"\([1-9]\w{0,3}\)|[:,]\s|\s[-–—|]\s|\s(?:and|und|et|y)\s")
_ENTRY = re.compile(r"\A[*\w.()]{1,40}:\s")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]{3,}(?:\s\([^)]*\))?:\s")  # "EACCES: …": an entry of a list of errors or flags
_ENDINGS = frozenset({"", "s", "es", "n", "en", "e", "er", "’s", "'s"})
_SMALL = QUESTION_WORDS | frozenset().union(*LANGUAGES.values())
# A sentence with one of these among its first words goes on with what the sentence before it is about.
_CONTINUING = word_set(
    """
    it its they their them he his she her this these such er sie es ihn ihm sein seine seiner seinem seinen seines ihr ihre ihrer
    ihrem ihren ihres dies diese dieser dieses diesem diesen dabei dafür dort il elle ils elles son sa ses
    """
)
_PRONOUNS = word_set("it they them he him she this these such er es sie ihn ihm il elle ils elles")
_CONTINUED_WITHIN = 4  # first words of such a sentence
_LONGEST_RUN = 440  # characters of sentences that are quoted together


def is_whole(sentence: Sentence) -> bool:
    """Return whether a sentence is closed, of readable length, no list or code, and does not lean on the one before it."""
    text = sentence.text
    if sentence.language == UNSPACED:
        return True
    words = text.split()
    first = words[0].strip("\"'“‘«„([*_`,").lower() if words else ""
    return (
        _LEAST_WORDS <= len(words) <= _MOST_WORDS
        and first not in _LEANING
        and is_closed(text)
        and not any(pattern.search(text) for pattern in (_REFERRING, _LEANS_INSIDE, _LIST, _CODE))
    )


def is_at_home(sentence: Sentence, names: Iterable[str]) -> bool:
    """Return whether a sentence is from a document or a section that is about one of the ``names``."""
    return not homes_of(sentence.statement, sentence.text).isdisjoint(map(subject_key, names))


def is_said_at_home(sentence: Sentence) -> bool:
    """Return whether a sentence of a document or section that is about a name says enough without the name."""
    enough = len(sentence.words) >= _LEAST_UNNAMED and sentence.text[0].isupper() and "__" not in sentence.text
    first = {word.lower() for word in sentence.words[:_CONTINUED_WITHIN]}
    return enough and is_whole(sentence) and not first & _PRONOUNS and _CONSTANT.match(sentence.text) is None


def run_of(sentence: Sentence, *, home: bool) -> tuple[str, ...]:
    """Return a sentence with those after it that go on with what it is about, as they stand in the source.

    ``home``: it is from a document or section about that alone, so all go on with it.
    """
    taken = [sentence.text]
    for text in sentence.after:
        first = {word.lower() for word in words_of(text)[:_CONTINUED_WITHIN]}
        is_readable = is_closed(text) and not _CODE.search(text) and not text.endswith("?")
        if not is_readable or not (home or first & _CONTINUING) or len(" ".join((*taken, text))) > _LONGEST_RUN:
            break
        taken.append(text)
    return tuple(taken)


def is_telling(sentence: Sentence, start: int, *, home: bool = False) -> bool:
    """Return whether a whole sentence is about the name whose first word is its word number ``start`` (from 0).

    ``home``: its document or section is called so; then any place will do.
    """
    if not is_whole(sentence):
        return False
    if sentence.language == UNSPACED:
        return True
    if start > 0 and (sentence.text[0].islower() or _ENTRY.match(sentence.text)):
        return False  # the end of another sentence, or an entry of a list on something else
    return (home and start < _NEAR) or _is_in_front(sentence, start)


def _is_in_front(sentence: Sentence, start: int) -> bool:
    """Return whether a name is in the first noun phrase of a sentence, or in that of a clause with "that" or "because"."""
    before = [word.lower() for word in sentence.words[:start]]
    if before and (before[-1] in _CLAUSES or (len(before) > 1 and before[-1] in _ARTICLES and before[-2] in _CLAUSES)):
        return True
    if sentence.language in CAPITALISED_NOUNS and start > 1 and sentence.words[start - 1][0].isupper():
        return False  # "Die Feuerwehr Niederbach" is about the brigade
    if sentence.language in _VERB_SECOND and 0 < start <= FRONT + 2 and before[-1] in _NOMINATIVE:
        return "," not in sentence.text.partition(sentence.words[start])[0]
    if start > FRONT or _is_after_comma(sentence, start):
        return start <= 2 * FRONT and _is_after_comma(sentence, start)
    for place, word in enumerate(before):
        small = word in _ARTICLES or is_function_word(word, sentence.language)
        if small and word not in _ARTICLES and place > 0:
            return False
        if word in _ARTICLES and place > 0 and not (place == 1 and is_function_word(before[0], sentence.language)):
            return False
    return not before or before[0] in _ARTICLES or is_function_word(before[0], sentence.language)


def _is_after_comma(sentence: Sentence, start: int) -> bool:
    """Return whether a name begins the main clause after a first one: "In winter, the …", "When it is full, …"."""
    first, before = sentence.words[0].lower(), sentence.words[:start]
    if not is_function_word(first, sentence.language) and first not in _OPENERS:
        return False
    skipped = 1 + (len(before) > 1 and before[-1].lower() in _ARTICLES)
    return start > 1 and re.search(rf"{re.escape(sentence.words[start - skipped])}[”\"’)]*,\s", sentence.text) is not None


def said_of(names: Iterable[str], statements: Iterable[Statement]) -> dict[str, tuple[str, ...]]:
    """Return what each statement says about one of the names, by fact id, as runs of sentences; none for a mere mention."""
    wanted, found = tuple(names), dict[str, tuple[str, ...]]()
    taken: set[tuple[str, str]] = set()
    for one in sentences_of(statements):
        if (one.fact, one.text) in taken:
            continue
        place, home = place_of(one, wanted), is_at_home(one, wanted)
        if (home and is_said_at_home(one)) or (
            place is not None and is_telling(one, place, home=home or _is_near_home(one, wanted))
        ):
            run = run_of(one, home=home)
            taken |= {(one.fact, text) for text in run}
            found[one.fact] = (*found.get(one.fact, ()), " ".join(run))
    return found


def _is_near_home(sentence: Sentence, names: Iterable[str]) -> bool:
    wanted = tuple(names)
    return is_called(sentence.statement.title, wanted) or is_called(sentence.statement.heading, wanted)


def is_named(names: Iterable[str], text: str) -> bool:
    """Return whether a text holds one of the names."""
    held = frozenset(stems(text))
    return any(name in text or frozenset(stems(name)) <= held for name in names)


def place_of(sentence: Sentence, names: Iterable[str]) -> int | None:
    """Return the number of the word (from 0) at which one of the ``names`` begins in a sentence; None if it holds none."""
    language = "" if sentence.language == UNSPACED else sentence.language
    found = [_at(sentence, name, language or "english") for name in names]
    return min((place for place in found if place is not None), default=None)


def _at(sentence: Sentence, name: str, language: str) -> int | None:
    if sentence.language == UNSPACED:
        return 0 if name in sentence.text else None
    if " " not in name:
        return next((at for at, word in enumerate(sentence.words) if is_same_word(name, word)), None)
    wanted = [stems(word, language)[:1] for word in name.split()]
    held = [stems(word, language)[:1] for word in sentence.words]
    size = len(wanted)
    return next((at for at in range(len(held) - size + 1) if held[at : at + size] == wanted), None)


def is_same_word(name: str, word: str) -> bool:
    """Return whether a word is a name, or its plural or genitive, and not only a word with the same stem."""
    shorter, longer = sorted((name.lower().removesuffix("()"), word.lower().removesuffix("()")), key=len)
    return longer.startswith(shorter) and longer[len(shorter) :] in _ENDINGS


def is_called(text: str, names: Iterable[str]) -> bool:
    """Return whether a title or heading, or a part of it beside a colon or dash, is a name and one word more at most."""
    wanted = [stems(name) for name in names]
    for part in _PART.split(text):
        held = [stem for word in part.split() if word.lower() not in _SMALL for stem in stems(word)[:1]]
        if any(name and held[: len(name)] == name and len(held) <= len(name) + 1 for name in wanted):
            return True
    return False
