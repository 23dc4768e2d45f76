"""Spans of time: half-open, in whole milliseconds, and what remains of some without others. Pure.

In the flow: `attributing.py` takes from a wait what each cause explains. A list of spans here is in order, and none of
its spans touches another.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """From a millisecond to another, which is not part of it."""

    since_ms: int
    until_ms: int

    @property
    def length_ms(self) -> int:
        """How long it is."""
        return self.until_ms - self.since_ms


def joined(spans: Iterable[Span]) -> list[Span]:
    """What is in any of these spans, which may overlap and come in any order."""
    found: list[Span] = []
    for span in sorted(spans):
        if span.until_ms <= span.since_ms:
            continue
        if found and span.since_ms <= found[-1].until_ms:
            found[-1] = Span(found[-1].since_ms, max(found[-1].until_ms, span.until_ms))
        else:
            found.append(span)
    return found


def common(some: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """What is in both lists."""
    found: list[Span] = []
    at = other_at = 0
    while at < len(some) and other_at < len(others):
        one, other = some[at], others[other_at]
        since_ms, until_ms = max(one.since_ms, other.since_ms), min(one.until_ms, other.until_ms)
        if since_ms < until_ms:
            found.append(Span(since_ms, until_ms))
        if one.until_ms <= other.until_ms:
            at += 1
        else:
            other_at += 1
    return found


def without(some: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """What is in the first list, and not in the second."""
    found: list[Span] = []
    other_at = 0
    for since_ms, until_ms in some:
        begin_ms = since_ms
        while other_at < len(others) and others[other_at].until_ms <= begin_ms:
            other_at += 1
        at = other_at
        while at < len(others) and others[at].since_ms < until_ms:
            if others[at].since_ms > begin_ms:
                found.append(Span(begin_ms, others[at].since_ms))
            begin_ms = max(begin_ms, others[at].until_ms)
            at += 1
        if begin_ms < until_ms:
            found.append(Span(begin_ms, until_ms))
    return found


def length_ms(spans: Iterable[Span]) -> int:
    """How long they are together."""
    return sum(span.length_ms for span in spans)
