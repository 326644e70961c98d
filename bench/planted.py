"""Which false sentences are caught: 70 of seven kinds, made by code from 70 true ones, and checked among these by a model.

    python -m bench.planted DOCUMENTS FOLDER [--seed 1]

Takes sentences with their paragraphs, as quotes, from some documents of a folder, and writes the prompts of a check, in ten
portions, to ``FOLDER/01-check.request.md`` and so on. Be the model: write the answer to ``01-check.answer.json``. The same
command then prints what was caught by the warnings of code alone, what by the checker, and how many true sentences were called
faulty; it makes the same sentences again, so no file gives them away. Of a quote, no portion has the true and the false sentence.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.by_hand import readable
from pipeline.documents.extract import extract
from pipeline.domain.reasoner_questions import Check, CheckedSentence, CheckQuestion
from pipeline.domain.research_values import Fact
from pipeline.errors import ResearchError
from pipeline.reasoners.model.capabilities import Capabilities
from pipeline.reasoners.model.json_reply import parse_reply
from pipeline.reasoners.model.prompts import Delimiters, PromptTemplates, schema_of, view_of
from pipeline.research.writing import warning_of
from pipeline.text.cleaning import digest_of
from pipeline.text.passages import passages
from pipeline.text.words import split_sentences

TEMPLATES = Path(__file__).parent.parent / "templates" / "prompts"
QUERY, TODAY = "What do these documents say?", "2026-01-01"
UNKNOWN = "E90"
DOCUMENTS = 100
OTHERS = 400  # sentences that another subject or reason is looked for in
UNITS = {
    "microseconds": "milliseconds", "milliseconds": "seconds", "seconds": "minutes", "second": "minute", "minutes": "hours",
    "minute": "hour", "hours": "days", "hour": "day", "days": "weeks", "day": "week", "weeks": "months", "months": "years",
    "years": "months", "year": "month", "bits": "bytes", "bytes": "kilobytes", "byte": "kilobyte", "kB": "MB", "MB": "GB",
    "GB": "MB", "kilobytes": "megabytes", "megabytes": "gigabytes", "pixels": "millimetres", "characters": "lines",
}  # fmt: skip
VERBS = (" is ", " are ", " can ", " must ", " will ", " has ", " returns ", " specifies ")
NO_SUBJECT = {"it", "this", "these", "that", "there", "they", "if", "when", "for", "in", "you", "by", "note", "as", "to", "what"}
NEGATED = (
    (" is not ", " is "), (" are not ", " are "), (" cannot ", " can "), (" does not ", " does "), (" must not ", " must "),
    (" will not ", " will "), (" is ", " is not "), (" are ", " are not "), (" can ", " cannot "), (" must ", " must not "),
    (" will ", " will not "),
)  # fmt: skip
WIDENED = (
    (" may be ", " is always "), ("sometimes ", "always "), ("usually ", "always "), ("often ", "always "), ("Some ", "All "),
    (" some ", " all "), ("Most ", "All "), (" most ", " all "), (" by default", " in every case"), (" at least ", " exactly "),
    (" up to ", " exactly "), (" might ", " will always "), (" may ", " will always "),
)  # fmt: skip
CONDITIONS = (" unless ", " only if ", " if ", " only when ", " except ")


@dataclass(frozen=True)
class Sentence:
    """A sentence with the paragraph that it was taken from. ``kind``: how it was made false, "" if it is true."""

    text: str
    fact: Fact
    kind: str = ""
    second: Fact | None = None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What it cites, as far as that was given out."""
        return () if self.kind == "invented key" else (self.fact, *([self.second] if self.second else ()))

    @property
    def warning(self) -> str:
        """What code says of it."""
        derived = self.kind == "invented derivation"
        return warning_of(self.text, self.facts, QUERY, TODAY, derived=derived) if self.facts else ""

    @property
    def is_caught_by_code(self) -> bool:
        """Whether code warns of it, or leaves it out because of its key."""
        return self.kind == "invented key" or bool(self.warning)


Portion = Mapping[str, Sentence]  # by key


