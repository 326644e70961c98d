"""Names of what statements are about, found without a model. Pure.

A note about a fragment helps nobody, and one that lists passing mentions hardly anybody, so the rule is strict. A candidate
(``candidates``) counts if a document or a section is about it and a question asks for it, or reports quote much of that document;
or if several sources speak of it, something shows that it is a subject (a definition, a title, a question), and there is
something to say: sentences about it (``telling``), in statements or in the pages that they are from. In any case the note must be
able to open with what the thing is. They are ranked by the number of their statements, by the number of their sources, and by how
near they are to a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.domain.memory.naming.candidates import Candidate, candidates, is_rare
from pipeline.domain.memory.naming.evidence import Evidence, add_pages, defines, evidence, merge_pairs, merge_parts, passages
from pipeline.domain.memory.naming.own_documents import glossed_titles, retitled, subject_key, subjects_of
from pipeline.domain.memory.naming.prose import CAPITALISED_NOUNS, sentences_of
from pipeline.domain.memory.naming.telling import place_of
from pipeline.domain.memory.naming.united_names import united
from pipeline.domain.memory.naming.word_classes import CommonWords, is_acronym, is_generic, is_ordinary, may_name
from pipeline.domain.memory.values import NamedEntity, Statement, entity_id

METHOD = "phrases-7"  # methods sort by their age; with a new one, all is named again
LEAST_STATEMENTS, LEAST_PAGES = 2, 2
_HEADED = 3  # statements of a phrase that a question and a heading hold, but no statement defines
_NOUNS = 2  # sentences that use such a phrase as a noun
_ABOUT = 2  # sentences that begin with a name, for it to be a subject without a definition
_SPREAD = 3  # sources of an acronym that a heading holds, or of a piece of code that nothing explains
_MOST, _FEW = 0.2, 100  # a name in more of the statements is what all is about; below so many, any share counts
_BESIDE = 2  # sentences about a name beside its definition, for a note to be worth opening
_BESIDE_UNSOUGHT = 4  # the same for what no question holds, if reports quote only one of them
_BESIDE_UNDEFINED = 4  # sentences about a name that nothing defines, from two sources
# Sentences about a name of which nothing says what it is: of its own section or document; that reports quote.
_OF_ITS_OWN, _QUOTED = 3, 5
SHARED = 5  # reports that name an entity, for it to have a note in any case
_MUCH = 10  # sentences of a document that is called so and asked for, none of which begins with the name: a licence


@dataclass(frozen=True, slots=True)
class Ranked:
    """An accepted entity with its rank: the higher the more it is worth a note."""

    entity: NamedEntity
    score: float


def named_entities(
    statements: Iterable[Statement],
    questions: Iterable[str] = (),
    pages: Iterable[Statement] = (),
    reports: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> tuple[NamedEntity, ...]:
    """Return what the statements are about, the most worth a note first.

    ``questions`` are those that were researched; ``reports`` are the ids of the sessions that made a statement, by its fact.
    ``pages`` are blocks of the pages that were read, as statements without a fact id: they say more of what statements name.
    """
    blocks, asked = tuple(pages), tuple(questions)
    titles = glossed_titles(blocks)
    known = tuple(retitled(statements, titles))
    sentences = sentences_of(known)
    found = candidates(sentences, known, asked)
    held = evidence(found, sentences, asked)
    read = sentences_of(retitled(blocks, titles))
    add_pages(found, held, read)
    common = CommonWords()
    common.add(one.words for one in (*sentences, *read))
    merge_pairs(found, held)
    merge_parts(found, held)
    most = max(_FEW * _MOST, _MOST * len(known))
    most_pages = len({one.url for one in known}) / 2
    ranked = [
        Ranked(_entity(one, held[key]), _score(one, held[key]))
        for key, one in sorted(found.items())
        if _is_shared_noun(one, held[key], reports, most_pages)
        or (not _is_common(one, common) and _has_note(one, held[key], most, reports))
    ]
    ordered = sorted(ranked, key=lambda one: (-one.score, one.entity.id))
    return united(one.entity for one in ordered)


def _has_note(one: Candidate, held: Evidence, most: float, reports: Mapping[str, Iterable[str]]) -> bool:
    """Return whether a name is a text's subject or worth a note, and the note can say what it is or many reports share it."""
    is_shared = one.kind != "term" and held.told >= _BESIDE and _reports_of(held, reports) >= SHARED
    if not is_shared and not _says_what_it_is(one, held):
        return False
    return _is_subject_of_a_text(one, held) or (_is_accepted(one, held, most) and (is_shared or _is_worth_a_note(one, held)))


