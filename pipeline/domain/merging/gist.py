"""What an outcome says, in a few words: so that a reader can compare the two sides of a conflict."""

from __future__ import annotations

from pipeline.domain.events import session_events as e
from pipeline.domain.report_parts import items_of
from pipeline.text.normalise import counted, one_line

_LONGEST = 160


def gist(event: e.EventBase) -> str:
    """Return the content of an event in at most 160 characters."""
    return one_line(_gist(event), _LONGEST)


def _gist(event: e.EventBase) -> str:
    match event:
        case e.StepFailed():
            return f"failed: {event.message}"
        case e.TopicSurveyed() | e.SearchCompleted():
            return f"{counted(len(event.hits), 'hit')}: {', '.join(hit.title or hit.url for hit in event.hits)}"
        case e.PlanCreated():
            return ", ".join(view.name for view in event.perspectives)
        case e.WorkerThought():
            return " | ".join(event.queries) or event.reasoning
        case e.PageRead():
            return f"{event.title}, {counted(event.characters, 'character')}"
        case e.FactsObserved() | e.GapLookedUp():
            return f"{counted(len(event.facts), 'fact')}: {'; '.join(fact.claim for fact in event.facts)}"
        case e.WorkerEvaluated():
            return "sufficient" if event.sufficient else f"open: {'; '.join(event.gaps)}"
        case e.FactsValidated():
            return counted(len(event.facts), "fact")
        case e.AnalysisCompleted() | e.GapsFound():
            return f"{counted(len(event.gaps), 'gap')}: {'; '.join(gap.question for gap in event.gaps)}"
        case e.PassagesChosen():
            return f"{counted(len(event.passages), 'passage')}: {'; '.join(fact.quote for fact in event.passages)}"
        case e.OutlineCreated():
            return " | ".join((event.title, *(section.title for section in event.sections)))
        case e.ReportWritten():
            return " ".join(item.text for item in items_of(event.sections))
        case e.ReportRevised() if event.sections:
            return " ".join(item.text for item in items_of(event.sections))
        case e.SectionWritten() | e.ReportRevised():
            return " ".join(sentence.text for part in event.paragraphs for sentence in part.sentences)
        case e.ClaimsChecked():
            unsupported = sum(not verdict.supported for verdict in event.verdicts)
            return f"{counted(unsupported, 'sentence')} not supported"
    return event.type
