"""What was in force at each moment of a wait: limits and pauses, from the changes that the ledger has. Pure.

In the flow: `changing.py` reads the changes of each name, `telling.py` asks here. What was never changed is as it is
now. Limits that actors declare leave no trace in the journal: those of now count for all time.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...scheduler.engine.journal import Verb
from ...scheduler.model.limits import Limits, kind_of
from .attributing import Step
from .spans import Span, joined


class Changed(NamedTuple):
    """One change of a limit, a pause or a setting."""

    at_ms: int
    verb: str
    before: str | None
    after: str | None


def steps_of(changes: Sequence[Changed], wait: Span, now: int | None) -> list[Step]:
    """The values of one limit or setting over a wait.

    Args:
        changes: As `changing.py` reads them.
        wait: From when to when.
        now: The value now, for one that was never changed.
    """
    if not changes:
        return [Step(wait.since_ms, now)]
    # The only one may have been made before the wait or after it.
    first = changes[0]
    begin = first.after if first.at_ms < wait.since_ms else first.before
    steps = [Step(wait.since_ms, _limit(begin))]
    # Of a server whose clock was set back a later change may have an earlier time.
    for each in changes:
        if wait.since_ms <= each.at_ms < wait.until_ms:
            steps.append(Step(max(steps[-1].at_ms, each.at_ms), _limit(each.after)))
    return steps


def gate_steps(gate: str, own: Sequence[Step], of_kind: Sequence[Step], declared: Limits) -> list[Step]:
    """The limit that held for a gate: its own, an operator's before a declared one, and else its kind's.

    Args:
        gate: The gate.
        own: What operators set for it.
        of_kind: What they set for its kind; empty: it has none.
        declared: The limits now, of which those that actors declare are taken.
    """
    kind = kind_of(gate)
    by_actors = Limits(declared=declared.declared)
    lowest, kinds_lowest = by_actors.named(gate), None if kind is None else by_actors.named(kind)
    found: list[Step] = []
    for at_ms in sorted({step.at_ms for step in (*own, *of_kind)}):
        limit = limit_at(own, at_ms)
        if limit is None and lowest is not None:
            limit = lowest.limit
        if limit is None:
            limit = limit_at(of_kind, at_ms)
        if limit is None and kinds_lowest is not None:
            limit = kinds_lowest.limit
        found.append(Step(at_ms, limit))
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


def limit_at(steps: Sequence[Step], at_ms: int) -> int | None:
    """The limit at a time; None: there was none, or nothing is known of so early."""
    return next((step.limit for step in reversed(steps) if step.at_ms <= at_ms), None)


def is_ever_limited(steps: Iterable[Step]) -> bool:
    """Whether there was a limit at any time."""
    return any(step.limit is not None for step in steps)


def _limit(value: str | None) -> int | None:
    return None if value is None else int(float(value))
