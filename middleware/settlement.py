"""The end of a granted message: which transition settles it, and what is admitted in the same call.

In the flow: ack and nack come here, after every `after_*` hook, so results, pipelines and callbacks are out before the
slot is given back; if the process dies in between, the execution is reaped and runs again with a higher attempt. The
call is kept on the entry until it answers, so a lost reply repeats it with its token and it takes effect once.
"""

import json
import time
import traceback
from typing import Any, Final

from dramatiq import Broker, Message, MessageProxy
from dramatiq.common import compute_backoff
from dramatiq.middleware import Retries

from ..configs.logger import Logger
from ..scheduler.grants import Settled, read_settled
from ..scheduler.scripts import Call
from ..scheduler.states import State
from ..scheduler.transitions import Next, RetryKind, Transitions
from .delivery import as_sent, copied, plain_message
from .gated_actor import GatedActor
from .held import Entry

log = Logger(__name__)
EXCEPTION_CHARS: Final = 400
TRACEBACK_CHARS: Final = 4_000
"""The end of it, which says what was raised where."""
TRACEBACK_FRAMES: Final = 30


def stored_form(gated: GatedActor | None, message: "Message[Any]", **options: Any) -> bytes:
    """A message's bytes as Redis keeps them: without the event, which has its own key; some options replaced."""
    replaced: dict[str, Any] = {"args": ()} if gated is not None and gated.runs_events else {}
    return as_sent(copied(message, **options), **replaced).encode()


class Settlement:
    """Settles grants through the transitions of one server."""

    def __init__(self, transitions: Transitions) -> None:
        self._transitions = transitions

    def settle(
        self, broker: Broker, gated: GatedActor | None, message: MessageProxy, entry: Entry, following: Next
    ) -> Settled:
        """Settle a message's grant; it acts only on RUNNING, so after the hand-over to a pod it changes nothing.

        Args:
            broker: For its middleware: without `Retries` a body that raised is not tried again.
            gated: The actor's options; None if the actor is not known here.
            message: As it was processed; if it is marked failed, Dramatiq rejects it.
            entry: Its grant.
            following: What to admit in the same call.

        Raises:
            QueueUnavailable: If Redis did not answer; call again, it takes effect once.
        """
        if entry.settlement is None:
            entry.settlement_sent = time.monotonic()
            entry.settlement = self._prepare(broker, gated, message, entry, following)
        return read_settled(entry.settlement.run())

    def _prepare(
        self, broker: Broker, gated: GatedActor | None, message: MessageProxy, entry: Entry, following: Next
    ) -> Call:
        raised = entry.raised
        if entry.lost:
            # Nothing was published, so it has to run again; if it is this process's after all, at once.
            return self._retry(entry, "retry", 0, "lease_lost", b"", following)
        if message.failed:
            return self._release(entry, State.FAILED, _reason(raised, "rejected"), dead=True, following=following)
        if entry.retry is not None:
            replacement, delay_ms = entry.retry
            reason = _reason(raised, "requeued")
            # As on any broker, what a body asks for comes after what waits already, or it would starve its band.
            return self._retry(entry, "requeue", delay_ms, reason, stored_form(gated, replacement), following)
        if raised is None:
            return self._release(
                entry, State.COMPLETED, "" if entry.begun else "skipped", dead=False, following=following
            )
        return self._prepare_raised(broker, gated, message, entry, following)

    def _prepare_raised(
        self, broker: Broker, gated: GatedActor | None, message: MessageProxy, entry: Entry, following: Next
    ) -> Call:
        # The body raised, the message is not marked failed, and no re-enqueue was noted: either nothing retries here,
        # or Dramatiq swallowed a failed retry, and acknowledging it would lose the message.
        reason = _reason(entry.raised, "raised")
        retries = next((each for each in broker.middleware if isinstance(each, Retries)), None)
        if retries is None:
            return self._release(entry, State.FAILED, reason, dead=False, following=following)
        actor_options: dict[str, Any] = broker.get_actor(message.actor_name).options
        options: dict[str, Any] = actor_options | message.options
        most: int | None = options.get("max_retries", retries.max_retries)
        if most is not None and entry.retries >= most:
            return self._release(entry, State.FAILED, reason, dead=True, following=following)
        longest = min(options.get("max_backoff", retries.max_backoff), retries.max_backoff)
        shortest = options.get("min_backoff", retries.min_backoff)
        _, delay_ms = compute_backoff(entry.retries, factor=shortest, max_backoff=longest)
        log.warning("retry_made_up_for", execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)
        again = stored_form(gated, plain_message(message), retries=entry.retries + 1)
        return self._retry(entry, "requeue", delay_ms, reason, again, following)

    def _retry(
        self, entry: Entry, kind: RetryKind, delay_ms: int, reason: str, message: bytes, following: Next
    ) -> Call:
        return self._transitions.prepare_retry(
            entry.grant.execution_id,
            entry.grant.attempt,
            kind,
            delay_ms=delay_ms,
            reason=reason,
            message=message,
            holder=entry.grant.nonce,
            following=following,
        )

    def _release(self, entry: Entry, state: State, reason: str, *, dead: bool, following: Next) -> Call:
        return self._transitions.prepare_release(
            entry.grant.execution_id,
            entry.grant.attempt,
            state,
            reason=reason,
            only=State.RUNNING,
            dead=dead,
            result=failure_of(entry.raised) if dead and entry.raised is not None else b"",
            holder=entry.grant.nonce,
            following=following,
        )

    def hand_back(self, entries: list[Entry]) -> None:
        """Give back what has not begun, free of charge, at its original score.

        Raises:
            QueueUnavailable: If Redis did not answer; the leases then run out by themselves.
        """
        for grant in [entry.grant for entry in entries]:
            self._transitions.prepare_retry(
                grant.execution_id, grant.attempt, "hand_back", reason="not_begun", holder=grant.nonce
            ).run()


def failure_of(raised: BaseException) -> bytes:
    """What a dead letter keeps of the exception that made it one, as JSON: bounded, for it may hold a payload."""
    said = next((line for line in traceback.format_exception_only(raised) if not line.startswith(" ")), "")
    told = "".join(traceback.format_exception(raised, limit=TRACEBACK_FRAMES))
    return json.dumps({"exception": said.strip()[:EXCEPTION_CHARS], "traceback": told[-TRACEBACK_CHARS:]}).encode()


def _reason(raised: BaseException | None, otherwise: str) -> str:
    return otherwise if raised is None else type(raised).__name__
