"""What the records of a run say: how many a second, how many at once, how far out of order, how long between two.

In the flow: questions about throughput and limits end here. Pure functions.
"""

from collections.abc import Sequence
from statistics import quantiles

from .records import Record


def per_second(records: Sequence[Record]) -> float:
    """Jobs a second, from the first body's begin to the last one's end."""
    spent_ns = max(record.ended_ns for record in records) - records[0].started_ns
    return len(records) / (spent_ns / 1e9)


def most_at_once(records: Sequence[Record]) -> int:
    """How many bodies ran at the same time, at most."""
    changes = sorted([(record.started_ns, 1) for record in records] + [(record.ended_ns, -1) for record in records])
    most = running = 0
    for _, change in changes:
        running += change
        most = max(most, running)
    return most


def displacements(records: Sequence[Record]) -> list[int]:
    """For each job, how many places from its place in the order of sending it began; records are by their begin."""
    place = {number: index for index, number in enumerate(sorted(record.number for record in records))}
    return [abs(index - place[record.number]) for index, record in enumerate(records)]


def hand_over_ms(records: Sequence[Record], slots: int) -> list[float]:
    """From one body's end to the begin of the body that took its slot, while all slots are always wanted.

    The i-th end frees the slot of the (i + slots)-th begin, since each begin needs a free slot.
    """
    ends = sorted(record.ended_ns for record in records)
    return [(later.started_ns - ended) / 1e6 for ended, later in zip(ends, records[slots:], strict=False)]


def latency_ms(records: Sequence[Record]) -> list[float]:
    """From before `send` to the body's begin."""
    return [(record.started_ns - record.sent_ns) / 1e6 for record in records]


def percentile(values: Sequence[float], percent: int) -> float:
    """A percentile; of few values the highest they can tell."""
    return quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]
