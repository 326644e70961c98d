"""The notes of the morning: a night with what it found, the home note, the topics, the picture of thirty nights; and the digest.

The digest is a night as plain text, for a terminal and for mail. It is read from the log alone: the vault need not be built.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pipeline.domain.events.night_events import QueryEnded
from pipeline.domain.summary import SAYS_MORE, counted_outcomes, status_words
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.text import translations
from pipeline.text.cleaning import grouped, name_slug, one_line
from pipeline.text.humanize import bill, duration
from pipeline.text.times import timestamp
from pipeline.vault.note import HOME, View
from pipeline.vault.notes.parts import answer_of, best_link, properties_of, topic_links, topic_path
from pipeline.vault.output.escaping import Inert, Link, sentence
from pipeline.vault.output.templates import shipped
from pipeline.vault.output.writer import GeneratedFile
from pipeline.vault.read_model import LONGEST_ANSWER, ON_HOME, Card, News, Night, VaultModel, read_card

_NIGHTS = 30  # in the picture

# The groups of a night's questions, with their headings in the digest.
_GROUPS = {
    "changed": "What changed",
    "answered": "Answered",
    "passages": "Passages",
    "not-found": "Not found",
    "failed": "Failed",
    "open": "Unfinished",
    "quiet": "Nothing new",
}
Question = tuple[QueryEnded, Card | None, str]
_REPORTED = ("changed", "answered", "passages")  # of the others there is no report to show
WIDTH = 72  # characters of a line, as mail readers like it
_LONGEST = 2_000  # characters of a text in a digest


def group_of(status: str, card: Card | None) -> str:
    """Return where a question stands in the morning, by how its session ended: what changed comes first.

    ``quiet``: it was researched again, and nothing is new, or it was not found again.
    """
    if card and card.missed_again and status in ("complete", "not-found"):
        return "quiet"
    if status != "complete":
        return "not-found" if status == "not-found" else "failed" if status == "failed" else "open"
    if card and card.outcome == "not-found":  # so a model says, whatever it found
        return "not-found"
    if card and card.says_more:
        return "changed" if card.outcome == "passages" else "answered"
    news = card.news if card else None
    if news and (news.count or news.lost or news.other):
        return "changed"
    return "quiet" if news else "passages" if card and card.outcome == "passages" else "answered"


def ended_as(status: str, card: Card | None) -> str:
    """Return the outcome of a question in a night; ``failed`` or ``open`` without one."""
    if status == "complete":
        return card.outcome if card and card.outcome else "answered"
    return status if status in ("not-found", "failed") else "open"


def standing_words(card: Card) -> str:
    """Return how many sources the report cites, and what they deny: ``3 sources``, ``2 sources, disputed``.

    ``disputed`` is the answer itself; of what else sources disagree on, the number is said. Then comes why a model failed, and
    which name of the question no passage mentions.
    """
    sources = translations.count(len(card.cited), "source") if card.cited else ""
    others = translations.count(card.disagreements, "disagreement") if card.disagreements else ""
    why = card.end_reason if card.has_report else ""
    lacks = f"not found: {card.lacks}" if card.lacks and card.outcome == "in-part" else card.lacks
    return ", ".join(filter(None, (sources, "disputed" if card.disputed else others, why, lacks)))


def questions_of(night: Night, cards: Iterable[tuple[QueryEnded, Card | None]]) -> list[Question]:
    """Return a night's questions with their ``cards``, each with its group.

    What ended without an answer is in the order of work. Of the others come first new ones, then those of which a change is
    nearest to the question; of equal ones the newest.
    """

    def place(one: tuple[QueryEnded, Card | None]) -> tuple[float, int]:
        entry, card = one
        if not card or entry.status != "complete" or card.outcome == "not-found":
            return -2.0, 0
        near = 2.0 if card.is_new or card.says_more else card.news.near if card.news else 0.0
        return -near, night.ages[entry.query_id]

    ages = night.ages
    marked = ((one, card and replace(card, is_new=not (ages[one.query_id] or card.previous_session))) for one, card in cards)
    return [(entry, card, group_of(entry.status, card)) for entry, card in sorted(marked, key=place)]


def news_words(card: Card) -> str:
    """Return what changed: ``not found last time``, ``4 new, 1 gone since 14 May 2026``; "" if nothing."""
    news = card.news
    if card.says_more == "not-found" or not news:
        return "not found last time" if card.says_more else "new question" if card.is_new else ""
    since = f" since {translations.day(news.since)}" if news.since else ""
    counts = {"new": news.added, "changed": news.changed, "gone": news.gone}
    words = [f"{number:,} {word}" for word, number in counts.items() if number]
    return "; ".join(filter(None, (f"{', '.join(words)}{since}" if words else "", news.other)))


def entry_of(model: VaultModel, card: Card, longest: int = LONGEST_ANSWER) -> View:
    """Return the report of a card in short: what is new, the answer, how sure it is, what changed, what is open.

    ``longest``: characters of the answer.
    """
    news = card.news or News("")
    return {
        "report": best_link(card),
        "lost": news.lost,
        "new": news.first,
        "altered": news.altered,
        "vanished": news.vanished,
        "outcome": status_words(card.outcome),
        "first": answer_of(model, card, longest),
        "standing": standing_words(card),
        "news": news_words(card),
        "open": card.open,
        "answered": card.outcome != "passages",
        "before": _better_before(model, card),
    }


def night_note(model: VaultModel, night: Night) -> GeneratedFile:
    """Return the note of a night."""
    view, counts = night_view(model, night), _outcomes(model, night)
    own = {
        "done": counts.total() - counts["not-found"] - counts["failed"] - counts["open"],
        "not_found": counts["not-found"],
        "failed": counts["failed"],
        "cost_usd": round(night.cost.charged_usd, 6),
    }
    properties = properties_of("night", view["title"], own, created=timestamp(night.began))
    return GeneratedFile(f"night:{night.date}", f"nights/{night.date}.md", kind="night", properties=properties, view=view)


def night_view(model: VaultModel, night: Night, longest: int = LONGEST_ANSWER) -> View:
    """Return what a night's note says, as ``entry_of``; a query counts once, as its last run of the night left it."""
    found = dict[str, list[Any]]((group, []) for group in _GROUPS)
    shown = (one for one in night.last if one.session not in model.hidden)
    cards = ((one, model.by_id.get(one.session) if one.session else model.latest_on(one.query_id)) for one in shown)
    for entry, card, group in questions_of(night, cards):
        if group in ("not-found", "failed", "open"):  # no answer: the link to its note, else the question, and why
            outcome, reason = "cancelled" if entry.status == "cancelled" else "", entry.reason
            if card and card.has_report and card.ended_at > entry.at:
                outcome, reason = f"finished since, {translations.day(card.ended_at)}", ""
            if card and not (card.read or card.ended or card.waiting):  # its session is empty: the report before says more
                card = next((one for one in model.reported_before(card) if one.id not in model.hidden), card)
            outcome = outcome or ("" if not card or card.has_note or group == "failed" else "how far it came")
            link, before = best_link(card) if card else entry.query, _better_before(model, card) if card else None
            found[group].append({"link": link, "outcome": outcome, "reason": reason, "found_before": before})
        elif card:
            found[group].append(entry_of(model, card, longest))
    skipped = ((model.latest_on(name), entry) for name, entry in night.left_out.items())
    return {
        "title": f"Night of {translations.day(night.date)}",
        "words": _words(night, _outcomes(model, night)),
        **{group.replace("-", "_"): rows for group, rows in found.items()},
        "skipped": [{"query": best_link(card) if card else entry.query, "reason": entry.reason} for card, entry in skipped],
        "asked": answered_in_notes(model, night),
        "not_made": night.not_made,
        "unread": night.batches[-1].started.unread,
        "batches": night.batches,
        "seconds": night.seconds,
        "cost": bill(night.cost.charged_usd, night.cost.assumed_usd, night.cost.expected_usd),
    }


