"""The reasoner without a model, for what a model failed to answer, or had no budget for: quoted passages, ranked by words.

All its text is quoted: it finds passages and judges nothing. A pure function answers each type of question, so the same question
always gets the same answer: there is no clock, no randomness, no network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar, cast

from pipeline.domain import reasoner_questions as q
from pipeline.domain.not_found_gate import stemmed_fact
from pipeline.domain.reasoner_questions import Question
from pipeline.domain.reasoner_questions.memory_questions import EpisodeQuestion, EpisodeSentences
from pipeline.domain.reasoner_questions.talk_questions import StandAlone, StandAloneQuestion, TalkQuestion, TalkReply
from pipeline.domain.values import EXTRACTIVE, Cost, Fact, Paragraph, Perspective, SectionPlan, Sentence, Value, Verdict
from pipeline.errors import AnswerInvalid
from pipeline.ports import Answer
from pipeline.text.normalise import holds_quote, normalised, one_line, tokens
from pipeline.text.ranking.greedy_coverage import chosen_passages
from pipeline.text.ranking.passages import Passage, passages, text_key, without_open_end
from pipeline.text.ranking.query_terms import content_stems, parse_question
from pipeline.text.ranking.rank_fusion import page_origin, with_shares
from pipeline.text.ranking.scoring import BEST, BROAD_COVERAGE, StemmedText, is_broad, scores, statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import DEFAULT_LANGUAGE, word_count

A = TypeVar("A", bound=Value)

SUMMARY = "summary"
_SUMMARY_WORDS = 150
_REPORT_WORDS = 1_500
_NARROW_WORDS = 850  # most words below the summary of a narrow report: on 63 questions, no answer was further down
_ANSWER_SHARE = 0.8  # least share of the best score for a further passage of an answer to a question asked back
_GAP_PASSAGES = 3
_ANSWER_PASSAGES = 3
_DOCUMENTS = 3  # of a report: with more, one of 102 narrow questions more was answered, far down
_FREE = Cost(model_requested=EXTRACTIVE, model=EXTRACTIVE)


def perspectives(question: q.PerspectivesQuestion) -> q.Perspectives:
    """Return one perspective: the question, with a search for each of its parts."""
    asked = tuple(dict.fromkeys((question.query, *parse_question(question.query).parts)))
    view = Perspective(
        id="basic-facts", name="The question itself", focus="What the sources say to the question", questions=asked
    )
    return q.Perspectives(perspectives=(view,))


def think(question: q.ThoughtQuestion) -> q.Thought:
    """Return the perspective's questions that have not been searched for; none if all have."""
    asked = {query.casefold() for query in question.asked}
    fresh = [query for query in dict.fromkeys(question.perspective.questions) if query.casefold() not in asked][: question.limit]
    return q.Thought(reasoning=f"Search for: {'; '.join(fresh)}" if fresh else "All has been searched for.", queries=tuple(fresh))


def observe(question: q.ObservationQuestion) -> q.Observation:
    """Return the page's passages that share words with a question, or are near to one by meaning, best first."""
    if question.part == "rest":
        return q.Observation(findings=())
    language = question.statistics.language or DEFAULT_LANGUAGE
    cut, texts = passages(question.text), _stemmed_passages(question.text, language)
    known = question.statistics if question.statistics.passages else statistics_of(texts)
    asked = dict.fromkeys(text for view in question.perspectives for text in view.questions)
    known_cosines = {normalised(text): cosine for text, cosine in question.near}
    cosines = [known_cosines.get(normalised(one.body)) for one in cut]
    best: dict[int, tuple[float, str]] = {}
    for text in asked if question.part == "gap" else dict.fromkeys((question.query, *asked)):
        for place, score in enumerate(scores(parse_question(text, language), texts, known, cosines)):
            if score > 0:
                best[place] = max(best.get(place, (0.0, "")), (round(score / BEST, 4), text))
    ranked = sorted(best, key=lambda place: (-best[place][0], place))[
        : _GAP_PASSAGES if question.part == "gap" else question.limit
    ]
    return q.Observation(findings=tuple(_finding(cut[place], *best[place], cosines[place]) for place in ranked))


def _finding(passage: Passage, score: float, asked: str, cosine: float | None) -> q.Finding:
    return q.Finding(
        claim=passage.text,
        quote=passage.text,
        question=asked,
        relevance=score,
        lead=passage.lead,
        near=passage.start,
        cosine=cosine,
    )


