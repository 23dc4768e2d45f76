"""Tells what an execution waited for, before each of its attempts.

In the flow: the API and ``bandmaster show`` ask here, in one transaction that reads. At most `ROWS` rows are read for
an answer, those that the database counts with those that it returns. If more would be needed to know it exactly, the
time behind rates, gates, lane and everything is a sample of moments, and the answer says so; the parts sum to the wait
all the same. At one moment at least, as many are counted as a limit allows, however high it is: else a full gate would
be taken for a free one. Nothing here writes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection

from ..executions import Execution
from ..queries.looking import steps_of
from .attributing import HOLDERS, Bound, Cause, Closed, Held, Hold, Part, attributed, put_together, scaled
from .episodes import Wait, waits_of
from .hindrances import Hindrances, Limited
from .holding import COUNTED, AtMoments, count_begun, holds_during, of_lanes
from .in_force import InForce
from .limits import value_at
from .rated import Grants, Rated, grants_of_moment
from .sharing import SharedHolds
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
_GRANTS: Final = 2_000
"""So many grants are read for one wait, of all of its gates that had a rate."""
_FOR_SAMPLES: Final = 3_600
"""Rows that are kept for samples, and for earlier waits."""
_FOR_CHANGES: Final = 1_800
"""No wait has more changes to read (`changing.py`: of limits, rates, pauses and settings, of ten gates at most)."""


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
    rows, moments = ROWS - 1 - len(steps), max(_FEWEST_MOMENTS, MOMENTS // max(1, len(latest)))

    def holds(of: Limited, during: Span, most: int) -> list[Hold] | None:
        return holds_during(connection, of.of, during, most)

    telling = _Telling(connection, row, now, rows, moments, holds)
    # The latest first: it is asked for most, and so it is the last to be sampled.
    told = [telling.tell(wait) for wait in reversed(latest) if telling.rows > _FOR_CHANGES]
    complete = found.complete and len(steps) < STEPS and len(found.waits) == len(told)
    return Told(told[::-1], complete)


def wait_told(connection: Connection, row: Execution, now: InForce, wait: Wait, shared: SharedHolds) -> Waited:
    """Attribute one wait that has ended, without saying who began meanwhile.

    Args:
        connection: Of a transaction that reads.
        row: The execution, as the ledger has it.
        now: What held when all of the ledger's entries were written, or before it had read some of them.
        wait: The wait.
        shared: Who held what, as other waits need it, too.
    """

    def holds(of: Limited, during: Span, most: int) -> list[Hold] | None:
        return shared.during(connection, (of.cause, of.name), of.of, during, most)

    return _Telling(connection, row, now, ROWS - 1 - STEPS, MOMENTS, holds).attribute(wait)


@dataclass(slots=True)
class _Rates:
    """When rates kept gates closed."""

    closed: list[Closed]
    are_exact: bool


class _Telling:
    """Attributes waits of one execution, with as many rows as there may be for all of them."""

    def __init__(
        self,
        connection: Connection,
        row: Execution,
        now: InForce,
        rows: int,
        moments: int,
        holds: Callable[[Limited, Span, int], list[Hold] | None],
    ) -> None:
        self._connection, self._holds = connection, holds
        self._row, self._now = row, now
        self.rows = rows
        """How many may be read still."""
        self._moments = moments

    def tell(self, wait: Wait) -> Waited:
        """Attribute one, and say how many of its lane began while it wanted a thread."""
        told = self.attribute(wait)
        return replace(told, parts=[self._with_started(part) for part in told.parts])

    def attribute(self, wait: Wait) -> Waited:
        """Attribute one."""
        hindrances = Hindrances(self._connection, self._row, self._now, wait.span)
        pauses, rated, limited = hindrances.pauses(), hindrances.rated(), hindrances.limited()
        self.rows -= hindrances.changes.rows
        # While it was not due, or something was paused, it does not matter who held what.
        first = attributed(wait.span, wait.due_ms, pauses, [], [])
        rates = self._rates(rated, _open_spans(first))
        if rates is not None:
            first = attributed(wait.span, wait.due_ms, pauses, rates.closed, [])
        left = _open_spans(first)
        bounds = None if rates is None else self._bounds(limited, left)
        if rates is None or bounds is None:
            parts = [part for part in first if part.cause is not Cause.THREAD]
            unknown = rated if rates is None else []
            moments = self._some(left, self._affordable(unknown, limited))
            grants = [(each.gate, Grants(self._connection, each, self._now.rates)) for each in unknown]
            asked = [(each, AtMoments(self._connection, each.of)) for each in limited]
            parts += scaled([self._moment(grants, asked, at_ms) for at_ms in moments], length_ms(left))
        else:
            parts = attributed(wait.span, wait.due_ms, pauses, rates.closed, bounds)
        is_exact = rates is not None and rates.are_exact and bounds is not None and hindrances.are_all
        return Waited(wait, put_together(parts), sampled=not is_exact)

    def _rates(self, rated: Sequence[Rated], spans: Sequence[Span]) -> _Rates | None:
        """When rates kept gates closed; None if that is too many rows."""
        found = _Rates([], are_exact=True)
        if not rated or not spans:
            return found
        around = Span(spans[0].since_ms, spans[-1].until_ms)
        left = min(_GRANTS, self.rows - _FOR_SAMPLES)
        for each in rated:
            grants = Grants(self._connection, each, self._now.rates)
            kept = grants.kept_closed(around, left) if left > 0 else None
            self.rows -= grants.rows
            left -= grants.rows
            if kept is None:
                return None
            found.closed.append(Closed(each.gate, kept.spans))
            found.are_exact = found.are_exact and kept.is_exact
        return found

    def _bounds(self, limited: Sequence[Limited], spans: Sequence[Span]) -> list[Bound] | None:
        """Who held what had a limit; None if that is too many rows."""
        if not spans:
            return []
        around, found = Span(spans[0].since_ms, spans[-1].until_ms), list[Bound]()
        left = min(_EXACT, self.rows - _FOR_SAMPLES)
        for each in limited:
            # One more is read, to know that there are too many.
            holds = self._holds(each, around, left - 1) if left > 0 else None
            self.rows -= max(0, left) if holds is None else len(holds)
            if holds is None:
                return None
            left -= len(holds)
            found.append(Bound(each.cause, each.name, each.steps, holds))
        return found

    def _affordable(self, rated: Sequence[Rated], limited: Sequence[Limited]) -> int:
        """At how many moments may be looked: at each, as many holds are counted as each limit allows, and each range of
        an index is sought, for the count and for the names; and of each rate some grants are read. Fewer than four tell
        little, so there are as many, unless the limits are high.
        """
        most = sum(max(step.value or 0 for step in each.steps) for each in limited) + HOLDERS
        sought = sum(2 * each.ranges for each in limited) + sum(grants_of_moment(each) for each in rated)
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

    def _moment(
        self, grants: Sequence[tuple[str, Grants]], asked: Sequence[tuple[Limited, AtMoments]], at_ms: int
    ) -> Part:
        """What held it up at a moment."""
        for gate, of_gate in grants:
            before, is_closed = of_gate.rows, of_gate.is_closed_at(at_ms)
            self.rows -= of_gate.rows - before
            if is_closed:
                return Part(Cause.RATE, gate, 1)
        for each, moments in asked:
            limit = value_at(each.steps, at_ms)
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


def _open_spans(parts: Sequence[Part]) -> tuple[Span, ...]:
    """What of a wait nothing explains so far."""
    return next((part.spans for part in parts if part.cause is Cause.THREAD), ())