def _better_before(model: VaultModel, card: Card) -> Link | None:
    """Return the link to the latest report before that has more than this one, and was not called wrong."""
    before = (one for one in model.reported_before(card) if one.rating != "wrong" and one.id not in model.hidden)
    one = next((one for one in before if one.outcome in SAYS_MORE.get(card.outcome, ())), None)
    how = "passages" if one and one.outcome == "passages" else "answered"
    return Link(one.report_path, f"{how} on {translations.day(one.reported_at)}") if one else None


def answered_in_notes(model: VaultModel, night: Night) -> dict[Link | str, str]:
    """Return the questions in notes that a night answered, linked to where the answers are, and how these begin."""
    found = dict[Link | str, str]()
    for note, text, answer in night.answered:
        kind, _, name = note.partition(":")
        place = best_link(model.by_id[name]).path if name in model.by_id else topic_path(name) if kind == "topic" else ""
        found[Link(place, text) if place else text] = answer
    return found


def due_next(nights: Sequence[Night]) -> tuple[str, str, str, int]:
    """Return when questions are due next, as the last run of a night without work knew; else no words.

    After that come the id of the first and its words, and how many others are due on that day.
    """
    begun = nights[-1].batches[-1].started if nights and not nights[-1].last else None
    if not begun or not begun.next_at or not begun.queries:  # a question that was forgotten is not among them any more
        return "", "", "", 0
    when = f"Next, {'on' if ' ' in begun.next_at else 'in the night to'} {translations.day(begun.next_at)}"
    return when, *next(iter(begun.queries.items())), len(begun.queries) - 1


