"""Checks the demo's claims against the observed executions; one false claim makes the demo fail.

In the flow: after the last execution has ended. A claim is a sentence and a list of its contradictions.
"""

from dataclasses import dataclass

from bandmaster.scheduler.model.states import TERMINAL
from bandmaster.scheduler.views import QueueStatus

from .observed import Observed
from .plan import ENDS_AS, Part, Planned, expected_order


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence and its contradictions."""

    sentence: str
    contradictions: list[str]

    @property
    def holds(self) -> bool:
        """Whether there are no contradictions."""
        return not self.contradictions


def check(planned: list[Planned], observed: Observed, status: QueueStatus, limit: int) -> list[Claim]:
    """Check all claims."""
    return [
        _each_ended_once(planned, observed),
        _in_order(planned, observed),
        _under_limit(observed, limit),
        _ended_as_planned(planned, observed),
        _ran_once(planned, observed),
        _nothing_left(status),
    ]


def _each_ended_once(planned: list[Planned], observed: Observed) -> Claim:
    wrong = [
        f"{p.execution_id}: {seen.state if (seen := observed.executions.get(p.execution_id)) else 'never seen'}"
        for p in planned
        if p.execution_id not in observed.executions or observed.executions[p.execution_id].state not in TERMINAL
    ]
    return Claim(f"each of the {len(planned)} accepted executions ended", wrong)


def _in_order(planned: list[Planned], observed: Observed) -> Claim:
    expected, started = expected_order(planned), observed.started
    wrong = [
        f"place {place}: expected {a[-12:]}, started {b[-12:]}"
        for place, (a, b) in enumerate(zip(expected, started, strict=False))
        if a != b
    ]
    if len(expected) != len(started):
        wrong.append(f"{len(started)} started, {len(expected)} were to start")
    return Claim("they started by band, and first in, first out in each", wrong)


def _under_limit(observed: Observed, limit: int) -> Claim:
    most = observed.most_at_once
    return Claim(
        f"never more than {limit} at once, and {limit} at some time",
        [] if most == limit else [f"{most} at once"],
    )


def _ended_as_planned(planned: list[Planned], observed: Observed) -> Claim:
    wrong: list[str] = []
    for each in planned:
        seen, (state, reason) = observed.executions.get(each.execution_id), ENDS_AS[each.part]
        if seen is None or (seen.state, seen.reason) != (state, reason):
            found = f"{seen.state} {seen.reason}" if seen else "never seen"
            wrong.append(f"{each.title} ({each.part}): {found}, expected {state} {reason}")
    return Claim("programs completed, and each trouble maker ended in its own way", wrong)


def _ran_once(planned: list[Planned], observed: Observed) -> Claim:
    wrong = [
        f"{each.execution_id}: admitted {len(seen.admitted_ms)} times"
        for each in planned
        if (seen := observed.executions.get(each.execution_id)) is not None
        and len(seen.admitted_ms) != (0 if each.part is Part.CANCELLED_WAITING else 1)
    ]
    return Claim("each was admitted exactly once, the one cancelled while waiting never", wrong)


def _nothing_left(status: QueueStatus) -> Claim:
    left = {"waiting": status.queue_depth, "running": status.active_count, "dead letters": status.dead_count}
    return Claim("nothing waits, runs or holds a slot at the end", [f"{n} {w}" for w, n in left.items() if n])
