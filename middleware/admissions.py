"""Asking for grants so that none is lost: a call whose reply did not come is made again before any new one.

In the flow: the pump (and, on a plain broker, the gate) comes here with free threads, and settlements with what their
release admitted. What is granted enters the held table at once. If the process dies here, the leases run out.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dramatiq import Broker
from dramatiq.errors import ActorNotFound

from ..configs.logger import Logger
from ..scheduler.errors import InvalidRequest, QueueUnavailable
from ..scheduler.grants import Grant, read_admission
from ..scheduler.scripts import Call
from ..scheduler.states import State
from ..scheduler.transitions import Transitions
from .bands import PriorityBands
from .grant_message import message_of
from .held import GrantedMessage, Held

log = Logger(__name__)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What one round of asking gave."""

    messages: list[GrantedMessage]
    more: bool
    """Something may be admitted still: ask again at once, or, without a thread, as soon as one is free."""
    wait_ms: int | None
    """In how many ms something falls due or a lease ends, if that is known."""
    untold: bool
    """An outbox of these lanes has something."""


@dataclass(frozen=True, slots=True)
class _Asked:
    lanes: frozenset[str]
    call: Call
    sent: float


class Admissions:
    """Grants of one process, from Redis to messages. Safe to share between threads."""

    def __init__(self, transitions: Transitions, bands: PriorityBands, held: Held, lease_ttl_ms: int) -> None:
        self._transitions = transitions
        self._bands = bands
        self._held = held
        self._lease_ttl_ms = lease_ttl_ms
        self._unanswered: list[_Asked] = []
        self._lock = threading.Lock()

    def admit(self, broker: Broker, lanes: tuple[str, ...], count: int) -> Admitted:
        """Admit up to `count` of these lanes, best first, each with a permit; without one come those beyond, if an
        earlier call had asked for more. With a count of 0 nothing is granted, but the lanes are known as live.

        Raises:
            QueueUnavailable: If Redis did not answer; the call is kept, so that what it was granted is not lost.
        """
        self._bands.declare_limits(broker)
        unanswered = self._take_unanswered(lanes)
        asked = unanswered or self._prepare(lanes, count)
        try:
            admission = read_admission(asked.call.run())
        except BaseException:
            with self._lock:
                self._unanswered.append(asked)
            raise
        messages = self.open(broker, admission.grants, asked.sent, permits=count)
        # An answer that comes late says nothing of now, and of those that were refused the next may be asked for.
        more = admission.more or unanswered is not None or len(messages) < len(admission.grants)
        return Admitted(messages, more, admission.wait_ms, admission.untold)

    def _prepare(self, lanes: tuple[str, ...], count: int) -> _Asked:
        call = self._transitions.prepare_admit(lanes, count, lease_ms=self._lease_ttl_ms, consumer=True)
        return _Asked(frozenset(lanes), call, time.monotonic())

    def _take_unanswered(self, lanes: tuple[str, ...]) -> _Asked | None:
        with self._lock:
            asked = next((each for each in self._unanswered if not each.lanes.isdisjoint(lanes)), None)
            if asked is not None:
                self._unanswered.remove(asked)
            return asked

    def open(self, broker: Broker, grants: Sequence[Grant], sent: float, *, permits: int = 0) -> list[GrantedMessage]:
        """Enter grants into the held table, with their messages.

        Args:
            broker: Whose actors are known here.
            grants: As admitted.
            sent: The monotonic time before the call that gave them.
            permits: So many of the first hold a permit from the beginning, for who takes an entry out gives it back.
        """
        opened: list[GrantedMessage] = []
        try:
            for grant in grants:
                try:
                    message = message_of(grant, self._bands.gated, broker)
                    retries = int(message.options.get("retries", 0))
                except Exception as error:  # noqa: BLE001  # whatever is wrong with one, the others are granted
                    self._refuse(grant, error)
                else:
                    entry = self._held.add(grant, sent, retries=retries, has_permit=len(opened) < permits)
                    opened.append(GrantedMessage(message, entry))
        except BaseException:
            # Nobody is told of these: without an entry they are not renewed, and their leases run out.
            for each in opened:
                self._held.drop(each.entry)
            raise
        return opened

    def _refuse(self, grant: Grant, error: Exception) -> None:
        reason = "actor_unknown" if isinstance(error, ActorNotFound) else "message_unreadable"
        # Of another kind, its text may be a part of the payload.
        said = str(error) if isinstance(error, ActorNotFound | InvalidRequest) else type(error).__name__
        log.error("grant_refused", execution_id=grant.execution_id, reason=reason, error=said)
        try:
            self._transitions.release(
                grant.execution_id, grant.attempt, State.FAILED, reason=reason, dead=True, holder=grant.nonce
            )
        except QueueUnavailable as unavailable:
            log.warning("grant_left_to_its_lease", execution_id=grant.execution_id, error=str(unavailable))
