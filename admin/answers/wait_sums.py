"""Documents about what executions waited for, summed."""

from ...ledger.waits.attributing import Cause
from ...ledger.waits.summed_by import By
from .document import Answer, Read


class SumPart(Answer):
    """The part of the waits that one cause explains."""

    cause: Cause
    """As in the waits of one execution."""
    behind: str | None
    """The gate, `lane:NAME`, or `*` for everything. None: it has no name, as for a thread, or is one of others, or of
    those that the caller does not see."""
    ms: int
    """How many milliseconds."""
    waits: int
    """How many waits had such a part."""


class WaitSum(Answer):
    """How long an action, a user's executions, or executions behind a gate waited."""

    name: str | None
    """Of the action or the user; by gate the gate, `lane:NAME`, or `*` for everything. None: all others together."""
    ms: int
    """How many milliseconds: the sum of its parts."""
    waits: int
    """How many waits ended; by gate, how many parts of waits were behind it."""
    summed: int
    """Of how many of these it is known what was waited for."""
    parts: list[SumPart]
    """The longest first: twenty, then the others by cause."""


class WaitSums(Read):
    """What was waited for by executions whose waits ended within some hours."""

    by: By
    since: str
    """The beginning of the first hour."""
    until: str
    """Hours that began later are not in it."""
    waits: int
    """How many waits ended."""
    summed: int
    """Of how many of them the sums tell: all but those that are incomplete, and those for which there was no time."""
    sampled: int
    """Of how many of these it is told from a sample of moments what was full."""
    incomplete: int
    """Of how many too little is known."""
    sums: list[WaitSum]
    """A hundred at most, those that waited longest first, and then all others."""