def home_note(model: VaultModel) -> GeneratedFile:
    """Return the home note: the last night in which something was due, and whether one without work came after it.

    If that night answered nothing, ``before`` is the last one that did.
    """
    last, cards = next((night for night in reversed(model.nights) if night.last), None), model.by_id.values()
    ended = (night for night in reversed(model.nights) if any(one.status in ("complete", "not-found") for one in night.last))
    good = next(ended, last)
    newest = model.nights[-1] if model.nights else None
    worked = {entry.query_id for night in (last, good) if night for entry in night.last}
    questions = [same for same in of_questions(cards) if same[-1].query_id not in worked or not same[-1].query_id]
    unanswered = [same[-1] for same in questions if not same[-1].has_note and same[-1].query_id not in model.archived]
    older = [card for same in questions if (card := latest(same)).has_note]
    topics = topics_of(cards)
    named = sorted(topics, key=lambda topic: (-len(of_questions(topics[topic])), topic))
    reports = [card for card in cards if card.has_report and card.id not in model.hidden]
    when, name, query, more = due_next(model.nights)
    waiting = model.latest_on(name)
    own = {"reports": len(reports), "sessions": len(cards), "sources": len({url for card in reports for url in card.cited})}
    view = {
        "title": "Research",
        "idle": f"Night of {translations.day(newest.date)}: nothing was due." if newest and newest is not last else "",
        "next": {"when": when, "question": best_link(waiting) if waiting else query, "more": more} if when else None,
        "unread": newest.batches[-1].started.unread if newest else (),
        "asked": answered_in_notes(model, newest) if newest else {},
        "night": night_view(model, last, ON_HOME) if last else None,
        "night_link": Link(f"nights/{last.date}", translations.day(last.date)) if last else None,
        "before": night_view(model, good, ON_HOME) if good and good is not last else None,
        "before_link": Link(f"nights/{good.date}", translations.day(good.date)) if good else None,
        "outcomes": sorted({name for night in model.nights[-_NIGHTS:] for name in _outcomes(model, night)}),
        "attention": [
            {
                "session": best_link(card),
                "outcome": card.status if card.ended else "its plan waits for approval" if card.waiting else "unfinished",
                "reason": card.end_reason,
                "at": card.ended_at or card.started_at,
            }
            for card in unanswered
        ],
        "older": [
            {"link": best_link(card), "outcome": card.outcome, "archived": card.query_id in model.archived} for card in older
        ],
        "topics": topic_links(topic_title(topic, topics[topic]) for topic in named),
        "reports": own["reports"],
        "sources": len(model.sources),
    }
    return GeneratedFile("home:", f"{HOME}.md", kind="home", properties=properties_of("home", "Research", own), view=view)