def sentences_in(paths: Iterable[Path]) -> Iterator[Sentence]:
    """Yield the sentences of the documents that begin with their subject and say something by themselves."""
    for path in paths:
        try:
            document = extract(path.read_bytes(), path=str(path))
        except ResearchError:
            continue
        for passage in passages(document.text):
            quote = " ".join(passage.text.split())
            if (
                passage.lead not in ("", *passage.path)
                or len(quote) > 800
                or any(sign in quote for sign in ("|", "```", "- ", "`", "…"))
            ):
                continue
            for text in split_sentences(quote):
                words = text.split()
                first = words[0].casefold().strip(",")
                if 8 <= len(words) <= 40 and text[0].isupper() and text.endswith(".") and first not in NO_SUBJECT:
                    name = digest_of(f"{quote}{path.name}".encode())[:12]
                    url, path_of = f"corpus:{path.name}", tuple(passage.path)
                    yield Sentence(text, Fact(id=name, claim=quote, quote=quote, url=url, digest="", path=path_of))


def other_number(one: Sentence, _others: Sequence[Sentence]) -> str:
    """Return the sentence with another number, which its quote does not have; "" if it has none."""
    words = one.text.split(" ")
    for place, word in enumerate(words):
        bare = word.strip("(),.;:")
        if bare.isdigit() and len(bare) < 7 and words[place - 1].casefold() not in ("version", "rfc", "section", "chapter"):
            other = str(int(bare) + max(2, int(bare) // 3))
            if other not in one.fact.quote:
                return " ".join((*words[:place], word.replace(bare, other), *words[place + 1 :]))
    return ""


def other_unit(one: Sentence, _others: Sequence[Sentence]) -> str:
    """Return the sentence with another unit behind a number."""
    words = one.text.split(" ")
    for place, word in enumerate(words):
        bare = word.strip("(),.;:")
        if bare in UNITS and (words[place - 1][-1:].isdigit() or words[place - 1] in ("in", "of", "per", "one")):
            return " ".join((*words[:place], word.replace(bare, UNITS[bare]), *words[place + 1 :]))
    return ""


def subject_of(text: str) -> tuple[str, str, str]:
    """Return subject, verb and rest of a sentence whose subject is at most six words long; "" if there is none."""
    found = [(text.find(verb), verb) for verb in VERBS if verb in text]
    at, verb = min(found, default=(-1, ""))
    subject = text[: max(at, 0)]
    ok = 1 <= len(subject.split()) <= 6 and "," not in subject
    return (subject, verb, text[at + len(verb) :]) if ok else ("", "", "")


def other_subject(one: Sentence, others: Sequence[Sentence]) -> str:
    """Return the sentence with the subject of another one that has the same verb."""
    subject, verb, rest = subject_of(one.text)
    for other in others if subject else ():
        strange, same, _ = subject_of(other.text)
        if same == verb and strange.casefold() not in one.fact.quote.casefold():
            return f"{strange}{verb}{rest}"
    return ""


def negated(one: Sentence, _others: Sequence[Sentence]) -> str:
    """Return the sentence with its first verb negated, or no longer negated."""
    _, verb, _ = subject_of(one.text)
    for old, new in NEGATED if verb else ():
        if old in one.text and old.startswith(verb.rstrip()):
            return one.text.replace(old, new, 1)
    return ""


def widened(one: Sentence, _others: Sequence[Sentence]) -> str:
    """Return the sentence with some made all, or without its condition."""
    for old, new in WIDENED:
        if old in one.text:
            return one.text.replace(old, new, 1)
    for condition in CONDITIONS:
        before, found, _ = one.text.partition(condition)
        if found and len(before.split()) >= 6 and "(" not in before:
            return f"{before.rstrip(',')}."
    return ""


def unchanged(one: Sentence, _others: Sequence[Sentence]) -> str:
    """Return the sentence as it is: only its key is invented."""
    return one.text


def concluded(one: Sentence, others: Sequence[Sentence]) -> str:
    """Return the sentence as what follows from another one that has nothing to do with it."""
    return f"{others[0].text.rstrip('.')}, which is why {one.text[0].lower()}{one.text[1:]}"


KINDS: Mapping[str, Callable[[Sentence, Sequence[Sentence]], str]] = {  # those that fit the fewest sentences first
    "wrong unit": other_unit,
    "wrong number": other_number,
    "wrong scope": widened,
    "wrong subject": other_subject,
    "negation": negated,
    "invented key": unchanged,
    "invented derivation": concluded,
}


def plant(folder: Path, *, seed: int = 1, each: int = 10) -> list[Portion]:
    """Return the portions: of each kind ``each`` false sentences, and the true ones that they were made from.

    Raises:
        LookupError: the documents have too few sentences.
    """
    chance = random.Random(seed)
    paths = sorted(one for one in folder.rglob("*") if one.suffix in (".html", ".md", ".txt"))
    found = list(sentences_in(chance.sample(paths, min(DOCUMENTS, len(paths)))))
    chance.shuffle(found)
    used: set[str] = set()
    pairs: dict[str, list[tuple[Sentence, Sentence]]] = {kind: [] for kind in KINDS}
    for kind, change in KINDS.items():
        for one in found:
            others = [other for other in found[:OTHERS] if other.fact.url != one.fact.url and other.fact.id not in used]
            if one.fact.id in used or not others or not (text := change(one, others)):
                continue
            second = others[0].fact if kind == "invented derivation" else None
            pairs[kind].append((one, replace(one, text=text, kind=kind, second=second)))
            used |= {one.fact.id, second.id if second else ""}
            if len(pairs[kind]) == each:
                break
        else:
            raise LookupError(f"the documents have too few sentences for {each} of the kind {kind}")
    halves: tuple[list[Portion], list[Portion]] = ([], [])
    for start in range(0, each, 2):  # a portion has two pairs of each kind, of one the false sentence, of the other the true one
        both = [pairs[kind][start : start + 2] for kind in KINDS]
        for turn, half in enumerate(halves):
            shown = [pair[(place + turn) % 2] for two in both for place, pair in enumerate(two)]
            chance.shuffle(shown)
            half.append({f"T{number}": one for number, one in enumerate(shown, 1)})
    return [*halves[0], *halves[1]]


def prompt_of(portion: Portion) -> str:
    """Return the prompt of a check as a model sees it."""
    quotes = {fact.id: fact for one in portion.values() for fact in one.facts}
    keys = {name: f"E{number}" for number, name in enumerate(sorted(quotes), 1)}

    def shown(one: Sentence) -> CheckedSentence:
        cited = tuple(keys[fact.id] for fact in one.facts) or (UNKNOWN,)
        how = "derived" if one.kind == "invented derivation" else "quoted" if one.facts else "nothing"
        return CheckedSentence(text=one.text, keys=cited, cites=how, warning=one.warning)

    question = CheckQuestion(
        query=QUERY,
        facts={keys[name]: quotes[name] for name in sorted(quotes)},
        today=TODAY,
        sentences={key: shown(one) for key, one in portion.items()},
        whole=False,
    )
    view = view_of(question, Delimiters(bytes(32)), 1_000_000)
    messages = PromptTemplates(TEMPLATES).messages("check", view)
    return readable(Capabilities(stream=False).body("by-hand", messages, 8_000, "check", schema_of(Check)))


def total(portions: Sequence[Portion], answers: Mapping[int, Check]) -> str:
    """Return the figures of the portions that were answered, by their numbers from 1."""
    planted, code, checker, both = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for number, answer in answers.items():
        faulty = {fault.sentence.strip("[] ").upper() for fault in answer.faults}
        for key, one in portions[number - 1].items():
            kind = one.kind or "true"
            planted[kind] += 1
            code[kind] += one.is_caught_by_code
            checker[kind] += key in faulty
            both[kind] += one.is_caught_by_code or key in faulty
    rows: dict[str, tuple[int, ...]] = {
        kind: (planted[kind], code[kind], checker[kind], planted[kind] - both[kind]) for kind in KINDS if planted[kind]
    }
    rows["false in all"] = (*(sum(column) for column in zip(*rows.values(), strict=True)),)
    lines = [f"{len(answers)} of {len(portions)} portions are answered", f"{'':20}    of  code  checker  by none"]
    lines += [
        f"{kind:20}" + "".join(f"{figure:{width}}" for figure, width in zip(row, (6, 6, 9, 9), strict=False))
        for kind, row in rows.items()
    ]
    said = f"{checker['true']} called faulty by the checker, {code['true']} warned of by code"
    return "\n".join([*lines, f"true                {planted['true']:6}: {said}"])


def main() -> None:
    """Write the prompts, and total the answers that are there."""
    options = argparse.ArgumentParser(prog="python -m bench.planted", description="Counts which false sentences are caught.")
    options.add_argument("documents", type=Path)
    options.add_argument("folder", type=Path)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    portions = plant(given.documents, seed=given.seed)
    given.folder.mkdir(parents=True, exist_ok=True)
    answers: dict[int, Check] = {}
    for number, portion in enumerate(portions, 1):
        (given.folder / f"{number:02}-check.request.md").write_text(prompt_of(portion), "utf-8")
        answer = given.folder / f"{number:02}-check.answer.json"
        if answer.exists():
            answers[number] = parse_reply(answer.read_text("utf-8"), Check)
    print(total(portions, answers))


if __name__ == "__main__":
    main()
