"""What those who follow an execution's output are told: the data of each event."""

from typing import Final

from ...scheduler.model.states import State
from .document import Answer


class StateTold(Answer):
    """`state`: in which state it is, first of all and whenever that changes."""

    state: State
    attempt: int


class AttemptTold(Answer):
    """`attempt`: what follows was printed by this attempt."""

    attempt: int


class OutputTold(Answer):
    """`output`: some of what it printed; a part of a line, or many lines."""

    attempt: int
    position: int | None
    """How many bytes the attempt printed before; where it is more than what was told, the middle of a long output was
    dropped. None: this is the end of the output, as it was kept; its pod is gone."""
    text: str
    """Bytes that are no UTF-8 are shown as in `\\xff`."""


class WithheldTold(Answer):
    """`withheld`: the API may not read what pods print; the end of it follows when the execution has ended."""

    attempt: int


class EndTold(Answer):
    """`end`: it has ended, and nothing more comes."""

    state: State
    attempt: int
    reason: str | None
    exit_code: int | None


Told = StateTold | AttemptTold | OutputTold | WithheldTold | EndTold
KINDS: Final[dict[str, type[Told]]] = {
    "state": StateTold,
    "attempt": AttemptTold,
    "output": OutputTold,
    "withheld": WithheldTold,
    "end": EndTold,
}
"""By the name of the event."""
