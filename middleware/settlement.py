"""The end of a granted message: which transition settles it, and what is admitted in the same call.

In the flow: ack and nack come here, after every `after_*` hook, so results, pipelines and callbacks are out before the
slot is given back; if the process dies in between, the execution is reaped and runs again with a higher attempt. The
call is kept on the entry until it answers, so a lost reply repeats it with its token and it takes effect once.
"""

from typing import Any

from dramatiq import Broker, Message, MessageProxy
from dramatiq.common import compute_backoff
from dramatiq.middleware import Retries
from dramatiq.middleware.retries import DEFAULT_MAX_BACKOFF, DEFAULT_MIN_BACKOFF

from ..scheduler.grants import Settled, read_settled
from ..scheduler.scripts import Call
from ..scheduler.states import State
from ..scheduler.transitions import Next, Transitions
from .delivery import as_sent
from .held import Entry
from .requests import GatedActor


def stored_form(gated: GatedActor | None, message: "Message[Any]") -> bytes:
    """A message's bytes as Redis keeps them: without the event, which has its own key."""
    return (as_sent(message, args=()) if gated is not None and gated.runs_events else as_sent(message)).encode()


class Settlement:
    """Settles grants through the transitions of one server."""

    def __init__(self, transitions: Transitions) -> None:
        self._transitions = transitions

    def settle(
        self,
        broker: Broker,
        gated: GatedActor | None,
        message: MessageProxy,
        entry: Entry,
        *,
        failed: bool,
        following: Next,
    ) -> Settled:
        """Settle a message's grant; it acts only on RUNNING, so after the hand-over to a pod it changes nothing.

        Args:
            broker: For its middleware: without `Retries` a body that raised is not tried again.
            gated: The actor's options; None if the actor is not known here.
            message: As it was processed.
            entry: Its grant.
            failed: Whether Dramatiq rejects the message.
            following: What to admit in the same call.

        Raises:
            QueueUnavailable: If Redis did not answer; call again, it takes effect once.
        """
        if entry.settlement is None:
            entry.settlement = self._prepare(broker, gated, message, entry, failed, following)
        return read_settled(entry.settlement.run())

    def _prepare(
        self,
        broker: Broker,
        gated: GatedActor | None,
        message: MessageProxy,
        entry: Entry,
        failed: bool,
        following: Next,
    ) -> Call:
        grant, raised = entry.grant, entry.raised
        if failed:
            return self._release(entry, State.FAILED, _reason(raised, "rejected"), dead=True, following=following)
        if entry.retry is not None:
            replacement, delay_ms = entry.retry
            return self._transitions.prepare_retry(
                grant.execution_id,
                grant.attempt,
                "retry",
                delay_ms=delay_ms,
                reason=_reason(raised, "requeued"),
                message=stored_form(gated, replacement),
                following=following,
            )
        if raised is None:
            return self._release(entry, State.COMPLETED, "", dead=False, following=following)
        if not any(isinstance(middleware, Retries) for middleware in broker.middleware):
            return self._release(entry, State.FAILED, _reason(raised, "raised"), dead=False, following=following)
        # The body raised, the message is not marked failed and no re-enqueue was noted: Dramatiq swallowed a failed
        # retry, and acknowledging it would lose the message.
        _, backoff_ms = compute_backoff(
            message.options.get("retries", 0), factor=DEFAULT_MIN_BACKOFF, max_backoff=DEFAULT_MAX_BACKOFF
        )
        return self._transitions.prepare_retry(
            grant.execution_id,
            grant.attempt,
            "retry",
            delay_ms=backoff_ms,
            reason=_reason(raised, "raised"),
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
            following=following,
        )

    def hand_back(self, entries: list[Entry]) -> None:
        """Give back what has not begun, free of charge, at its original score.

        Raises:
            QueueUnavailable: If Redis did not answer; the leases then run out by themselves.
        """
        for entry in entries:
            grant = entry.grant
            self._transitions.prepare_retry(grant.execution_id, grant.attempt, "hand_back", reason="not_begun").run()


def _reason(raised: BaseException | None, otherwise: str) -> str:
    return otherwise if raised is None else type(raised).__name__