def topics_of(cards: Iterable[Card]) -> dict[str, list[Card]]:
    """Return the cards of each topic by its slug, topics and cards in order; tags with the same slug are one topic."""
    return dict(sorted(grouped((topic, card) for card in cards for topic in dict.fromkeys(map(name_slug, card.tags))).items()))


def topic_note(model: VaultModel, topic: str, cards: Sequence[Card], asked: Sequence[View] = ()) -> GeneratedFile:
    """Return the note of a topic, given by its slug; ``cards`` are those of its sessions in order of their start.

    ``asked`` is what was asked about the topic.
    """
    questions = list(map(latest, of_questions(cards)))
    view = {
        "title": topic_title(topic, cards),
        "tag": Inert(f"topic/{topic}"),
        "answered": [{**entry_of(model, card), "new": (), "vanished": ""} for card in questions if card.has_report],
        "others": tuple(best_link(card) for card in questions if not card.has_report),
        "asked": asked,
    }
    own = {
        "questions": len(questions),
        "reports": sum(card.has_report for card in cards),
        "sources": len({url for card in questions for url in card.cited}),
        "open_questions": sum(len(card.open) for card in questions),
    }
    properties = properties_of("topic", topic_title(topic, cards), own, topics=(topic,), created=cards[0].started_at)
    return GeneratedFile(f"topic:{topic}", f"{topic_path(topic)}.md", kind="topic", properties=properties, view=view)


def of_questions(cards: Iterable[Card]) -> list[list[Card]]:
    """Return the sessions of each question in order of their start; the question that was asked last comes first."""
    return [same[::-1] for same in grouped((card.query_id or card.id, card) for card in reversed([*cards])).values()]


def latest(sessions: Sequence[Card]) -> Card:
    """Return a question's latest session with a report, or with what was not found; if there is none, its latest session."""
    return next((card for card in reversed(sessions) if card.has_note), sessions[-1])


def topic_title(topic: str, cards: Iterable[Card]) -> str:
    """Return the topic as it was first written."""
    return next((tag for card in cards for tag in card.tags if name_slug(tag) == topic), topic)


def picture(model: VaultModel) -> GeneratedFile:
    """Return the last thirty nights as an image: for each night a bar of the outcomes of its questions.

    Each bar has a text that a pointer shows: the day, the outcomes, and the cost.
    """
    bars = list[tuple[Counter[str], str]]()
    for night in model.nights[-_NIGHTS:]:
        counts = _outcomes(model, night)
        words = f"{translations.day(night.date)}: {_words(night, counts)}"
        bars.append((counts, ", ".join(filter(None, (words, bill(night.cost.charged_usd))))))
    text = shipped("thirty-nights.svg.j2", bars=bars, most=max([1, *(counts.total() for counts, _ in bars)]))
    return GeneratedFile("nights:", "nights/thirty-nights.svg", text)


def _outcomes(model: VaultModel, night: Night) -> Counter[str]:
    """How the questions of a night ended; a question counts once."""
    return Counter(ended_as(one.status, model.by_id.get(one.session)) for one in night.last if one.session not in model.hidden)


def _words(night: Night, counts: Counter[str]) -> str:
    """How many questions ended how, and whether that is all."""
    return f"{'' if night.batches[-1].end else 'interrupted or under way; '}{counted_outcomes(counts) or 'nothing was due'}"


@dataclass(frozen=True, slots=True)
class Digest:
    """A night's questions as their last run left them, each with its session's card, None if its log cannot be read.

    ``problems`` say what was not built, and what of the queue, the documents and the log cannot be read. ``next`` says of a night
    without work what is due next. ``heading`` is the night in a line, as a mail's subject: ``Night of 21 November 2026: 3
    answered, 1 failed``. ``asked`` are the questions in notes that were answered, with the sessions that they are about, and the
    answers' beginnings.
    """

    night: Night
    heading: str
    questions: tuple[Question, ...]
    problems: tuple[str, ...]
    next: str = ""
    asked: tuple[tuple[Card | None, str, str], ...] = ()


