"""The transitions of an execution, one typed method a script, named as it is.

In the flow: `middleware/` and `queue.py` call these; nothing else changes an execution. Each is atomic in Redis and
safe to repeat; what a crash before or after it leaves behind stands in the script's header.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from ..model.errors import QueueRejected
from ..model.identifiers import check_reason
from ..model.operators import NO_OPERATOR, check_by
from ..model.priority import Priority
from ..model.states import State
from ..transport.scripts import Call, Scripts
from .grants import (
    Admission,
    Cancellation,
    Code,
    Grant,
    HandOver,
    Parked,
    Renewal,
    Settled,
    read_exchange,
    read_settled,
    read_state,
)
from .parking import Candidate, Parking, park_arguments
from .parking_together import ParkingTogether
from .settlements import Release, Settlement

RENEWED_A_CALL: Final = 500
"""Leases renewed by one script call; more would keep the server from others for too long."""


@dataclass(frozen=True, slots=True)
class Next:
    """What is admitted in a call: up to `count` of these lanes, best first, leased for `lease_ms`."""

    lanes: tuple[str, ...] = ()
    count: int = 0
    lease_ms: int = 0


NOTHING_NEXT: Final = Next()


class Transitions:
    """The transitions on one server. Safe to share between threads."""

    def __init__(self, scripts: Scripts, *, by: str | None = None) -> None:
        """Args: `by`, who asks where an operator's call does not say; None: user, host and program of this process."""
        self.scripts = scripts
        self._by = None if by is None else check_by(by)
        parked = "id lane band action user gates timeout_ms due_ms max_age_ms event message lasting parent"
        self._park = scripts.script("park", parked)
        self._together = ParkingTogether(partial(scripts.prepare, self._park), scripts.deadline_seconds)
        self._bury = scripts.script("bury", f"{parked} reason result")
        settled = "id kind attempt holder state only dead delay_ms reason message result"
        self._exchange = scripts.script("exchange", f"count lease_ms max_active asks lanes {settled}")
        self._renew = scripts.script("renew", "lease_ms id attempt holder")
        self._hand_over = scripts.script("hand_over", "id attempt holder pod pod_uid")
        self._cancel = scripts.script("cancel", "id outcome reason attempt by")
        self._remove = scripts.script("remove", "id silent by")
        self._forget = scripts.script("forget", "lease")
        self._drop = scripts.script("drop", "id by")
        self._reprioritise = scripts.script("reprioritise", "id band by")

    def park(self, candidate: Candidate) -> Parked:
        """Accept an execution to wait.

        Raises:
            QueueRejected: QueueFull, UserLimitExceeded or DuplicateExecution; nothing was kept.
        """
        outcome = self._together.park(candidate)
        if isinstance(outcome, QueueRejected):
            raise outcome
        return outcome

    def park_many(self, candidates: Sequence[Candidate]) -> list[Parked | QueueRejected]:
        """Accept or refuse many, each for itself, a hundred a call.

        Returns:
            A result each, in order.
        """
        with self.parking() as parking:
            for candidate in candidates:
                parking.append(candidate)
            return parking.finish()

    @contextmanager
    def parking(self) -> Generator[Parking]:
        """For candidates that become known one after the other: append them, then `finish`."""
        parking = Parking(self.scripts, self._park)
        try:
            yield parking
        finally:
            parking.close()

    def bury(self, candidate: Candidate, reason: str, *, result: bytes = b"") -> bool:
        """Keep a refused execution as a dead letter, with what is told of the refusal; False if its id is known."""
        return self.scripts.call(self._bury, *park_arguments(candidate), reason, result) == 1

    def admit(
        self,
        lanes: tuple[str, ...],
        count: int,
        *,
        lease_ms: int = 0,
        max_active: int | None = None,
        consumer: bool = False,
    ) -> Admission:
        """Give slots to up to `count` of some lanes' best eligible executions, best first over all of them.

        Args:
            lanes: The lanes.
            count: At most this many grants. 0: none; the answer says whether there could be some.
            lease_ms: Length of the leases; 0: start_deadline_ms, each execution's own timeout, and grace_ms together.
            max_active: In place of the lane's max_concurrent_executions; for one lane, and a count above 0.
            consumer: A worker that consumes these lanes asks, so they are live.
        """
        following = Next(lanes, count, lease_ms)
        call = self.prepare_exchange((), following, max_active=max_active, asks=consumer)
        return read_exchange(call.run()).admission

    def release(
        self,
        execution_id: str,
        attempt: int | None,
        state: State,
        *,
        holder: str = "",
        reason: str = "",
        result: bytes = b"",
        only: State | None = None,
        dead: bool = False,
        following: Next = NOTHING_NEXT,
    ) -> Settled:
        """Give the slot back with a terminal state, and admit the next; see `Release`."""
        release = Release(execution_id, attempt, state, holder, reason, result, only, dead)
        return self.settle(release, following=following)

    def settle(self, settlement: Settlement, *, following: Next = NOTHING_NEXT) -> Settled:
        """Give one slot back, and admit the next.

        Raises:
            QueueUnavailable: If Redis did not answer, or what it has of the execution is damaged.
        """
        return read_settled(self.prepare_exchange((settlement,), following).run())

    def prepare_exchange(
        self,
        settlements: Sequence[Settlement],
        following: Next = NOTHING_NEXT,
        *,
        max_active: int | None = None,
        asks: bool = False,
    ) -> Call:
        """Slots given back and others taken, in one call that may be run until it answers, and takes effect once.

        Args:
            settlements: At most MOST_SETTLEMENTS. Each stands for itself.
            following: What to admit. With settlements: nothing that comes after another lane's that has live consumers.
            max_active: As for `admit`.
            asks: A worker that consumes these lanes asks, so they are live, and it is told when to ask again.

        Returns:
            The call; read its answer with `read_exchange`.
        """
        return self.scripts.prepare(
            self._exchange,
            following.count,
            following.lease_ms,
            "" if max_active is None else max_active,
            int(asks),
            "\n".join(following.lanes),
            *(argument for each in settlements for argument in each.arguments),
        )

    def renew(self, grants: Sequence[Grant | tuple[str, int, str]], *, lease_ms: int = 0) -> list[Renewal]:
        """Prolong leases, some hundreds a call; a result each, in order. If one call fails, all may be repeated.

        Args:
            grants: Whose; other than a thread's: id, attempt and holder, as for a release.
            lease_ms: From now, for those that a worker's thread holds: what that worker counts on. 0: the setting.
        """
        held = [(g.execution_id, g.attempt, g.nonce) if isinstance(g, Grant) else g for g in grants]
        renewals: list[Renewal] = []
        for start in range(0, len(held), RENEWED_A_CALL):
            page = held[start : start + RENEWED_A_CALL]
            raw = self.scripts.call(self._renew, lease_ms, *(part for each in page for part in each))
            renewals += [Renewal(code.decode()) for code in raw]
        return renewals

    def hand_over(self, execution_id: str, attempt: int, pod: str, pod_uid: str, *, holder: str = "") -> HandOver:
        """Pass the grant to a pod that was created.

        Args:
            execution_id: Whose.
            attempt: The grant.
            pod: The pod's name.
            pod_uid: Its UID, which fences what is done from here on.
            holder: The grant's nonce, of the thread that created it; empty from the watch.
        """
        code, state, wanted = self.scripts.call(self._hand_over, execution_id, attempt, holder, pod, pod_uid)
        return HandOver(Code(code.decode()), read_state(state), is_wanted=wanted == 1)

    def cancel(
        self,
        execution_id: str,
        *,
        outcome: State = State.CANCELLED,
        reason: str = "cancelled",
        attempt: int | None = None,
        by: str | None = None,
    ) -> Cancellation:
        """End what waits as CANCELLED; ask what holds a slot to end as `outcome` (CANCELLED or TIMEOUT).

        Args:
            execution_id: Which.
            outcome: What it ends as if it holds a slot.
            reason: One word.
            attempt: Only under this grant, as a timeout must be; None for whatever attempt it is at.
            by: Who asks, for the journal, here and below; NO_OPERATOR if nobody did.
        """
        given = "" if attempt is None else attempt
        code, state, current, pod, uid = self.scripts.call(
            self._cancel, execution_id, outcome, check_reason(reason), given, self._asker(by)
        )
        return Cancellation(
            Code(code.decode()), read_state(state), int(current), pod.decode() or None, uid.decode() or None
        )

    def _asker(self, by: str | None) -> str:
        return NO_OPERATOR if by == NO_OPERATOR else check_by(self._by if by is None else by)

    def remove(self, execution_id: str, *, silent: bool = False, by: str | None = None) -> tuple[Code, State | None]:
        """Take an execution out by force; its slot is free at once. `silent`: whoever sent it is not told."""
        raw = self.scripts.call(self._remove, execution_id, int(silent), self._asker(by))
        return Code(raw[0].decode()), read_state(raw[1])

    def forget(self, lease: str) -> bool:
        """Give back what is held under a lease, as `Views.pod_leases` lists them, if its execution's record is lost.

        Returns:
            False if there is a record, or no such lease.
        """
        return self.scripts.call(self._forget, lease) == 1

    def drop(self, execution_id: str, *, by: str | None = None) -> bool:
        """Forget a dead letter; False if it is none."""
        return self.scripts.call(self._drop, execution_id, self._asker(by)) == 1

    def reprioritise(
        self, execution_id: str, band: Priority | str | int, *, by: str | None = None
    ) -> tuple[Code, State | None]:
        """Move what waits to another band, at its own time; InvalidRequest if there is no such band."""
        raw = self.scripts.call(self._reprioritise, execution_id, int(Priority.parse(band)), self._asker(by))
        return Code(raw[0].decode()), read_state(raw[1])
