"""Tells what an execution waited for, before each of its attempts.

In the flow: the API and ``bandmaster show`` ask here, in one transaction that reads. At most `ROWS` rows are read for
an answer, those that the database counts with those that it returns. If more would be needed to know it exactly, the
time behind gates, lane and everything is a sample of moments, and the answer says so; the parts sum to the wait all the
same. At one moment at least, as many are counted as a limit allows, however high it is: else a full gate would be taken
for a free one. Nothing here writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection

from ..executions import Execution
from ..queries.looking import steps_of
from .attributing import HOLDERS, Bound, Cause, Held, Part, attributed, put_together, scaled
from .episodes import Wait, waits_of
from .hindrances import Hindrances, Limited
from .holding import COUNTED, AtMoments, count_begun, holds_during, of_lanes
from .in_force import InForce
from .limits import limit_at
from .spans import Span, length_ms

ROWS: Final = 10_000
"""So many rows are read for an answer, returned or counted; the latest wait has most of them."""
STEPS: Final = 1_000
"""So many transitions of it are looked at, the latest."""
WAITS: Final = 20
"""So many waits are told, the latest."""
MOMENTS: Final = 32
"""At most so many moments make a sample: fewer if there are several waits, or if that would be too many rows."""
_FEWEST_MOMENTS: Final = 4
_EXACT: Final = 4_000
"""So many holds are read and put in order for one wait; it takes longer than to count as many."""
_FOR_SAMPLES: Final = 3_000
"""Rows that are kept for samples, and for earlier waits."""
_FOR_CHANGES: Final = 1_200
"""No wait has more changes of limits, pauses and settings to read (`changing.py`: those of ten gates at most)."""


@dataclass(frozen=True, slots=True)
class Waited:
    """One wait, attributed."""

    wait: Wait
    parts: list[Part]
    """One for each cause and name, the longest first. They sum to the wait."""
    sampled: bool
    """Whether the time behind what was full is that of a sample."""


@dataclass(frozen=True, slots=True)
class Told:
    """The waits of an execution."""

    waits: list[Waited]
    """In their order."""
    complete: bool
    """Whether these are all that are known."""


def waits_told(connection: Connection, row: Execution, now: InForce) -> Told:
    """Attribute the waits of an execution.

    Args:
        connection: Of `Asking.reading`.
        row: The execution, as the ledger has it.
        now: What holds now; a wait that goes on is told until its time.
    """
    steps = steps_of(connection, row.execution_id, STEPS, from_ms=row.accepted_ms or 0)
    found = waits_of(steps, row, now.now_ms)
    latest = found.waits[-WAITS:]
    # Of the rows, the one of the execution was read before.
    telling = _Telling(
        connection, row, now, ROWS - 1 - len(steps), max(_FEWEST_MOMENTS, MOMENTS // max(1, len(latest)))
    )
    # The latest first: it is asked for most, and so it is the last to be sampled.
    told = [telling.tell(wait) for wait in reversed(latest) if telling.rows > _FOR_CHANGES]
    complete = found.complete and len(steps) < STEPS and len(found.waits) == len(told)
    return Told(told[::-1], complete)


class _Telling:
    """Attributes waits of one execution, with as many rows as there may be for all of them."""

    def __init__(self, connection: Connection, row: Execution, now: InForce, rows: int, moments: int) -> None:
        self._connection = connection
        self._row, self._now = row, now
        self.rows = rows
        """How many may be read still."""
        self._moments = moments

    def tell(self, wait: Wait) -> Waited:
        """Attribute one."""
        hindrances = Hindrances(self._connection, self._row, self._now, wait.span)
        pauses, limited = hindrances.pauses(), hindrances.limited()
        self.rows -= hindrances.changes.rows
        first = attributed(wait.span, wait.due_ms, pauses, [])
        # While it was not due, or something was paused, it does not matter who held what.
        open_spans = next((part.spans for part in first if part.cause is Cause.THREAD), ())
        bounds = self._bounds(limited, open_spans)
        if bounds is None:
            parts = [part for part in first if part.cause is not Cause.THREAD]
            moments = self._some(open_spans, self._affordable(limited))
            asked = [(each, AtMoments(self._connection, each.of)) for each in limited]
            parts += scaled([self._moment(asked, at_ms) for at_ms in moments], length_ms(open_spans))
        else:
            parts = attributed(wait.span, wait.due_ms, pauses, bounds)
        found = [self._with_started(part) for part in put_together(parts)]
        return Waited(wait, found, sampled=bounds is None or not hindrances.are_all)

    def _bounds(self, limited: Sequence[Limited], spans: Sequence[Span]) -> list[Bound] | None:
        """Who held what had a limit; None if that is too many rows."""
        if not spans:
            return []
        around, found = Span(spans[0].since_ms, spans[-1].until_ms), list[Bound]()
        left = min(_EXACT, self.rows - _FOR_SAMPLES)
        for each in limited:
            # One more is read, to know that there are too many.
            holds = holds_during(self._connection, each.of, around, left - 1) if left > 0 else None
            self.rows -= max(0, left) if holds is None else len(holds)
            if holds is None:
                return None
            left -= len(holds)
            found.append(Bound(each.cause, each.name, each.steps, holds))
        return found

    def _affordable(self, limited: Sequence[Limited]) -> int:
        """At how many moments may be looked: at each, as many holds are counted as each limit allows, and each range of
        an index is sought, for the count and for the names. Fewer than four tell little, so there are as many, unless
        the limits are high.
        """
        most = sum(max(step.limit or 0 for step in each.steps) for each in limited) + HOLDERS
        sought = sum(2 * each.ranges for each in limited)
        fewest = _FEWEST_MOMENTS if most <= COUNTED else 1
        return max(fewest, min(self._moments, (self.rows - COUNTED) // (most + sought)))

    def _some(self, spans: Sequence[Span], count: int) -> list[int]:
        """Moments that are spread evenly over some spans."""
        whole_ms, found, before_ms = length_ms(spans), list[int](), 0
        offsets = [(2 * number + 1) * whole_ms // (2 * count) for number in range(count)]
        for span in spans:
            within = [each for each in offsets if before_ms <= each < before_ms + span.length_ms]
            found += [span.since_ms + each - before_ms for each in within]
            before_ms += span.length_ms
        return found

    def _moment(self, asked: Sequence[tuple[Limited, AtMoments]], at_ms: int) -> Part:
        """What held it up at a moment."""
        for each, moments in asked:
            limit = limit_at(each.steps, at_ms)
            if limit is None:
                continue
            held = moments.count(at_ms, limit) if limit else 0
            self.rows -= held + each.ranges
            if held == limit:
                ids = moments.ids(at_ms, HOLDERS) if held else []
                self.rows -= len(ids) + each.ranges
                holders = tuple(Held(one, 1) for one in ids)
                return Part(each.cause, each.name, 1, limit=limit, holders=holders, holder_count=held)
        return Part(Cause.THREAD, "", 1)

    def _with_started(self, part: Part) -> Part:
        if part.cause is not Cause.THREAD or not part.spans or self.rows <= COUNTED:
            return part
        begun = count_begun(self._connection, of_lanes([self._row.lane]), part.spans)
        self.rows -= begun + 1
        return replace(part, started_ahead=begun)
