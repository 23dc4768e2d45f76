"""Computes a run's figures from its records: rate, concurrency, order, hand-over time, latency.

In the flow: questions about throughput and limits compute their figures here. Pure functions.
"""

from collections.abc import Sequence
from statistics import quantiles

from .records import Record


def per_second(records: Sequence[Record]) -> float:
    """Jobs per second, from the start of the first body to the end of the last one."""
    spent_ns = max(record.ended_ns for record in records) - records[0].started_ns
    return len(records) / (spent_ns / 1e9)


def most_at_once(records: Sequence[Record]) -> int:
    """The most bodies that ran at the same time."""
    changes = sorted([(record.started_ns, 1) for record in records] + [(record.ended_ns, -1) for record in records])
    most = running = 0
    for _, change in changes:
        running += change
        most = max(most, running)
    return most


def displacements(records: Sequence[Record]) -> list[int]:
    """For each job, the distance between its places in the order of starts (the records') and in the order of sends."""
    place = {number: index for index, number in enumerate(sorted(record.number for record in records))}
    return [abs(index - place[record.number]) for index, record in enumerate(records)]


def hand_over_ms(records: Sequence[Record], slots: int) -> list[float]:
    """The times from one body's end to the start of the body that took its slot, if jobs always wait for all slots.

    The i-th end frees the slot for the (i + slots)-th start, since each start needs a free slot.
    """
    ends = sorted(record.ended_ns for record in records)
    return [(later.started_ns - ended) / 1e6 for ended, later in zip(ends, records[slots:], strict=False)]


def latency_ms(records: Sequence[Record]) -> list[float]:
    """The times from just before `send` to the start of the body."""
    return [(record.started_ns - record.sent_ns) / 1e6 for record in records]


def percentile(values: Sequence[float], percent: int) -> float:
    """A percentile, interpolated between the values."""
    return quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]
