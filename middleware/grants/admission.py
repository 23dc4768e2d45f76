"""Admits one execution at a time, for the thread that received a plain broker's hint.

In the flow: a call whose reply was lost is repeated before any new call, so that no grant is lost. Grants enter the
grant table at once. If the process dies here, the leases run out.
"""

import threading
import time
from dataclasses import dataclass

from dramatiq import Broker

from ...configs.logger import Logger
from ...scheduler.engine.engine import Engine
from ...scheduler.engine.grants import Admission, Grant, read_exchange
from ...scheduler.engine.transitions import Next
from ...scheduler.model.errors import QueueUnavailable
from ...scheduler.transport.forks import anew_in_child
from ...scheduler.transport.scripts import Call
from ..intake.gated_actors import GatedActors
from .grant_message import message_of, refusal_of
from .table import GrantedMessage, GrantTable

log = Logger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    lane: str
    call: Call
    sent: float


class Admissions:
    """Single grants of one process, from Redis to messages. Safe to share between threads."""

    def __init__(self, engine: Engine, gated: GatedActors, held: GrantTable, lease_ttl_ms: int) -> None:
        self._engine = engine
        self._gated = gated
        self._held = held
        self._lease_ttl_ms = lease_ttl_ms
        self._begin_anew()
        anew_in_child(self._begin_anew)

    def _begin_anew(self) -> None:
        self._unanswered: list[_Asked] = []
        self._lock = threading.Lock()

    def admit(self, broker: Broker, lane: str) -> GrantedMessage | None:
        """Admit the best execution of a lane that may run now; None if none may.

        Raises:
            QueueUnavailable: If Redis did not answer; the call is kept and repeated, so that its grant is not lost.
        """
        self._gated.declare_limits(self._engine.controls, broker)
        while True:
            unanswered = self._take_unanswered(lane)
            asked = unanswered or self._prepare(lane)
            admission = self._run(asked)
            for grant in admission.grants:
                message = self._open(broker, grant, asked.sent)
                if message is not None:
                    return message
            # Ask again after the answer of a repeated call, which is not up to date, and after a refused grant.
            if unanswered is None and not admission.grants and not admission.more:
                return None

    def _prepare(self, lane: str) -> _Asked:
        call = self._engine.transitions.prepare_exchange((), Next((lane,), 1, self._lease_ttl_ms), asks=True)
        return _Asked(lane, call, time.monotonic())

    def _take_unanswered(self, lane: str) -> _Asked | None:
        with self._lock:
            asked = next((each for each in self._unanswered if each.lane == lane), None)
            if asked is not None:
                self._unanswered.remove(asked)
            return asked

    def _run(self, asked: _Asked) -> Admission:
        try:
            return read_exchange(asked.call.run()).admission
        except BaseException:
            with self._lock:
                self._unanswered.append(asked)
            raise

    def _open(self, broker: Broker, grant: Grant, sent: float) -> GrantedMessage | None:
        try:
            message = message_of(grant, self._gated, broker)
            retries = int(message.options.get("retries", 0))
        except Exception as error:  # noqa: BLE001  # whatever is wrong with it, the next may be started
            self._refuse(grant, error)
            return None
        return GrantedMessage(message, self._held.add(grant, sent, retries=retries))

    def _refuse(self, grant: Grant, error: Exception) -> None:
        try:
            self._engine.transitions.settle(refusal_of(grant, error))
        except QueueUnavailable as unavailable:
            log.warning("grant_left_to_its_lease", execution_id=grant.execution_id, error=str(unavailable))