def _reports_of(held: Evidence, reports: Mapping[str, Iterable[str]]) -> int:
    return len({name for fact in held.facts for name in reports.get(fact, ())})


def _is_shared_noun(one: Candidate, held: Evidence, reports: Mapping[str, Iterable[str]], most_pages: float) -> bool:
    """Return whether five reports and two sources share a rare noun of a language that capitalises all nouns.

    There a capital shows no name, but a word that no list of everyday words has is one: a river, a mill, a device. What more
    than ``most_pages`` sources hold is what all is about.
    """
    rare = held.language in CAPITALISED_NOUNS and is_rare(one.name)
    spread = LEAST_PAGES <= len(held.pages) <= max(SHARED, most_pages)
    told = held.told >= _BESIDE
    return one.kind == "term" and rare and spread and told and _reports_of(held, reports) >= SHARED


def _is_common(one: Candidate, common: CommonWords) -> bool:
    """Return whether the texts use a name as an ordinary noun; a term may be one if it is defined."""
    if _is_branded(one.name) or "certain" in one.marks or (one.kind == "term" and "defined" in one.marks):
        return False
    return common.is_common(one.name)


def _is_subject_of_a_text(one: Candidate, held: Evidence) -> bool:
    """Return whether a document or a section is about a name, and a question asks for it or reports quote much of that text.

    Such a name needs no second source. An everyday word, and a term that only a section is called, must be defined.
    """
    words = one.name.split()
    if is_generic(one.name) or not any(map(may_name, words)):
        return False
    defined = bool(one.marks & {"defined", "glossed"})
    if len(words) == 1 and _is_everyday(one, held) and not defined:
        return False
    if not held.asked:
        begins = held.opening is not None and place_of(held.opening, one.spellings) in (0, 1)
        named = one.kind != "term" or any(found.fact for found in held.telling.values())
        return named and held.is_quoted_much and "titled" in one.marks and (defined or begins)
    if one.kind == "term" and not defined and "titled" not in one.marks:
        return bool(held.own) and held.told >= _OF_ITS_OWN and _is_noun_of_its_own(one, held)
    headed = one.kind != "term" and "headed" in one.marks and (held.alone or is_acronym(one.name))
    return held.told >= _OF_ITS_OWN and bool(headed or held.own)


def _is_everyday(one: Candidate, held: Evidence) -> bool:
    """Return whether all words of a spelling are of everyday language."""
    return any(all(is_ordinary(word, held.language) for word in name.split()) for name in one.spellings)


def _is_noun_of_its_own(one: Candidate, held: Evidence) -> bool:
    """Return whether a term is rare, or sentences begin with it, and it is used as a noun."""
    if _is_everyday(one, held):
        return False
    if "called" in one.marks and is_rare(one.name):
        return True
    return (" " in one.name or held.nouns >= _NOUNS) and (is_rare(one.name) or len(held.about) >= _ABOUT)


def _says_what_it_is(one: Candidate, held: Evidence) -> bool:
    """Return whether a note can open with what the thing is, or a question asks for it and there is enough to do without.

    Enough is: three sentences of a section or a document that is called so and has a sentence that begins with the name (a
    section that is called by a name in capitals, and ten sentences of a document, need not have one); or reports quote five
    sentences about it, or four of a name of several words, which says by itself what it is.
    """
    if one.marks & {"defined", "glossed"} or held.opening is not None:
        return True
    if not held.asked:
        return False
    quoted = [found for found in held.telling.values() if found.fact and found.statement.cited]
    called = {subject_key(name) for name in one.spellings}
    headings = {found.statement.heading for found in held.own.values() if found.statement.heading != found.statement.title}
    begins = any(place_of(found, one.spellings) in (0, 1) for found in held.own.values())
    has_section = any(not called.isdisjoint(subjects_of(heading)) for heading in headings)
    if held.told >= _MUCH and "titled" in one.marks and held.own:
        return True
    called_so = (has_section and (begins or one.kind == "name")) or (begins and "titled" in one.marks)
    if held.told >= _OF_ITS_OWN and called_so:
        return True
    return len(quoted) >= _QUOTED - (" " in one.name) and len(held.alone) >= _OF_ITS_OWN