@lru_cache(maxsize=48)
def _stemmed_passages(text: str, language: str) -> tuple[StemmedText, ...]:
    """Return a page's passages prepared for ranking; cached, as several sessions of a night read the same page."""
    return tuple(StemmedText.of(one.body, one.headings, language) for one in passages(text))


def distinct_facts(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts, each text once, without those that only introduce what is not in them."""
    found: dict[str, Fact] = {}
    for fact in sorted((one for one in facts if without_open_end(one.quote)), key=lambda fact: (fact.url, fact.id)):
        found.setdefault(text_key(fact.quote, fact.heading), fact)
    return list(found.values()) or list(facts)


def chosen_facts(query: str, facts: Sequence[Fact], known: TermStatistics, words: int) -> list[Fact]:
    """Return the passages of a report of ``words`` words, the best first, each text once: by score, at most 1,000 words; or
    of a broad question by what each adds. They are from three documents at most.
    """
    question = parse_question(query, known.language)
    own = distinct_facts(facts)
    texts = [stemmed_fact(fact, question.language) for fact in own]
    cosines = [fact.cosine for fact in own]
    ranking = _ranking(scores(question, texts, known, cosines))
    by_words = scores(question, texts, known)  # cosines lie close together, whatever is asked
    if not is_broad(question, [by_words[place] for place in _ranking(by_words)]):
        pages = _best_pages(own[place].url for place in ranking)
        best = [own[place] for place in ranking if own[place].url in pages]
        return _within(best or own[:1], min(words, _SUMMARY_WORDS + _NARROW_WORDS))
    strength = scores(question, texts, known, cosines, BROAD_COVERAGE)
    rankings = [_ranking(strength)]
    if len(question.parts) > 1:
        rankings += [_ranking(scores(parse_question(part, question.language), texts, known)) for part in question.parts]
    order = chosen_passages(rankings, strength, texts, known, words)
    pages = _best_pages(own[place].url for place in [*ranking[:1], *order])
    rankings = [[place for place in one if own[place].url in pages] for one in rankings]
    order = chosen_passages(rankings, strength, texts, known, words)
    return [own[place] for place in dict.fromkeys([*ranking[:1], *order])]


def _best_pages(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the first three pages; own documents and the web each have their share."""
    return with_shares(tuple(dict.fromkeys(urls)), _DOCUMENTS, page_origin)


def _ranking(strength: Sequence[float]) -> list[int]:
    places = (place for place, score in enumerate(strength) if score > 0)
    return sorted(places, key=lambda place: (-round(strength[place], 9), place))


def _within(facts: Sequence[Fact], words: int) -> list[Fact]:
    """Return the first fact and those after it that fit into ``words`` words in total."""
    taken: list[Fact] = []
    for fact in facts:
        length = word_count(f"{fact.lead} {fact.quote}")
        if not taken or length <= words:
            taken.append(fact)
            words -= length
    return taken


def outline(question: q.OutlineQuestion) -> q.Outline:
    """Return a section for each document of the body, under its title: the best first, its passages in their order."""
    ranked = chosen_facts(question.query, question.facts, question.statistics, question.words + _SUMMARY_WORDS)
    opening = _within(ranked, _SUMMARY_WORDS)
    body = [fact for fact in ranked if fact not in opening] or opening[-1:]
    by_page: dict[str, list[Fact]] = {}
    for fact in body:
        by_page.setdefault(fact.url, []).append(fact)
    plans = [
        SectionPlan(
            id=f"s-{number}",
            title=facts[0].path[0] if facts[0].path else url,
            facts=tuple(fact.id for fact in sorted(facts, key=lambda fact: fact.start)),
        )
        for number, (url, facts) in enumerate(by_page.items())
    ]
    return q.Outline(title=_title_of(question.query), sections=tuple(plans))


def _title_of(query: str) -> str:
    """Return the query as a title: on one line, with a capital first letter unless it begins with an identifier."""
    plain = " ".join(query.split())
    first = plain.split(" ", 1)[0]
    return plain[:1].upper() + plain[1:] if first.isalpha() and first.islower() else plain


def write(question: q.SectionQuestion) -> q.SectionText:
    """Return the section's passages as paragraphs; of the summary the best passages of all."""
    known = {fact.id: fact for fact in question.facts}
    if question.section.id == SUMMARY:
        ranked = chosen_facts(question.query, question.facts, question.statistics, _REPORT_WORDS)
        facts: Sequence[Fact] = _within(ranked, question.words)
    else:
        facts = [known[name] for name in question.section.facts if name in known]
    return q.SectionText(paragraphs=tuple(Paragraph(sentences=(_quoted(fact),), kind="passages") for fact in facts))


def _quoted(fact: Fact) -> Sentence:
    return Sentence(text=without_open_end(fact.quote) or fact.quote, facts=(fact.id,))


def fold(question: q.FoldQuestion) -> q.FoldedContext:
    """Return the claims of the most relevant new facts, one a line, then the earlier summary's lines, within the limit."""
    ranked = sorted(question.facts, key=lambda fact: (-fact.relevance, fact.id))
    lines: list[str] = []
    left = question.limit_tokens
    for line in dict.fromkeys([*(fact.claim for fact in ranked), *question.summary.splitlines()]):
        cost = tokens(line + "\n")
        if line.strip() and cost <= left:
            lines.append(line)
            left -= cost
    return q.FoldedContext(summary="\n".join(lines), mode="granular")


def check(question: q.ClaimCheckQuestion) -> q.ClaimCheck:
    """Return one verdict a sentence, then one a heading: supported is what the cited quotes hold."""
    facts = {fact.id: fact for fact in question.facts}
    quotes = content_stems(" ".join(fact.quote for fact in question.facts))
    verdicts = [
        Verdict(
            sentence=place,
            supported=held,
            reason="It occurs word for word in a quote." if held else "It is in no quote it cites.",
        )
        for place, sentence in enumerate(question.sentences)
        for held in [any(holds_quote(facts[name].quote, sentence.text) for name in sentence.facts if name in facts)]
    ]
    verdicts += [
        Verdict(sentence=place, supported=held, reason="" if held else "The quotes lack some of its words.")
        for place, text in enumerate(question.headings, start=len(verdicts))
        for held in [content_stems(text) <= quotes]
    ]
    overstated = tuple(name for name in question.claims if not holds_quote(facts[name].quote, facts[name].claim))
    return q.ClaimCheck(verdicts=tuple(verdicts), overstated=overstated)


def stand_alone(question: StandAloneQuestion) -> StandAlone:
    """Return the question; one that goes on with another has that one's words too."""
    text = one_line(question.query, 600)
    return StandAlone(question=f"{text} ({question.history[-1].question})" if question.history else text)


def answer(question: TalkQuestion) -> TalkReply:
    """Return the best passage, and up to two others that are nearly as good, while they have ``words`` words together."""
    query = parse_question(question.query, question.statistics.language)
    own = distinct_facts(question.facts)
    texts = [stemmed_fact(fact, query.language) for fact in own]
    strength = scores(query, texts, question.statistics, [fact.cosine for fact in own])
    ranking = _ranking(strength)[:_ANSWER_PASSAGES]
    near = [own[place] for place in ranking if strength[place] >= _ANSWER_SHARE * strength[ranking[0]]] or own[:1]
    return TalkReply(sentences=tuple(_quoted(fact) for fact in _within(near, question.words)))


# The last seven are asked where a model's budget is spent, or by a session that an earlier version left open.
_ANSWERS: Mapping[type[Question[Any]], Callable[[Any], Value]] = MappingProxyType(
    {
        q.PerspectivesQuestion: perspectives,
        q.ThoughtQuestion: think,
        q.ObservationQuestion: observe,
        q.OutlineQuestion: outline,
        q.SectionQuestion: write,
        StandAloneQuestion: stand_alone,
        TalkQuestion: answer,
        q.FoldQuestion: fold,
        q.EvaluationQuestion: lambda _question: q.Evaluation(gaps=()),
        q.CrossCheckQuestion: lambda _question: q.CrossCheck(facts=()),
        q.GapsQuestion: lambda _question: q.Gaps(gaps=()),
        q.RevisionQuestion: lambda question: q.Revision(
            edits=tuple(q.Edit(place=place, drop=True) for place in range(len(question.sentences)))
        ),
        q.EditingQuestion: lambda _question: q.Editing(),
        q.ClaimCheckQuestion: check,
        EpisodeQuestion: lambda _question: EpisodeSentences(sentences=()),
    }
)


class PassageReasoner:
    """Answers every question of ``pipeline.domain.reasoner_questions`` by a function for its type, at no cost."""

    name = EXTRACTIVE

    async def answer(self, question: Question[A]) -> Answer[A]:
        """Answer one question.

        Raises:
            AnswerInvalid: there is no function for this type of question.
        """
        function = _ANSWERS.get(type(question))
        if function is None:
            raise AnswerInvalid(
                f"a question of type {type(question).__name__} needs a language model",
                hint="set `reasoner:` to a language model in queries.yaml",
            )
        return Answer(cast(A, function(question)), _FREE)
