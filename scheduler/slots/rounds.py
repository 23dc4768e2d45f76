"""The calls that one process makes for its slots: send who arrived, hear news, renew, undo who left.

In the flow: the attendant's thread makes them, one after the other, so that who entered first is sent first. A step
that fails is repeated in the next round. If the process dies here, what it waits for ends, and its leases run out.
"""

import math
import time
from collections.abc import Sequence
from typing import Final

from ...configs.logger import Logger
from ..engine.attending import Attending
from ..engine.engine import Engine
from ..engine.grants import Code, Renewal, read_exchange
from ..engine.settlements import MOST_SETTLEMENTS, Release
from ..model.errors import QueueRejected, QueueUnavailable
from ..model.identifiers import EVERY_SLOT_LANE, slot_number
from ..model.operators import NO_OPERATOR
from ..model.states import WAITING, State
from .desk import Desk
from .entry import Entry

log = Logger(__name__)
ROUND_SECONDS: Final = 1.0
"""The longest time between two looks for news while something waits."""
PATIENCE_SECONDS: Final = 1.0
"""How long room is left to executions of workers that were accepted before, if no worker takes it."""
GIVEN_UP: Final = "given_up"
"""The reason of an end that whoever waited asked for: the wait was too long, or interrupted."""
RAISED: Final = "raised"
"""The reason of an end if the code under the slot raised an exception."""


