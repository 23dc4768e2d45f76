"""``Planner``: parks the next occurrences of schedules before they are due, so that whoever lives promotes them.

In the flow: the leader's scheduler process plans once a second, a worker while nobody leads, and whoever adds a
schedule plans it at once. The id of an occurrence is its schedule and its time in UTC, and the script that parks it
moves the schedule's cursor too. So of two leaders one is refused, and nothing comes twice or is lost. If the process
dies before the call, the next one plans; after it, the occurrence waits in Redis. A lost reply: the call is repeated,
and has the same answer.

Each few seconds a round looks through a page of names, and plans what waits for the wrong time: the sorted set of times
may be lost alone, or the server's clock was far ahead. What was planned ahead of a clock that came back is taken back.

What could not be planned or started for `MISSED_AFTER_MS` is missed, and the schedule's rule for that decides.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

from ..configs.logger import Logger
from .engine.grants import Parked
from .engine.held_schedule import Held
from .engine.parking import Candidate, park_arguments, read_parked
from .engine.schedules import READ_A_PAGE, Change, Schedules
from .events.schedule import OF_SCHEDULES, Schedule, instant_of, occurrence_id
from .model.errors import DuplicateExecution, InvalidRequest, NotLeader, QueueRejected, UnknownSchedule
from .model.identifiers import new_execution_id
from .plans import ENDED, Plan, next_times, plan_of, waits_too_long
from .queue import candidate_of

log = Logger(__name__)
DAMAGED: Final = "not_readable"
DAMAGED_AGAIN_MS: Final = 60_000
ROUNDS_A_CALL: Final = 60
LOOKED_A_PAGE: Final = 200
"""So many names a look for schedules whose time is lost."""
LOOKS_EACH_MS: Final = 5_000
_TRIES: Final = 3
_RUN: Final = "run-"


def occurrence_of(schedule: Schedule, execution_id: str, due_ms: int | None) -> Candidate:
    """Return an occurrence in the form in which it is parked."""
    if schedule.actor is None:
        return replace(candidate_of(schedule.event(execution_id, due_ms)), due_ms=due_ms)
    message = {
        "queue_name": schedule.lane_used,
        "actor_name": schedule.actor,
        "args": list(schedule.args),
        "kwargs": schedule.kwargs,
        "options": {},
        "message_id": execution_id,
        "message_timestamp": due_ms or 0,
    }
    return Candidate(
        execution_id,
        schedule.lane_used,
        int(schedule.priority),
        schedule.action_used,
        schedule.user_id,
        schedule.gates,
        due_ms=due_ms,
        message=json.dumps(message, separators=(",", ":")).encode(),
    )


class Planner:
    """Plans the schedules of one queue. Safe to share between threads."""

    def __init__(self, schedules: Schedules, *, now_ms: Callable[[], int] | None = None) -> None:
        """Makes no call. `now_ms`: the time, in place of the server's; for tests."""
        self._schedules = schedules
        self._now_ms = now_ms or schedules.server_time_ms
        self._told: dict[str, str] = {}
        self._looked_ms: int | None = None
        self._looked_after = ""

    def round(self, epoch: int | None = None, leader_id: str = "") -> int:
        """Plan all that is to be planned now; each apart, so that a damaged one holds up no other.

        Args:
            epoch: The leader's; None: nobody leads.
            leader_id: The leader's id.

        Returns:
            How many were planned.

        Raises:
            NotLeader: If another process leads.
            QueueUnavailable: If Redis did not answer.
        """
        planned = 0
        for _ in range(ROUNDS_A_CALL):
            now_ms = self._now_ms()
            names = self._schedules.to_plan(now_ms)
            found = self._schedules.some(names)
            for held in found:
                self._plan(held, now_ms, epoch, leader_id)
            for name in set(names).difference(held.name for held in found):
                # Only damage leaves one: a schedule and its time are removed together.
                self._schedules.drop_time(name, epoch=epoch)
            planned += len(names)
            if len(names) < READ_A_PAGE:
                break
        return planned + self._repair(epoch, leader_id)

    def _repair(self, epoch: int | None, leader_id: str) -> int:
        """Plan those of the next page of names that are looked at too late or never; return how many."""
        now_ms = self._now_ms()
        if self._looked_ms is not None and abs(now_ms - self._looked_ms) < LOOKS_EACH_MS:
            return 0
        names = self._schedules.names(self._looked_after, LOOKED_A_PAGE)
        looks_ms = self._schedules.looks_ms(names)
        lost = [each for each in self._schedules.some(names) if waits_too_long(each, looks_ms[each.name], now_ms)]
        for held in lost:
            log.warning("schedule_time_lost", schedule=held.name)
            self._plan(held, now_ms, epoch, leader_id)
        self._looked_ms, self._looked_after = now_ms, names[-1] if len(names) == LOOKED_A_PAGE else ""
        return len(lost)

    def plan(self, name: str) -> None:
        """Plan one schedule at once, whoever leads.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        for _ in range(_TRIES):
            found = self._schedules.some([name])
            if not found or found[0].is_paused or self._plan(found[0], self._now_ms(), None, ""):
                return

    def _plan(self, held: Held, now_ms: int, epoch: int | None, leader_id: str) -> bool:
        """Plan one; return whether it was not changed meanwhile."""
        try:
            schedule = held.schedule
            plan = plan_of(schedule, held.cursor_ms, now_ms)
            all_ms = [*plan.missed_ms, *plan.times_ms]
            parked = [
                (
                    f"{at_ms}/{instant_of(at_ms)}",
                    occurrence_of(schedule, occurrence_id(held.name, at_ms), schedule.due_ms(at_ms)),
                )
                for at_ms in all_ms
            ]
        except (InvalidRequest, ValueError, OverflowError) as error:
            self._tell(held.name, DAMAGED, error=str(error))
            look_ms = now_ms + DAMAGED_AGAIN_MS
            answer = self._schedules.plan(
                held, [], epoch=epoch, cursor_ms=held.cursor_ms, look_ms=look_ms, problem=DAMAGED
            )
            return answer[0] != b"CHANGED"
        is_over = not all_ms or all_ms[-1] <= now_ms
        answer = self._schedules.plan(
            held,
            [(instant, park_arguments(candidate)) for instant, candidate in parked],
            epoch=epoch,
            cursor_ms=max(all_ms, default=held.cursor_ms),
            look_ms=None if is_over else all_ms[-1],
            missed=plan.left_out,
            problem=ENDED if is_over else "",
        )
        if answer[0] == b"STALE_EPOCH":
            raise NotLeader(leader_id=leader_id, epoch=epoch or 0)
        self._tell_outcome(held, plan, [candidate for _, candidate in parked], answer)
        return answer[0] != b"CHANGED"

    def _tell_outcome(self, held: Held, plan: Plan, parked: Sequence[Candidate], answer: list[Any]) -> None:
        if answer[0] != b"OK":
            return
        if plan.left_out or plan.missed_ms:
            log.warning("schedule_missed", schedule=held.name, left_out=plan.left_out, run=len(plan.missed_ms))
        refused = ""
        for candidate, reply in zip(parked, answer[1:], strict=False):
            if reply[0] == b"SKIPPED":
                log.info("occurrence_skipped", execution_id=candidate.execution_id, reason="overlap")
                continue
            outcome = read_parked(candidate, reply)
            if isinstance(outcome, QueueRejected) and not isinstance(outcome, DuplicateExecution):
                refused = str(outcome)
        if refused:
            self._tell(held.name, "refused", error=refused)
        else:
            self._told.pop(held.name, None)

    def _tell(self, name: str, problem: str, error: str) -> None:
        """Log a problem of a schedule once, until it is over."""
        if self._told.get(name) != problem:
            self._told[name] = problem
            log.error("schedule_not_planned", schedule=name, problem=problem, error=error)


def put(
    schedules: Schedules, schedule: Schedule, *, paused: bool = False, only_new: bool = False, by: str | None = None
) -> Change:
    """Add or replace a schedule, and plan it at once. As `Schedules.put`.

    Raises:
        InvalidRequest: If it has no time to come, since its end is over.
    """
    if not next_times(schedule, schedules.server_time_ms(), 1):
        raise InvalidRequest("end", f"{schedule.name} would never run: its end is over", allowed="a later end, or none")
    change = schedules.put(schedule, paused=paused, only_new=only_new, by=by)
    Planner(schedules).plan(schedule.name)
    return change


def resume(schedules: Schedules, name: str, *, by: str | None = None) -> bool:
    """End a schedule's pause, and plan it at once. As `Schedules.resume`."""
    was_paused = schedules.resume(name, by=by)
    Planner(schedules).plan(name)
    return was_paused


def run_now(schedules: Schedules, name: str, key: str | None = None) -> Parked:
    """Run a schedule once now, whether it is paused or not; its own times stay.

    Args:
        schedules: The schedules.
        name: Its name.
        key: Names this request: a repeated one with the same key makes no second execution; None: a new one.

    Raises:
        UnknownSchedule: If there is none.
        QueueRejected: If the execution was not accepted: DuplicateExecution, if the key was used before.
        QueueUnavailable: If Redis did not answer.
    """
    schedule = schedules.get(name).schedule
    candidate = occurrence_of(schedule, run_now_id(name, key), None)
    answer = schedules.run_now(name, park_arguments(candidate))
    if answer[0] == b"UNKNOWN":
        raise UnknownSchedule(name)
    outcome = read_parked(candidate, answer[1])
    if isinstance(outcome, QueueRejected):
        raise outcome
    return outcome


def run_now_id(name: str, key: str | None) -> str:
    """Return the id of the execution that `run_now` makes: the same for the same key; None: a new one."""
    which = new_execution_id() if key is None else blake2b(key.encode(), digest_size=12).hexdigest()
    return f"{OF_SCHEDULES}{name}:{_RUN}{which}"
