"""Attributes a wait: at each instant exactly one cause, the first of those that admission would have met. Pure.

In the flow: `telling.py` gathers what the ledger knows of the time of a wait, and asks here. Each cause takes from what
is left of the wait the time in which it held, in the order in which admission checks; what nothing explains was want of
a free thread. So the parts sum to the wait, to the millisecond.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Final, Generic, NamedTuple, TypeVar

from .spans import Span, common, joined, length_ms, without

V = TypeVar("V")
HOLDERS: Final = 10
"""So many of those who held a gate are named."""


class Cause(StrEnum):
    """Why an execution did not begin."""

    DELAY = "delay"
    """It was scheduled, and not yet due."""
    PAUSE = "pause"
    """Everything, its lane or one of its gates was paused."""
    RATE = "rate"
    """A gate let nothing through, as its rate had been used up."""
    GATE = "gate"
    """A gate was full."""
    LANE = "lane"
    """As many of its lane held a slot as may."""
    EVERYTHING = "everything"
    """As many of all lanes held a slot as may."""
    THREAD = "thread"
    """Nothing kept it back but that no thread was free for it."""


class Hold(NamedTuple):
    """One execution in a gate."""

    execution_id: str
    since_ms: int
    until_ms: int | None
    """None: it still holds it."""


class Step(NamedTuple, Generic[V]):
    """A limit or a rate from a time on."""

    at_ms: int
    value: V | None
    """None: there is none."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What only so many may hold at once: a gate, a lane, or everything."""

    cause: Cause
    name: str
    limits: Sequence[Step[int]]
    """In their order, the first of them in force when the wait begins, or before."""
    holds: Sequence[Hold]
    """All that overlap the wait."""


