"""When its rate kept a gate closed: the scripts' arithmetic (`lua/include/rates.lua`) over past grants. Pure.

In the flow: `rated.py` reads the grants through a gate and the rates that were in force. One time a gate tells how much
of its rate is used up, and each grant moves it on by the rate's interval. Where not all grants of the past are read, it
is not known for certain, and so it is followed twice: as early and as late as it can be. If that makes no difference to
the wait, nothing is estimated.
"""

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from ...scheduler.model.rates import Rate
from .attributing import Step
from .spans import Span, joined

STEP_MS: Final = 1 / 1024
"""As in the scripts: a double of a time has no smaller steps."""


class Kept(NamedTuple):
    """When a gate was kept closed."""

    spans: list[Span]
    is_exact: bool
    """Whether grants that were not read could make no difference."""


class _Of(IntEnum):
    """Events, in the order in which those of one millisecond count: a changed rate is mostly what grants follow on."""

    CHANGE = 0
    LOOK = 1
    GRANT = 2


def kept_closed(steps: Sequence[Step[Rate]], grants: Sequence[int], wait: Span, *, are_all: bool) -> Kept:
    """When, within a wait, a gate's rate let nothing through.

    Args:
        steps: The rate, from the first of the grants or the wait's beginning on.
        grants: When executions were granted that had this gate.
        wait: From when to when one of its executions waited.
        are_all: Whether none was granted before these.
    """
    late = _followed(steps, grants, wait, 0.0 if are_all else math.inf, is_late=True)
    return Kept(late, late == _followed(steps, grants, wait, 0.0, is_late=False))


def _followed(
    steps: Sequence[Step[Rate]], grants: Sequence[int], wait: Span, time_ms: float, *, is_late: bool
) -> list[Span]:
    events: list[tuple[int, _Of, Rate | None]] = [(step.at_ms, _Of.CHANGE, step.value) for step in steps]
    events += [(at_ms, _Of.GRANT, None) for at_ms in grants]
    events.append((wait.since_ms, _Of.LOOK, None))
    events.sort(key=lambda each: each[:2])
    found, rate, begin_ms = list[Span](), None, wait.since_ms
    for at_ms, of, changed in [*events, (wait.until_ms, _Of.LOOK, None)]:
        if at_ms > begin_ms:
            found.append(Span(begin_ms, min(at_ms, wait.until_ms, _opens_ms(time_ms, rate))))
            begin_ms = at_ms
        rate = changed if of is _Of.CHANGE else rate
        if rate is None:
            continue
        latest_ms = at_ms + rate.burst * rate.interval_ms
        if of is _Of.GRANT:
            # It was let through, so the time was not later than that.
            time_ms = min(time_ms, latest_ms - rate.interval_ms + STEP_MS) if is_late else min(time_ms, latest_ms)
            time_ms = max(float(at_ms), time_ms) + rate.interval_ms
        elif at_ms >= wait.since_ms or not is_late:
            # Redis brings it near when it looks at the gate. Whether it did so before the wait, nobody knows.
            time_ms = min(time_ms, latest_ms)
    return joined(found)


def _opens_ms(time_ms: float, rate: Rate | None) -> int:
    if rate is None or rate.interval_ms <= STEP_MS:
        return 0
    return math.ceil(time_ms - (rate.burst - 1) * rate.interval_ms - STEP_MS)