class Rounds:
    """The calls for one desk. For one thread."""

    def __init__(self, engine: Engine, desk: Desk, max_queue_length: int | None) -> None:
        """Args: `max_queue_length`, how many may wait for slots of one name, where nobody has set that in Redis; None:
        the default there."""
        self._transitions = engine.transitions
        self._controls = engine.controls
        self._views = engine.views
        self._attending = Attending(engine.scripts)
        self._desk = desk
        self._max_queue_length = max_queue_length
        self._is_bounded = False
        self._declared: dict[str, int] = {}
        self._asked = 0.0
        """When Redis was last asked for news, on the monotonic clock; likewise the next ones."""
        self._opens = math.inf
        """When a rate opens a gate, likewise."""
        self._renewed = 0.0
        self._yielded: dict[str, float] = {}
        """Lane → since when there has been room that is left to others."""
        self.lease_seconds = 0.0
        """Known after the first round."""

    def due_in_seconds(self, *, waits: bool, holds: bool) -> float | None:
        """In how many seconds the next round is due, if nothing happens; None: never."""
        due = [self._next_look] if waits else []
        due += [self._renewed + self.lease_seconds / 3] if holds else []
        return max(0.0, min(due) - time.monotonic()) if due else None

    def renew(self) -> None:
        """Renew the leases of what is held, if it is time."""
        held = self._desk.holding()
        if not held or time.monotonic() < self._renewed + self.lease_seconds / 3:
            return
        began = time.monotonic()
        renewals = self._transitions.renew([(each.execution_id, each.attempt, each.nonce) for each in held])
        self._renewed = began
        for entry, renewal in zip(held, renewals, strict=True):
            if renewal is Renewal.STALE and self._desk.note_lost(entry.execution_id) is not None:
                log.warning("slot_lost", name=entry.name, execution_id=entry.execution_id)
            entry.is_cancelled |= renewal is Renewal.CANCEL

    def send(self) -> None:
        """Send who arrived, in order, and ask once for slots for them."""
        arrived = self._desk.take_arriving()
        if not arrived:
            return
        try:
            # Redis must know that this process lives before it grants anything.
            if time.monotonic() >= self._asked + ROUND_SECONDS:
                self.ask()
            self._prepare(arrived)
            outcomes = self._transitions.park_many([entry.candidate() for entry in arrived])
        except QueueUnavailable as error:
            for entry in arrived:
                self._desk.fail(entry, QueueUnavailable(error.problem, url=error.url), may_be_there=True)
            return
        except Exception as error:  # whatever it is, nobody may wait for ever
            for entry in arrived:
                self._desk.fail(entry, error, may_be_there=True)
            raise
        accepted: list[Entry] = []
        for entry, outcome in zip(arrived, outcomes, strict=True):
            if isinstance(outcome, QueueRejected):
                self._desk.fail(entry, outcome)
            else:
                self._desk.note_sent(entry)
                accepted.append(entry)
        try:
            self.ask()
        finally:
            self._desk.note_answered(accepted)

    def ask(self) -> None:
        """Say that this process lives, and hear what happened."""
        self._desk.is_woken = False  # before the call: what happens during it wakes again
        waiting, received = self._desk.waiting(), list(self._desk.received)
        expected = len(waiting) + len(self._desk.holding())
        began = time.monotonic()
        lanes = sorted({entry.lane for entry in waiting})
        insisted = [lane for lane in lanes if began >= self._yielded.get(lane, began) + PATIENCE_SECONDS]
        attendance = self._attending.attend(self._desk.owner, lanes, insisted=insisted, received=received)
        if not self.lease_seconds:
            self._renewed = began
        self._asked, self.lease_seconds = began, attendance.lease_ms / 1000
        self._opens = math.inf if attendance.wait_ms is None else time.monotonic() + attendance.wait_ms / 1000
        self._yielded = {lane: self._yielded.get(lane, began) for lane in attendance.yielded}
        self._desk.received.difference_update(received)
        # In their order, since some may have to be sent again.
        for execution_id in sorted(attendance.news, key=slot_number):
            self._desk.hear(execution_id, attendance.news[execution_id])
        if attendance.live_count < expected:
            self._look_for(waiting)

    def ask_if_due(self) -> None:
        """The same, if anybody waits and it is time, or Redis has something to say."""
        if self._desk.is_woken or (self._desk.waiting() and time.monotonic() >= self._next_look):
            self.ask()

    @property
    def _next_look(self) -> float:
        return min(self._asked + ROUND_SECONDS, self._opens)

    def withdraw(self) -> None:
        """Undo in Redis who left: give slots back, end waits."""
        leaving = self._desk.leaving()
        held = [entry for _, entry in leaving if entry is not None and entry.nonce]
        for start in range(0, len(held), MOST_SETTLEMENTS):
            self._give_back(held[start : start + MOST_SETTLEMENTS])
        if held and self._desk.waiting():
            self.ask()  # the slots are perhaps this process's again
        for execution_id, entry in leaving:
            if entry is None or not entry.nonce:
                self._end_wait(execution_id, entry)

    def _prepare(self, entries: Sequence[Entry]) -> None:
        """Set what a lane and a gate have to have before the first is accepted: the bound, and the declared limit."""
        if self._max_queue_length is not None and not self._is_bounded:
            self._bound(self._max_queue_length)
            self._is_bounded = True
        for entry in entries:
            if entry.limit is not None and self._declared.get(entry.name) != entry.limit:
                self._controls.declare_limits({entry.lane: {entry.gate: entry.limit}})
                self._declared[entry.name] = entry.limit

    def _bound(self, configured: int) -> None:
        name = "max_queue_size"
        in_force = self._controls.change_setting(name, configured, lane=EVERY_SLOT_LANE, only_if_unset=True)
        if in_force != configured:
            log.warning(
                "setting_differs", name=f"{name} of {EVERY_SLOT_LANE}", configured=configured, in_force=in_force
            )

    def _look_for(self, waiting: Sequence[Entry]) -> None:
        """Send again what waits here and is not known to Redis, which was emptied or came back with older data."""
        ids = [entry.execution_id for entry in waiting]
        lives = {State.PENDING, State.RUNNING}
        lost = [each for each, meta in zip(ids, self._views.metas(ids), strict=True) if meta.get("state") not in lives]
        if lost and self._desk.send_again(lost):
            self._is_bounded = False
            self._declared.clear()
            log.warning("slots_sent_again", count=len(lost))

    def _give_back(self, entries: Sequence[Entry]) -> None:
        settlements = [release_of(entry) for entry in entries]
        read_exchange(self._transitions.prepare_exchange(settlements).run())
        for entry in entries:
            self._desk.note_withdrawn(entry.execution_id)

    def _end_wait(self, execution_id: str, entry: Entry | None) -> None:
        if entry is not None:
            entry.before = self._views.before_in_action(execution_id, entry.name)
            statistics = self._views.action_statistics(entry.name)
            entry.held, entry.limit_in_force = statistics.active_count, statistics.max_concurrent
        ended = self._transitions.cancel(execution_id, reason=GIVEN_UP, among=WAITING, by=NO_OPERATOR)
        if ended.code is Code.STALE:  # granted at this very moment
            self._transitions.release(execution_id, ended.attempt, State.CANCELLED, reason=GIVEN_UP, only=State.RUNNING)
        self._desk.note_withdrawn(execution_id)


def release_of(entry: Entry) -> Release:
    """How a slot is given back."""
    reason = RAISED if entry.state is State.FAILED else ""
    return Release(entry.execution_id, entry.attempt, entry.state, entry.nonce, reason, only=State.RUNNING)
