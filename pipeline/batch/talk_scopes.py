"""The scope of a talk: the sessions whose stored pages it may use; and the ids of talks."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.batch.scheduling import is_tagged
from pipeline.batch.session_index import SessionIndex
from pipeline.domain.events.stream_events import Scope, TalkOpened
from pipeline.domain.talk import TalkState
from pipeline.errors import SessionUnknown
from pipeline.text.normalise import slug


@dataclass(frozen=True, slots=True)
class TalkScope:
    """What a talk is about: ``ids`` as in ``TalkOpened``, the question it is about or "", and the sessions that count."""

    scope: Scope
    ids: tuple[str, ...]
    subject: str
    sessions: tuple[str, ...]

    @property
    def name(self) -> str:
        """The scope in a few words, for the talk's id."""
        return self.subject or " ".join(self.ids) or "all"


def session_scope(known: SessionIndex, session: str) -> TalkScope:
    """Return the scope of one session's pages."""
    subject = next((one.query for one in known.sessions if one.id == session), "")
    return TalkScope("session", (session,), subject, (session,))


def topic_scope(known: SessionIndex, tag: str) -> TalkScope:
    """Return the scope of all sessions with a tag.

    Raises:
        SessionUnknown: no session has it.
    """
    sessions = tuple(one.id for one in known.sessions if is_tagged(one.tags, (tag,)))
    if not sessions:
        tags = sorted({tag for one in known.sessions for tag in one.tags})
        hint = f"tags with sessions: {', '.join(tags[:10])}" if tags else "research list shows the sessions; none has a tag"
        raise SessionUnknown(f"no session has the tag {tag!r}", hint=hint)
    return TalkScope("topic", (tag,), "", sessions)


def vault_scope(known: SessionIndex) -> TalkScope:
    """Return the scope of all sessions; without any, only the folders of documents are asked."""
    return TalkScope("vault", (), "", tuple(one.id for one in known.sessions))


def scope_of(state: TalkState, known: SessionIndex) -> TalkScope:
    """Return the scope of a talk that goes on: the sessions that belong to it now.

    Raises:
        SessionUnknown: they are gone.
    """
    if state.scope == "topic":
        return topic_scope(known, state.ids[0])
    if state.scope == "vault":
        return vault_scope(known)
    named = ((one.id, one.query_id if state.scope == "query" else "") for one in known.sessions)
    sessions = tuple(name for name, query_id in named if name in state.ids or query_id in state.ids)
    if not sessions:
        raise SessionUnknown(f"the session of the talk {state.id} is gone: {', '.join(state.ids)}", hint="research list")
    return TalkScope(state.scope, state.ids, state.subject, sessions)


def new_talk_id(at: str, name: str) -> str:
    """Return an id for a talk that begins at ``at``, an event's timestamp."""
    return f"talk-{at[:10]}-{slug(name, 40)}-{secrets.token_hex(2)}"


def opening_of(scope: TalkScope, reasoner: str, budget_usd: float | None, note: str = "") -> TalkOpened:
    """Return the first event of a talk."""
    return TalkOpened(
        scope=scope.scope, ids=scope.ids, subject=scope.subject, reasoner=reasoner, budget_usd=budget_usd, note=note
    )


def latest_talk(talks: Sequence[TalkState], scope: TalkScope | None) -> TalkState:
    """Return the talk that was last spoken in, of one scope or of any.

    Raises:
        SessionUnknown: there is none.
    """
    found = [one for one in talks if scope is None or (one.scope, one.ids) == (scope.scope, scope.ids)]
    if not found:
        raise SessionUnknown("there is no talk to continue", hint='research ask "…" begins one')
    return max(found, key=lambda one: (one.last_at, one.id))
