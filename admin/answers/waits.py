"""Documents about what executions waited for."""

from ...ledger.waits.attributing import Cause
from .document import Answer, Read


class HolderAnswer(Answer):
    """One of those who held what was full."""

    execution_id: str
    ms: int
    """For how many milliseconds of the part; in a sample, estimated."""


class WaitPart(Answer):
    """The part of a wait that one cause explains: at each instant the first of them that admission would have met."""

    cause: Cause
    """`delay`: it was not due; `pause`: of everything, its lane or one of its gates; `rate`: of a gate that let
    nothing through; `gate`, `lane`, `everything`: as many held it as may; `thread`: no thread was free for it."""
    name: str
    """Of the gate, of the lane, or of what was paused (`lane:NAME`, `*` for everything); empty for the others."""
    ms: int
    """How many milliseconds."""
    limit: int | None
    """Of what was full, the last one that held."""
    holder_count: int
    """How many held it meanwhile. In a sample, at least so many did: each moment counts no more than the limit, and
    names ten."""
    holders: list[HolderAnswer]
    """Those of them that the caller may see: at most ten, those who held it longest first."""
    started_ahead: int | None
    """Of `thread`: how many of its lane were granted a slot meanwhile; at most 1,000 are counted, in the twenty
    longest stretches. None: it is not known, as in a sample."""


class WaitAnswer(Answer):
    """One wait."""

    attempt: int
    """The one that it waited for."""
    since: str
    until: str
    """When it ended; of one that goes on, up to when it is told."""
    ended_by: str | None
    """The transition that ended it; None: it goes on, or its end was not read."""
    ms: int
    """How long it was: the sum of its parts."""
    parts: list[WaitPart]
    """The longest first."""
    sampled: bool
    """Whether there was too much history to read all of it: then what was full is told from a sample of moments."""


class Waits(Read):
    """What an execution waited for, before each of its attempts."""

    execution_id: str
    waits: list[WaitAnswer]
    """In their order, the latest twenty of them."""
    complete: bool
    """Whether these are all that are known."""
