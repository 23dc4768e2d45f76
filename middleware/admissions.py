"""Asking for grants so that none is lost: a call whose reply did not come is made again before any new one.

In the flow: consumers (and, on a plain broker, the gate) come here with free threads, and settlements with what their
release admitted. What is granted enters the held table at once. If the process dies here, the leases run out.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from dramatiq import Broker
from dramatiq.errors import ActorNotFound

from ..scheduler.errors import InvalidRequest, QueueUnavailable
from ..scheduler.grants import Grant, read_admission
from ..scheduler.scripts import Call
from ..scheduler.states import State
from ..scheduler.transitions import Transitions
from .bands import PriorityBands
from .grant_message import message_of
from .held import GrantedMessage, Held

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What one round of asking gave."""

    messages: list[GrantedMessage]
    wait_ms: int | None
    """In how many ms to ask again at the latest, if that is known; 0: at once."""


class Admissions:
    """Grants of one process, from Redis to messages."""

    def __init__(self, transitions: Transitions, bands: PriorityBands, held: Held, lease_ttl_ms: int) -> None:
        self._transitions = transitions
        self._bands = bands
        self._held = held
        self._lease_ttl_ms = lease_ttl_ms
        self._unanswered: dict[str, list[tuple[Call, float]]] = {}
        self._lock = threading.Lock()

    def admit(self, broker: Broker, lane: str, count: int) -> Admitted:
        """Admit up to `count` of a lane; more only if an earlier call of this process had asked for them.

        Raises:
            QueueUnavailable: If Redis did not answer; the call is kept, so that what it was granted is not lost.
        """
        call, sent = self._take_unanswered(lane) or (self._prepare(lane, count), time.monotonic())
        try:
            admission = read_admission(call.run())
        except QueueUnavailable:
            with self._lock:
                self._unanswered.setdefault(lane, []).append((call, sent))
            raise
        messages = self.open(broker, lane, admission.grants, sent)
        again = admission.more or len(messages) < len(admission.grants)
        return Admitted(messages, 0 if again else admission.wait_ms)

    def _prepare(self, lane: str, count: int) -> Call:
        return self._transitions.prepare_admit(lane, count, lease_ms=self._lease_ttl_ms, consumer=True)

    def _take_unanswered(self, lane: str) -> tuple[Call, float] | None:
        with self._lock:
            calls = self._unanswered.get(lane)
            return calls.pop() if calls else None

    def open(self, broker: Broker, lane: str, grants: Sequence[Grant], sent: float) -> list[GrantedMessage]:
        """Enter grants into the held table, with their messages; `sent` is the time before the call that gave them."""
        opened: list[GrantedMessage] = []
        for grant in grants:
            try:
                message = message_of(grant, lane, self._bands.gated, broker)
            except (InvalidRequest, ActorNotFound) as error:
                self._refuse(grant, error)
            else:
                entry = self._held.add(grant, lane, sent, int(message.options.get("retries", 0)))
                opened.append(GrantedMessage(message, entry))
        return opened

    def _refuse(self, grant: Grant, error: Exception) -> None:
        reason = "actor_unknown" if isinstance(error, ActorNotFound) else "message_unreadable"
        log.error("grant_refused", execution_id=grant.execution_id, reason=reason, error=str(error))
        try:
            self._transitions.release(grant.execution_id, grant.attempt, State.FAILED, reason=reason, dead=True)
        except QueueUnavailable as unavailable:
            log.warning("grant_left_to_its_lease", execution_id=grant.execution_id, error=str(unavailable))