def digest_of(store: EventStore, nights: Sequence[Night], unread: Iterable[str] = (), today: str = "") -> Digest:
    """Return the digest of the last of ``nights``. A session that cannot be read is named, not left out.

    On a later day than the night's, if that is ``today``, the heading says that nothing was researched since.
    """
    night = nights[-1]

    def read(session: str) -> Card | None:
        with suppress(LogError):
            card = read_card(store, session) if session else None
            return card.after(read_card(store, card.previous_session)) if card and card.previous_session else card
        return None

    cards = [(entry, read(entry.session)) for entry in night.last]
    asked = tuple((read(name.partition(":")[2]), text, said) for name, text, said in night.answered)
    lost = (f"{entry.query}: its log cannot be read" for entry, card in cards if entry.session and card is None)
    problems = (*night.not_made, *night.batches[-1].started.unread, *unread, *lost)
    when, _, query, more = due_next(nights)
    query += f" (and {more:,} more)" if more else ""
    since = ", nothing was researched since" if night.date < today else ""
    words = _words(night, Counter(ended_as(one.status, card) for one, card in cards))
    heading = f"Night of {translations.day(night.date)}{since}: {words}"
    return Digest(night, heading, tuple(questions_of(night, cards)), problems, f"{when}: {query}" if when else "", asked)


def text_of(digest: Digest, place_of: Callable[[Card], str], form: str = "txt") -> list[str]:
    """Return a digest as lines; ``place_of`` says where a report is.

    ``form`` is ``txt``, with at most ``WIDTH`` characters a line, addresses aside, or ``html``, a page for mail: without styles,
    scripts and images. It has no control characters; what changed comes first.
    """
    night, left = digest.night, digest.night.left_out.values()
    groups = grouped((question[2], _row(question, place_of)) for question in digest.questions)
    asked = [(text, f"{said} ({place_of(card)})".strip() if card else said) for card, text, said in digest.asked]
    groups["asked"] = [{"query": one_line(text, _LONGEST), "reason": reason, "status": ""} for text, reason in asked]
    groups["left"] = [{"query": one_line(one.query), "reason": one_line(sentence(one.reason)), "status": ""} for one in left]
    titles = {**_GROUPS, "asked": "Answered in notes", "left": "Left out"}
    shown = shipped(
        f"digest.{form}.j2",
        digest=digest,
        figures=", ".join(filter(None, (duration(night.seconds) if night.seconds else "", bill(night.cost.charged_usd)))),
        groups=[(title, group in _REPORTED, groups[group]) for group, title in titles.items() if groups.get(group)],
        problems=[one_line(text, _LONGEST) for text in digest.problems],
        width=WIDTH,
    )
    return shown.rstrip("\n").split("\n")


def _row(question: Question, place_of: Callable[[Card], str]) -> View:
    """A question in a digest: what is new first, the answer, how sure it is, what is open; or why there is none."""
    one, card, _ = question
    news = card.news if card and card.news else News("")
    answer, part = card.answer if card else None, status_words(card.outcome) if card and card.outcome == "in-part" else ""
    words = {
        "query": f"{one.query} (still not found)" if card and card.missed_again else one.query,
        "reason": sentence(one.reason),
        "answer": answer.text.replace("**", "") if answer and not (news.first and card and card.outcome == "passages") else "",
        "sure": sentence("; ".join(filter(None, (part, standing_words(card), news_words(card))))) if card else "",
        "open": card.open[0] + (f" (and {len(card.open) - 1} more)" if len(card.open) > 1 else "") if card and card.open else "",
        "place": place_of(card) if card else "",
    }
    shown = {name: one_line(text, _LONGEST) for name, text in words.items()}
    return {**shown, "news": news, "status": one.status}