def _is_worth_a_note(one: Candidate, held: Evidence) -> bool:
    """Return whether a name is defined and two sentences more are about it, or four are."""
    names = {*one.spellings, *one.sayings}
    opening = held.opening.text if held.opening else ""
    defining = {text for text, found in held.telling.items() if defines(found, names) or text == opening}
    if one.marks & {"defined", "glossed"} or (held.opening and held.asked):
        beside = len(held.telling) - bool(defining)
        quoted = sum(bool(found.fact) for found in held.telling.values()) - any(held.telling[text].fact for text in defining)
        return beside >= _BESIDE if held.asked else quoted >= _BESIDE or (quoted > 0 and beside >= _BESIDE_UNSOUGHT)
    if one.kind == "term" and _is_everyday(one, held):
        return False
    sources = {found.statement.url for found in held.telling.values()}
    alone = bool(held.alone) or one.kind != "name" or is_acronym(one.name)
    enough = len(held.telling) >= _BESIDE_UNDEFINED and len(sources) >= LEAST_PAGES and alone
    return enough and (held.asked or "titled" in one.marks)


def _is_accepted(one: Candidate, held: Evidence, most: float) -> bool:
    """Return whether two sources speak of a name that may be a subject."""
    marks = one.marks | ({"asked"} if held.asked else set())
    enough = len(held.facts) >= (1 if held.read else LEAST_STATEMENTS) and len(held.pages) >= LEAST_PAGES
    return enough and (one.kind != "term" or len(held.facts) <= most) and _is_subject(one, held, marks)


def _is_subject(one: Candidate, held: Evidence, marks: set[str]) -> bool:
    name = one.name
    words = name.split()
    if len(words) == 1 and not may_name(name):
        return False
    if one.kind == "term":
        return _is_term(name, held, marks)
    explained = bool(marks & {"defined", "titled", "documented", "expanded"}) or ("chapter" in marks and not is_ordinary(name))
    if len(words) == 1 and is_acronym(name):
        return explained
    if one.kind == "code":
        return (explained or held.asked) and (held.is_quoted_much or not ("titled" in marks and is_ordinary(name)))
    if " " in name:
        return _is_full_name(name, held) and (explained or held.asked or len(held.about) >= _ABOUT)
    if is_ordinary(name):
        return bool(marks & {"defined", "titled"}) and held.asked
    return explained or held.asked or len(held.about) >= _ABOUT or _is_branded(name)


def _is_full_name(name: str, held: Evidence) -> bool:
    """Return whether no noun follows the name in most sentences ("Postfix SMTP server"), and it is no heading in capitals."""
    return 2 * held.nouns >= len(held.named) and not (name.isupper() and all(map(is_ordinary, name.split())))


def _is_branded(name: str) -> bool:
    """Return whether a name has capitals inside, as products have: SQLite, JavaScript."""
    return name.isalpha() and any(map(str.isupper, name[1:])) and not name.isupper()


def _is_term(name: str, held: Evidence, marks: set[str]) -> bool:
    """A term is defined, and sentences begin with it or a question holds it; an everyday word must be asked for."""
    if is_generic(name) or not (marks & {"defined", "expanded", "titled", "headed"} or is_rare(name)):
        return False
    ordinary = all(is_ordinary(word) for word in name.split())
    if ordinary and " " not in name:
        return ("certain" in marks and name[0].isupper()) or ({"defined", "titled"} <= marks and 2 * held.home >= len(held.facts))
    if held.asked:
        return bool(marks & {"defined", "expanded"}) or (held.nouns >= _NOUNS and len(held.facts) >= _HEADED)
    enough = not ordinary or len(held.facts) >= _HEADED
    return "defined" in marks and enough and (bool(held.about) or len(set(held.facts.values())) >= _SPREAD)


def _score(one: Candidate, held: Evidence) -> float:
    near = 2.0 if held.asked else 1.5 if "titled" in one.marks else 1.0
    known = 1.5 if one.marks & {"defined", "titled"} else 1.0
    return (len(held.facts) + len(held.about)) * len(set(held.facts.values())) * near * known


def _entity(one: Candidate, held: Evidence) -> NamedEntity:
    name = one.name
    spellings = sorted(one.spellings, key=lambda text: (-one.spellings[text], text))
    aliases = dict.fromkeys(text for text in (*spellings, *sorted(one.sayings)) if text != name)
    return NamedEntity(
        id=entity_id(name),
        name=name,
        kind=one.kind,
        aliases=tuple(aliases),
        statements=tuple(held.facts),
        passages=passages(one, held),
    )


def with_known_ids(named: Iterable[NamedEntity], known: Iterable[NamedEntity]) -> tuple[NamedEntity, ...]:
    """Return the entities; what had an id under one of its names keeps it, so that a person's note of it stays one note."""
    ids = {one.name: one.id for one in known}
    taken: set[str] = set()
    found: list[NamedEntity] = []
    for one in named:
        before = (ids[name] for name in (one.name, *one.aliases) if name in ids)
        free = next((name for name in (*before, one.id) if name not in taken), "")
        if free:
            taken.add(free)
            found.append(one.model_copy(update={"id": free}))
    return tuple(found)
