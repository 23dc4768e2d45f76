"""Decides how a granted message that ended is settled: completed, failed, retried or cancelled.

In the flow: ack and nack call this, after every `after_*` hook. So results, pipelines and callbacks are out before the
slot is given back. If the process dies in between, the execution is reaped and runs again with a higher attempt.
"""

import json
import traceback
from typing import Any, Final

from dramatiq import Broker, Message, MessageProxy
from dramatiq.common import compute_backoff, current_millis
from dramatiq.middleware import AgeLimit, Retries

from ...configs.logger import Logger
from ...scheduler.engine.settlements import Release, Retry, RetryKind, Settlement
from ...scheduler.model.states import State
from ..intake.actor_options import GatedActor
from ..intake.envelope import as_sent, copied, plain_message
from .table import Entry

log = Logger(__name__)
MAX_AGE: Final = "max_age"
"""The reason of executions that were older than their own ``max_age``."""
EXCEPTION_CHARS: Final = 400
TRACEBACK_CHARS: Final = 4_000
"""The last part of a traceback is kept, which says what was raised where."""
TRACEBACK_FRAMES: Final = 30


def stored_form(gated: GatedActor | None, message: "Message[Any]", **options: Any) -> bytes:
    """Return a message's bytes as Redis keeps them: without the event, which has its own key; some options replaced."""
    replaced: dict[str, Any] = {"args": ()} if gated is not None and gated.runs_events else {}
    return as_sent(copied(message, **options), **replaced).encode()


def settlement_of(broker: Broker, gated: GatedActor | None, message: MessageProxy, entry: Entry) -> Settlement:
    """Return the settlement of a message's grant. It applies only to RUNNING: after a hand-over it changes nothing.

    Args:
        broker: The broker; without the middleware `Retries` a body that raised is not tried again.
        gated: The actor's options; None if the actor is not known here.
        message: The message as it was processed; if it is marked failed, Dramatiq rejects it.
        entry: The entry of its grant.
    """
    raised = entry.raised
    if entry.lost:
        # Nothing was published, so the execution has to run again: at once, if the grant turns out to be valid.
        return _retry(entry, "retry", reason="lease_lost")
    if message.failed:
        if raised is None and not entry.begun and _is_too_old(broker, message):
            # Its age ran out behind its grant, or before its acceptance: it ends as one that was found too old there.
            return _release(entry, State.EXPIRED, MAX_AGE, dead=gated is not None and gated.keep_unrun)
        return _release(entry, State.FAILED, _reason(raised, "rejected"), dead=True)
    if entry.retry is not None:
        replacement, delay_ms = entry.retry
        # As on any broker, a re-enqueued message goes behind those that wait already, or it would starve its band.
        return _retry(entry, "requeue", delay_ms, _reason(raised, "requeued"), stored_form(gated, replacement))
    if raised is None:
        return _release(entry, State.COMPLETED, "" if entry.begun else "skipped")
    try:
        return _settlement_of_raised(broker, gated, message, entry)
    except Exception as error:  # noqa: BLE001  # whatever it is, it would recur: the slot is given back, once
        log.error("not_retried", execution_id=entry.grant.execution_id, error=type(error).__name__)
        return _release(entry, State.FAILED, _reason(raised, "raised"), dead=True)


def _is_too_old(broker: Broker, message: MessageProxy) -> bool:
    """Whether `AgeLimit` skips a message, by the clock of its producer: what was too old once stays so."""
    limit: Any = next((each for each in broker.middleware if isinstance(each, AgeLimit)), None)
    if limit is None:
        return False
    actor_options: dict[str, Any] = broker.get_actor(message.actor_name).options
    max_age_ms = message.options.get("max_age") or actor_options.get("max_age", limit.max_age)
    return bool(max_age_ms) and current_millis() - message.message_timestamp >= max_age_ms


def _settlement_of_raised(broker: Broker, gated: GatedActor | None, message: MessageProxy, entry: Entry) -> Settlement:
    # The body raised, the message is not marked failed, and no re-enqueue was noted: either nothing retries here,
    # or Dramatiq swallowed a failed retry, and acknowledging it would lose the message.
    reason = _reason(entry.raised, "raised")
    retries = next((each for each in broker.middleware if isinstance(each, Retries)), None)
    if retries is None:
        return _release(entry, State.FAILED, reason)
    actor_options: dict[str, Any] = broker.get_actor(message.actor_name).options
    options: dict[str, Any] = actor_options | message.options
    most: int | None = options.get("max_retries", retries.max_retries)
    if most is not None and entry.retries >= most:
        return _release(entry, State.FAILED, reason, dead=True)
    longest = min(options.get("max_backoff", retries.max_backoff), retries.max_backoff)
    shortest = options.get("min_backoff", retries.min_backoff)
    _, delay_ms = compute_backoff(entry.retries, factor=shortest, max_backoff=longest)
    log.warning("retry_made_up_for", execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)
    again = stored_form(gated, plain_message(message), retries=entry.retries + 1)
    return _retry(entry, "requeue", delay_ms, reason, again)


def _retry(entry: Entry, kind: RetryKind, delay_ms: int = 0, reason: str = "", message: bytes = b"") -> Retry:
    grant = entry.grant
    return Retry(grant.execution_id, grant.attempt, kind, grant.nonce, delay_ms, reason, message)


def _release(entry: Entry, state: State, reason: str, *, dead: bool = False) -> Release:
    grant = entry.grant
    result = failure_of(entry.raised) if dead and entry.raised is not None else b""
    return Release(grant.execution_id, grant.attempt, state, grant.nonce, reason, result, State.RUNNING, dead)


def failure_of(raised: BaseException) -> bytes:
    """Return what a dead letter keeps of its exception, as JSON, with bounded length, since it may hold a payload."""
    said = next((line for line in traceback.format_exception_only(raised) if not line.startswith(" ")), "")
    told = "".join(traceback.format_exception(raised, limit=TRACEBACK_FRAMES))
    return json.dumps({"exception": said.strip()[:EXCEPTION_CHARS], "traceback": told[-TRACEBACK_CHARS:]}).encode()


def _reason(raised: BaseException | None, otherwise: str) -> str:
    return otherwise if raised is None else type(raised).__name__
