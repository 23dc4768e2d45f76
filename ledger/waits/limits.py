"""What was in force at each moment of a wait: limits, rates and pauses, from the changes that the ledger has. Pure.

In the flow: `changing.py` reads the changes of each name, `telling.py` asks here. What was never changed is as it is
now. Numbers and rates that actors declare leave no trace in the journal: those of now count for all time. A declared
`auto(2,50)` has its adjustments there.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ...scheduler.engine.journal import Verb
from ...scheduler.model.limits import Limits, kind_of
from ...scheduler.model.rates import Rate
from .attributing import Step, V
from .spans import Span, joined


class Changed(NamedTuple):
    """One change of a limit, a pause or a setting."""

    at_ms: int
    verb: str
    before: str | None
    after: str | None


def rate_of(value: str) -> Rate | None:
    """Read a rate as the journal has it; None, if it is none: the journal may be damaged."""
    try:
        return Rate.from_stored(value)
    except ValueError:
        return None


def steps_of(changes: Sequence[Changed], wait: Span, now: V | None, read: Callable[[str], V | None]) -> list[Step[V]]:
    """The values of one limit, rate or setting over a wait.

    Args:
        changes: As `changing.py` reads them.
        wait: From when to when.
        now: The value now, for one that was never changed.
        read: Reads a value: `limit_in_force`, which reads settings too, or `rate_of`.
    """

    def value_of(text: str | None) -> V | None:
        return None if text is None else read(text)

    if not changes:
        return [Step(wait.since_ms, now)]
    # The only one may have been made before the wait or after it.
    first = changes[0]
    begin = first.after if first.at_ms < wait.since_ms else first.before
    steps = [Step(wait.since_ms, value_of(begin))]
    # Of a server whose clock was set back a later change may have an earlier time.
    for each in changes:
        if wait.since_ms <= each.at_ms < wait.until_ms:
            steps.append(Step(max(steps[-1].at_ms, each.at_ms), value_of(each.after)))
    return steps


def gate_steps(gate: str, own: Sequence[Step[int]], of_kind: Sequence[Step[int]], declared: Limits) -> list[Step[int]]:
    """The limit that held for a gate: its own, an operator's before a declared one, and else its kind's.

    Args:
        gate: The gate.
        own: What operators set for it.
        of_kind: What they set for its kind; empty: it has none.
        declared: The limits now, of which those that actors declare are taken.
    """
    kind = kind_of(gate)
    by_actors = Limits(declared=declared.declared, adjusted=declared.adjusted)
    lowest, kinds_lowest = by_actors.named(gate), None if kind is None else by_actors.named(kind)
    return first_steps(
        own, None if lowest is None else lowest.limit, of_kind, None if kinds_lowest is None else kinds_lowest.limit
    )


def first_steps(
    own: Sequence[Step[V]], declared: V | None, of_kind: Sequence[Step[V]], declared_of_kind: V | None
) -> list[Step[V]]:
    """Of what is set for a gate, declared for it, set for its kind, and declared for that: the first that there is."""
    found: list[Step[V]] = []
    for at_ms in sorted({step.at_ms for step in (*own, *of_kind)}):
        values = (value_at(own, at_ms), declared, value_at(of_kind, at_ms), declared_of_kind)
        found.append(Step(at_ms, next((each for each in values if each is not None), None)))
    return found


def pauses_of(changes: Sequence[Changed], wait: Span, since_ms: int | None) -> list[Span]:
    """When, within a wait, one name was paused.

    Args:
        changes: As `changing.py` reads them.
        wait: From when to when.
        since_ms: Since when it is paused now; None: it is not.
    """
    within = [each for each in changes if each.at_ms >= wait.since_ms]
    if not within:
        # Redis also knows of a pause that the ledger has not read, and of one that a lost server took with it.
        return [] if since_ms is None else joined([Span(max(since_ms, wait.since_ms), wait.until_ms)])
    found, begun_ms = list[Span](), wait.since_ms if within[0].verb == Verb.RESUME else None
    for each in within:
        if each.verb == Verb.PAUSE:
            begun_ms = each.at_ms if begun_ms is None else begun_ms
        elif begun_ms is not None:
            found.append(Span(begun_ms, min(each.at_ms, wait.until_ms)))
            begun_ms = None
    if begun_ms is not None:
        found.append(Span(begun_ms, wait.until_ms))
    return joined(found)


def value_at(steps: Sequence[Step[V]], at_ms: int) -> V | None:
    """The limit or rate at a time; None: there was none, or nothing is known of so early."""
    return next((step.value for step in reversed(steps) if step.at_ms <= at_ms), None)


def is_ever_limited(steps: Iterable[Step[Any]]) -> bool:
    """Whether there was a limit or a rate at any time."""
    return any(step.value is not None for step in steps)
