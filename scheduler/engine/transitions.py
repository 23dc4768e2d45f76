"""The transitions of an execution: one typed method for each script, with the script's name.

In the flow: `middleware/` and `queue.py` call these; nothing else changes an execution. Each is atomic in Redis and
safe to repeat. The header of each script says what a crash before or after it leaves behind.
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
from .parking import Candidate, Parking, kept_arguments, park_arguments, read_parked
from .parking_together import ParkingTogether
from .settlements import Release, Settlement

RENEWED_A_CALL: Final = 500
"""How many leases one script call renews; more would block the server for too long."""


@dataclass(frozen=True, slots=True)
class Next:
    """The executions to admit in a call: up to `count` of these lanes, best first, leased for `lease_ms`."""

    lanes: tuple[str, ...] = ()
    count: int = 0
    lease_ms: int = 0


NOTHING_NEXT: Final = Next()


class Transitions:
    """The transitions on one server. Safe to share between threads."""

    def __init__(self, scripts: Scripts, *, by: str | None = None) -> None:
        """Args: `by`, the name for operator calls that give none; None: user, host and program of this process."""
        self.scripts = scripts
        self._by = None if by is None else check_by(by)
        parked = "id lane band action user gates timeout_ms due_ms max_age_ms event message lasting parent"
        self._park = scripts.script("park", f"{parked} key")
        self._together = ParkingTogether(partial(scripts.prepare, self._park), scripts.deadline_seconds)
        self._bury = scripts.script("bury", f"{parked} reason result")
        settled = "id kind attempt holder state only dead delay_ms reason message result"
        self._exchange = scripts.script("exchange", f"count lease_ms max_active asks lanes {settled}")
        self._renew = scripts.script("renew", "lease_ms id attempt holder")
        self._hand_over = scripts.script("hand_over", "id attempt holder pod pod_uid")
        self._cancel = scripts.script("cancel", "id outcome reason attempt by among")
        self._remove = scripts.script("remove", "id silent by")
        self._forget = scripts.script("forget", "lease")
        self._drop = scripts.script("drop", "id by")
        self._reprioritise = scripts.script("reprioritise", "id band by")

    def park(self, candidate: Candidate, *, by: str | None = None) -> Parked:
        """Accept an execution, which waits from then on.

        Args:
            candidate: The execution.
            by: Who asks, for the journal; None: its sender is a program, of which nothing is noted.

        Raises:
            QueueRejected: QueueFull, UserLimitExceeded, DuplicateExecution or NotUnique; nothing was kept.
        """
        if by is None:
            outcome = self._together.park(candidate)
        else:
            (reply,) = self.scripts.call(self._park, *park_arguments(candidate), check_by(by))
            outcome = read_parked(candidate, reply)
        if isinstance(outcome, QueueRejected):
            raise outcome
        return outcome

    def park_many(self, candidates: Sequence[Candidate], *, by: str | None = None) -> list[Parked | QueueRejected]:
        """Accept or refuse many executions, each on its own, in calls of a hundred; `by`, as for `park`.

        Returns:
            One result for each candidate, in order.
        """
        with self.parking(by) as parking:
            for candidate in candidates:
                parking.append(candidate)
            return parking.finish()

    @contextmanager
    def parking(self, by: str | None = None) -> Generator[Parking]:
        """Park candidates that become known one after the other: append them, then `finish`."""
        parking = Parking(self.scripts, self._park, None if by is None else check_by(by))
        try:
            yield parking
        finally:
            parking.close()

    def bury(self, candidate: Candidate, reason: str, *, result: bytes = b"") -> bool:
        """Keep a refused execution as a dead letter, with the reason and a result; False if its id is known already."""
        return self.scripts.call(self._bury, *kept_arguments(candidate), reason, result) == 1

    def admit(
        self,
        lanes: tuple[str, ...],
        count: int,
        *,
        lease_ms: int = 0,
        max_active: int | None = None,
        consumer: bool = False,
    ) -> Admission:
        """Give slots to up to `count` of these lanes' best eligible executions, best first over all lanes.

        Args:
            lanes: The lanes.
            count: At most this many grants. 0: none; the answer says whether there could be some.
            lease_ms: Length of the leases; 0: the sum of start_deadline_ms, the execution's own timeout and grace_ms.
            max_active: A limit in place of the lane's max_concurrent_executions; for one lane, and a count above 0.
            consumer: Whether the caller is a worker that consumes these lanes, which marks them as live.
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
        """Give the slot back with a terminal state, and admit the next executions; see `Release`."""
        release = Release(execution_id, attempt, state, holder, reason, result, only, dead)
        return self.settle(release, following=following)

    def settle(self, settlement: Settlement, *, following: Next = NOTHING_NEXT) -> Settled:
        """Give one slot back, and admit the next executions.

        Raises:
            QueueUnavailable: If Redis did not answer, or the execution's data there is damaged.
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
        """Prepare a call that gives slots back and takes others; it may be run until it answers, and takes effect once.

        Args:
            settlements: At most MOST_SETTLEMENTS; each succeeds or fails on its own.
            following: What to admit. With settlements, an execution is left waiting if one of another lane that has
                live consumers goes before it.
            max_active: As for `admit`.
            asks: Whether the caller is a worker that consumes these lanes. This marks them as live, and the answer
                says when to ask again.

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
        """Renew leases, some hundreds a call; one result each, in order. If one call fails, all may be repeated.

        Args:
            grants: The grants; for one that no worker's thread holds, its id, attempt and holder, as for a release.
            lease_ms: Length of the leases of a worker's threads, from now, which the worker relies on. 0: the setting.
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
            execution_id: The execution.
            attempt: The attempt of the grant.
            pod: The pod's name.
            pod_uid: The pod's UID, which fences all calls under this grant from here on.
            holder: The grant's nonce, given by the thread that created the pod; empty from the watch.
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
        among: frozenset[State] | None = None,
        by: str | None = None,
    ) -> Cancellation:
        """End a waiting execution as CANCELLED; ask one that holds a slot to end as `outcome` (CANCELLED or TIMEOUT).

        Args:
            execution_id: The execution.
            outcome: The terminal state of an execution that holds a slot.
            reason: One word.
            attempt: Act only on this attempt, as a timeout has to; None for any attempt.
            among: Act only in one of these states, else the code is STALE; None for any state.
            by: Who cancels, for the journal; NO_OPERATOR if nobody does. The methods below take the same argument.
        """
        given = "" if attempt is None else attempt
        states = "" if among is None else f" {' '.join(sorted(among))} "
        code, state, current, pod, uid = self.scripts.call(
            self._cancel, execution_id, outcome, check_reason(reason), given, self._asker(by), states
        )
        return Cancellation(
            Code(code.decode()), read_state(state), int(current), pod.decode() or None, uid.decode() or None
        )

    def _asker(self, by: str | None) -> str:
        return NO_OPERATOR if by == NO_OPERATOR else check_by(self._by if by is None else by)

    def remove(self, execution_id: str, *, silent: bool = False, by: str | None = None) -> tuple[Code, State | None]:
        """Remove an execution by force; its slot is free at once. With `silent`, its sender is not told."""
        raw = self.scripts.call(self._remove, execution_id, int(silent), self._asker(by))
        return Code(raw[0].decode()), read_state(raw[1])

    def forget(self, lease: str) -> bool:
        """Free the slot and gates of a lease (see `Views.pod_leases`) whose execution's record is lost.

        Returns:
            False if there is a record, or no such lease.
        """
        return self.scripts.call(self._forget, lease) == 1

    def drop(self, execution_id: str, *, by: str | None = None) -> bool:
        """Forget a dead letter; False if the execution is not one."""
        return self.scripts.call(self._drop, execution_id, self._asker(by)) == 1

    def reprioritise(
        self, execution_id: str, band: Priority | str | int, *, by: str | None = None
    ) -> tuple[Code, State | None]:
        """Move a waiting execution to another band, at its own time; InvalidRequest if there is no such band."""
        raw = self.scripts.call(self._reprioritise, execution_id, int(Priority.parse(band)), self._asker(by))
        return Code(raw[0].decode()), read_state(raw[1])