@dataclass(frozen=True, slots=True)
class Pause:
    """The times in which something was paused."""

    name: str
    """A gate, `lane:NAME`, or `*` for everything."""
    spans: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Closed:
    """The times in which its rate kept a gate closed."""

    name: str
    spans: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Held:
    """One of those who held what was full."""

    execution_id: str
    ms: int
    """For how much of the time."""


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a wait that one cause explains."""

    cause: Cause
    name: str
    """Of the gate, also of one with a rate, the lane or what was paused; empty for the others."""
    ms: int
    limit: int | None = None
    """The last one by which it was full."""
    holders: tuple[Held, ...] = ()
    """Who held it meanwhile, those who did longest first."""
    holder_count: int = 0
    """How many did, the others as well. In a sample, at least so many: the most at one momentor all named."""
    started_ahead: int | None = None
    """How many of its lane were granted a slot while it wanted a thread; None: it is not known, or of another cause."""
    spans: tuple[Span, ...] = field(default=(), repr=False)
    """When."""


def attributed(
    wait: Span, due_ms: int | None, pauses: Sequence[Pause], rates: Sequence[Closed], bounds: Sequence[Bound]
) -> list[Part]:
    """Attribute a wait.

    Args:
        wait: From when to when it waited.
        due_ms: When it was due; None: at once.
        pauses: Of everything, its lane and its gates, in this order.
        rates: Its gates with a rate, in the order in which admission checks them.
        bounds: Its gates in the order in which admission checks them, its lane, everything.

    Returns:
        The parts in the order of the causes, none of them empty. They sum to the wait.
    """
    left, parts = joined([wait]), list[Part]()

    def take(cause: Cause, name: str, spans: Sequence[Span]) -> list[Span]:
        nonlocal left
        taken = common(left, spans)
        if taken:
            left = without(left, taken)
            parts.append(Part(cause, name, length_ms(taken), spans=tuple(taken)))
        return taken

    if due_ms is not None:
        take(Cause.DELAY, "", joined([Span(wait.since_ms, due_ms)]))
    for pause in pauses:
        take(Cause.PAUSE, pause.name, joined(pause.spans))
    for closed in rates:
        take(Cause.RATE, closed.name, closed.spans)
    for bound in bounds:
        if taken := take(bound.cause, bound.name, full(bound, wait)):
            parts[-1] = _with_holders(parts[-1], bound, taken)
    take(Cause.THREAD, "", [wait])
    return parts


def full(bound: Bound, wait: Span) -> list[Span]:
    """When, within a wait, as many held something as may, or more."""
    # Of a server whose clock was set back a hold may end before it begins.
    holds = [each for each in bound.holds if each.until_ms is None or each.since_ms < each.until_ms]
    # By time: how the number of holders changes, and the limits that begin.
    events = [(max(each.since_ms, wait.since_ms), 1, None) for each in holds]
    events += [(each.until_ms, -1, None) for each in holds if each.until_ms is not None]
    events += [(max(step.at_ms, wait.since_ms), 0, step) for step in bound.limits]
    events.sort(key=lambda each: each[0])
    found, held, limit, at_ms = list[Span](), 0, None, wait.since_ms
    for event_ms, change, step in [*events, (wait.until_ms, 0, None)]:
        if event_ms > at_ms:
            if limit is not None and held >= limit:
                found.append(Span(at_ms, min(event_ms, wait.until_ms)))
            at_ms = event_ms
        if at_ms >= wait.until_ms:
            break
        held += change
        limit = limit if step is None else step.value
    return joined(found)


def scaled(parts: Sequence[Part], ms: int) -> list[Part]:
    """Parts of a sample, as parts of a time of this length: each in proportion, and together exactly as long."""
    whole_ms = sum(part.ms for part in parts)
    found, done_ms, given_ms = list[Part](), 0, 0
    for part in parts:
        done_ms += part.ms
        # Each end is rounded by itself, so nothing is lost or made on the way.
        until_ms = done_ms * ms // whole_ms
        part_ms, given_ms = until_ms - given_ms, until_ms
        # In proportion to the part: one who held it all of the time, held it as long as the part is.
        holders = tuple(Held(each.execution_id, each.ms * part_ms // part.ms) for each in part.holders)
        found.append(replace(part, ms=part_ms, holders=holders))
    return [part for part in found if part.ms]


def put_together(parts: Sequence[Part]) -> list[Part]:
    """One part for each cause and name, the longest first."""
    found: dict[tuple[Cause, str], list[Part]] = {}
    for part in parts:
        found.setdefault((part.cause, part.name), []).append(part)
    return sorted((_summed(some) for some in found.values()), key=lambda part: -part.ms)


def _summed(some: Sequence[Part]) -> Part:
    if len(some) == 1:
        return some[0]
    held = Counter[str]()
    for each in chain.from_iterable(part.holders for part in some):
        held[each.execution_id] += each.ms
    return replace(
        some[-1],
        ms=sum(part.ms for part in some),
        holders=_longest(held),
        holder_count=max(len(held), *(part.holder_count for part in some)),
        spans=tuple(joined(chain.from_iterable(part.spans for part in some))),
    )


def _with_holders(part: Part, bound: Bound, taken: Sequence[Span]) -> Part:
    begins, before_ms, held = [span.since_ms for span in taken], [0], Counter[str]()
    for span in taken:
        before_ms.append(before_ms[-1] + span.length_ms)

    def taken_before(at_ms: int) -> int:
        """How much of what was taken lies before a time: a look at each span, for each hold, would take too long."""
        number = bisect_left(begins, at_ms)
        return min(before_ms[number], before_ms[number - 1] + at_ms - begins[number - 1]) if number else 0

    for each in bound.holds:
        until_ms = taken[-1].until_ms if each.until_ms is None else each.until_ms
        if (ms := taken_before(until_ms) - taken_before(each.since_ms)) > 0:
            held[each.execution_id] += ms
    limit = [step.value for step in bound.limits if step.at_ms < taken[-1].until_ms][-1]
    return replace(part, limit=limit, holders=_longest(held), holder_count=len(held))


def _longest(held: Counter[str]) -> tuple[Held, ...]:
    in_order = sorted(held.items(), key=lambda each: (-each[1], each[0]))
    return tuple(Held(one, ms) for one, ms in in_order[:HOLDERS])
