"""Prompts: what a template is given of a question, its rendering, and delimiters around fetched text, which no page can guess.

The code in a delimiter derives from a secret, from the material's key and from the material itself. So the same material has the
same delimiters in all prompts of a session, and a cache can serve it. The secret is never stored. The log's exchanges show codes,
but a page cannot contain its own code: with the code in it, it would be other material and have another code.
"""

from __future__ import annotations

import hmac
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pipeline.domain import reasoner_questions as q
from pipeline.domain.research_values import Fact
from pipeline.errors import TemplateInvalid
from pipeline.reasoners.model.capabilities import Message
from pipeline.text.cleaning import clean, one_line, tokens
from pipeline.text.quotes import holds_quote
from pipeline.text.words import word_count

_ANGLES = "<＜‹«〈《"
_LOOK_ALIKE = re.compile(rf"(?<![{_ANGLES}])[{_ANGLES}]{{2,}}+(?=\s{{0,3}}(?:end\s{{1,3}})?material)", re.IGNORECASE)

_TELLING = 3  # words of a heading that says by itself what it is about


class Material(str):
    """Text that is already inside delimiters; a template prints it unchanged."""

    __slots__ = ()


class Delimiters:
    """Makes the delimiters of one session's prompts from ``secret`` (16 random bytes or more)."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def block(self, key: str, text: str) -> Material:
        """Return ``text`` between an opening and a closing line that carry ``key`` and a code."""
        safe = harmless(text)
        label = f"material {key} {self.code(key, safe)}"
        return Material(f"<<{label}>>\n{safe}\n<<end {label}>>")

    def code(self, key: str, text: str) -> str:
        """Return the code for a key and its material: 16 hex digits."""
        return hmac.new(self._secret, f"{key}\n{text}".encode("utf-8", "replace"), "sha256").hexdigest()[:16]


def harmless(text: str) -> str:
    """Return ``text`` cleaned, with the brackets of anything that looks like a delimiter replaced by ``[``."""
    return _LOOK_ALIKE.sub("[", clean(text))


@cache
def schema_of(answer: type[q.Reply]) -> dict[str, Any]:
    """Return the JSON schema of an answer, without titles, defaults and class descriptions, which a server does not need.

    Every call returns the same object, because generating it takes milliseconds: do not change it.
    """
    schema: dict[str, Any] = answer.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        part.pop("description", None)
        part["required"] = list(part["properties"])
        part["additionalProperties"] = False
        for field in part["properties"].values():
            field.pop("title", None)
            field.pop("default", None)
    return schema


View = dict[str, Any]

_SNIPPET = 300  # characters of a line of what is known from before
# Of the pages that a plan is made from: tokens, the first ones with text and characters of it, sections and characters of a name.
_HITS, _WITH_TEXT, _HIT, _SECTIONS, _NAME = 1_800, 10, 150, 3, 60
_RECALLED = 1_500  # tokens of what earlier nights found
_BLOCK = 16  # facts
_ANSWER = 900  # characters of an earlier answer in a talk


def view_of(question: q.Question[Any], delimiters: Delimiters, limit: int) -> View:
    """Return the values by name that the template of this question may use; ``query`` is always among them.

    ``limit`` is the most fetched text in tokens, where the model has been found to take less than the question holds.
    """
    view: View = {"query": question.query}

    def block(key: str, text: str) -> Material | str:
        return delimiters.block(key, text) if text else ""

    if isinstance(question, q.EvidenceQuestion):
        shown, left_out = _evidence(question.facts, question.published, delimiters, min(limit, question.room))
        view |= {"evidence": shown, "more": question.more + left_out, "today": question.today}
    match question:
        case q.PlanQuestion():
            found: list[str] = []
            for key, hits in question.pages.items():
                date = f", {hits[0].published}" if hits[0].published else ""
                place = f"[{key}] {one_line(hits[0].title, _NAME)} ({one_line(_place_of(hits[0].url), _NAME)}{date})"
                sections = list(dict.fromkeys(one_line(hit.heading, _NAME) for hit in hits if hit.heading))
                text = one_line(hits[0].snippet, _HIT) if len(found) < _WITH_TEXT else ""
                found.append(": ".join(filter(None, (place, "; ".join(sections[:_SECTIONS]), text))))
            known = question.recalled  # what earlier nights found, without keys, because it is no evidence
            lines = [f"- {one.question} ({one.day}): {one.text}" for one in known.episodes]
            lines += [f"- {one.statement.claim} ({_place_of(one.statement.url)}, {one.day})" for one in known.statements]
            lines += [f"- left open: {text}" for text in known.open]
            lines += [f"- searched for in vain: {text}" for text in known.fruitless]
            earlier = _within((f"- {one_line(fact.claim, _SNIPPET)}" for fact in question.earlier), _RECALLED)
            view |= {
                "hits": delimiters.block("HITS", _within(found, min(limit, _HITS)) or "(none)"),
                "recalled": block("RECALLED", _within((one_line(line, 2 * _SNIPPET) for line in lines), _RECALLED)),
                "earlier": block("EARLIER", earlier),
                **{name: getattr(question, name) for name in ("count", "questions", "today", "earlier_on")},
            }
        case q.ReadingQuestion():
            view |= _reading(question, delimiters, limit)
        case q.ReportQuestion():
            names = ("kind", "words", "part", "parts", "beyond", "unknown", "on", "written")
            view |= {name: getattr(question, name) for name in names}
            view["earlier_on"] = ""  # a template of an earlier version asks for it
        case q.CheckQuestion():
            view["sentences"] = [
                {"key": key, "text": one.text, "keys": ", ".join(one.keys), "cites": one.cites, "warning": one.warning}
                for key, one in question.sentences.items()
            ]
            view |= {"whole": question.whole, "unknown": [{"key": key, "text": text} for key, text in question.unknown.items()]}
        case q.StandAloneQuestion():
            before = block("EARLIER", "\n".join(map(one_line, question.folded)))
            view |= {"history": block("HISTORY", _history(question.history)), "earlier": before, "subject": question.subject}
        case q.TalkQuestion():
            view |= {"history": block("HISTORY", _history(question.history)), "words": question.words}
        case q.EpisodeQuestion():
            left = "\n".join(f"- {one_line(text, _SNIPPET)}" for text in question.open)
            view |= {"open": block("OPEN", left), "count": question.count, "words": question.words}
    return view


def _evidence(
    facts: Mapping[str, Fact], published: Mapping[str, str], delimiters: Delimiters, limit: int
) -> tuple[Material, int]:
    """Return the facts in blocks, a line each, ``[E3] "quote" (S1: place; published 2026-03-01; about: …)``, and the number of
    those for which there is no room: the last ones.

    A list is cut into blocks with delimiters of their own, so a longer list begins with the same text as a shorter one.
    """
    lines: list[str] = []
    for line in _fact_lines(facts, published):
        limit -= tokens(line)
        if limit < 0:
            break
        lines.append(line)
    shown = lines or ["(none)"]
    blocks = (shown[at : at + _BLOCK] for at in range(0, len(shown), _BLOCK))
    return Material("\n".join(delimiters.block("EVIDENCE", "\n".join(block)) for block in blocks)), len(facts) - len(lines)


def _fact_lines(facts: Mapping[str, Fact], published: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each fact. The place of a source is named once; later its key is enough, with the heading if it is new.

    Of rows of one table the first has the header.
    """
    sources: dict[str, str] = {}
    last: dict[str, str] = {}
    header = "", "", ""
    for key, fact in facts.items():
        source = sources.setdefault(fact.url, f"S{len(sources) + 1}")
        known, heading = [], fact.heading
        if word_count(heading) < _TELLING:  # "Bugfixes": of which release?
            heading = " › ".join(fact.path[-2:]) or heading
        if source not in last:
            date = published.get(fact.url, "")
            known = [_place_of(fact.url, heading), f"published {one_line(date, 40)}" if date else ""]
        elif heading != last[source]:
            known = [f"— {one_line(heading, 90)}" if heading else ""]
        last[source] = heading
        known.append("" if holds_quote(fact.quote, fact.claim) else f"about: {one_line(fact.claim, 300)}")
        where = ": ".join(filter(None, (source, "; ".join(filter(None, known)))))
        lead = f"{' '.join(fact.lead.split())} … " if fact.lead and (source, fact.heading, fact.lead) != header else ""
        header = source, fact.heading, fact.lead
        yield f'[{key}] "{lead}{_quoted_lines(fact.quote)}" ({where})'


def _quoted_lines(quote: str) -> str:
    """Return a quote with its lines, of which code consists; all but the first are indented, so that none looks like evidence."""
    lines = [line.rstrip() for line in quote.strip().split("\n") if line.strip()]
    fences = [line for line in lines if line.lstrip().startswith("```")]
    return "\n  ".join(line for line in lines if len(fences) % 2 == 0 or line not in fences)


def _place_of(url: str, heading: str = "") -> str:
    """Return the place of a fact in words: host or document, and heading."""
    try:
        parts = urlsplit(url)
        where = (parts.hostname or "") if parts.scheme in ("http", "https") else unquote(parts.path)
    except ValueError:
        where = ""
    return one_line(" — ".join(filter(None, (where or url, heading))), 120)


def _within(lines: Iterable[str], left: int) -> str:
    """Return the first lines that have ``left`` tokens together."""
    kept: list[str] = []
    for line in lines:
        left -= tokens(line)
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _reading(question: q.ReadingQuestion, delimiters: Delimiters, limit: int) -> View:
    """Return the pages; of a page that is longer than the model takes, the beginning."""
    pages: list[View] = []
    for key, page in question.pages.items():
        text = page.text.encode()[: max(0, 3 * limit)].decode("utf-8", "ignore") if tokens(page.text) > limit else page.text
        limit -= tokens(text)
        if text:
            date = f", published {one_line(page.published, 40)}" if page.published else ""
            place = f"{one_line(page.title)} ({_place_of(page.url)}{date})"
            pages.append({"key": key, "text": delimiters.block(key, f"{place}\n\n{text}")})
    known = "\n".join(f"- {claim}" for claim in question.known)
    asked = [{"key": key, "text": text} for key, text in question.questions.items()]
    own = {text for text in question.questions.values() if text in question.perspective.questions}
    return {
        "perspective": {"name": question.perspective.name, "focus": question.perspective.focus},
        "questions": [one for one in asked if one["text"] in own] or asked,
        "others": [one for one in asked if one["text"] not in own] if own else [],
        "pages": pages,
        "asked": list(question.asked),
        "known": delimiters.block("KNOWN", known) if known else "",
        "left_out": 0,  # a template of an earlier version prints it
        "goes_on": question.goes_on,
        "today": question.today,
    }


def _history(turns: Sequence[q.PastTurn]) -> str:
    """Return the last turns; the answers quote pages, so they are material."""
    return "\n".join(
        f"Asked: {one_line(turn.question)}\nAnswered: {one_line(turn.answer, _ANSWER) or '(nothing found)'}" for turn in turns
    )


SYSTEM = "_shared"
EVIDENCE = "_evidence"

_ADVICE = "correct it (templates/prompts/README.md lists what each template is given), then run again"
_RESTORE = "put it back: `research templates update` copies what is missing"


class PromptTemplates:
    """Renders prompts from the folder ``templates``: ``<question>.md.j2``, and ``_shared.md.j2`` for the system message.

    What it does not contain is taken from ``supplied``: a workspace may be older than a question.
    """

    def __init__(self, templates: Path, supplied: Path | None = None) -> None:
        self._folder = templates
        self._environment = _environment_of((templates, supplied or templates))

    def messages(self, name: str, view: Mapping[str, Any]) -> list[Message]:
        """Return the system and the user message of the question ``name``.

        The system message is the same for all questions, so that a cache can serve it. The reply's schema is not part of the
        prompt: it goes with the request, or behind the prompt where the server takes none (``Capabilities.body``). What several
        questions begin with, the evidence, is a part of its own.

        Raises:
            TemplateInvalid: a template is missing, cannot be parsed, uses an unknown name, or fails.
        """
        text = self._rendered(name, view)
        shared = self._rendered(EVIDENCE, view) if "evidence" in view else ""
        return [
            {"role": "system", "content": self._rendered(SYSTEM, {"schema": ""})},  # a template of an earlier version prints it
            {"role": "user", "content": [shared, text.removeprefix(shared)] if shared and text.startswith(shared) else text},
        ]

    def _rendered(self, name: str, view: Mapping[str, Any]) -> str:
        file = f"{name}.md.j2"
        try:
            return self._environment.get_template(file).render(view).strip()
        except TemplateNotFound as error:
            raise self._invalid(str(error.name), 0, "is missing", _RESTORE) from error
        except TemplateSyntaxError as error:
            raise self._invalid(error.name or file, error.lineno, error.message or "syntax error") from error
        except Exception as error:
            where, line = self._place_of(error, file)
            raise self._invalid(where, line, str(error) or type(error).__name__) from error

    def _place_of(self, error: BaseException, file: str) -> tuple[str, int]:
        """Return the file and line of the innermost template frame in the error's traceback."""
        inside = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == self._folder]
        return (Path(inside[-1].filename).name, inside[-1].lineno or 0) if inside else (file, 0)

    def _invalid(self, file: str, line: int, what: str, advice: str = _ADVICE) -> TemplateInvalid:
        where = str(self._folder / file) + (f", line {line}" if line else "")
        return TemplateInvalid(f"{where}: {what}", hint=advice)


@cache
def _environment_of(folders: tuple[Path, ...]) -> ImmutableSandboxedEnvironment:
    """Return one environment for the same folders, so that a template is compiled once; Jinja reloads a changed file."""
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printed,
    )


def _printed(value: object) -> object:
    """Return the value to print, as Jinja's ``finalize``; plain strings are made harmless."""
    if value is None:
        raise TemplateError("a value is None; test for it before printing it")
    return harmless(value) if isinstance(value, str) and not isinstance(value, Material) else value
