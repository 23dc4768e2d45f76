"""Candidates for parking, and parking many of them: a hundred a call, pipelined.

In the flow: `Transitions.park_many` and the broker's `send_many` append candidates to a `Parking`. Each page has its
own request token, so a page whose reply was lost is sent again and takes effect once. If the process dies here, the
pages that were sent are parked.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from ..model.errors import DuplicateExecution, NotUnique, QueueFull, QueueRejected, UserLimitExceeded
from ..model.states import State
from ..model.unique import Conflict, UniqueKey
from ..transport.library import Script
from ..transport.pipelined_calls import PipelinedCalls
from ..transport.scripts import Argument, Scripts
from .grants import Parked, read_state

PARKED_A_CALL: Final = 100
"""How many executions one script call parks; more would block the server for too long."""
PARKED_BYTES_A_CALL: Final = 8 * 1024 * 1024
"""A page of this size is full: a server closes a connection on which too much data waits."""
SENT_AHEAD: Final = 1
"""How many pages may await their answers while the next one is sent."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An execution to be parked, with checked values."""

    execution_id: str
    lane: str
    band: int
    action: str
    user_id: str | None = None
    gates: tuple[str, ...] = ()
    timeout_ms: int = 0
    due_ms: int | None = None
    max_age_ms: int | None = None
    """How long after its acceptance it may still start; None: for ever."""
    event: bytes = b""
    message: bytes = b""
    is_lasting: bool = True
    """Whether its id stays known after its end for the usual time; False: only for minutes, since nobody will send it
    again later."""
    parent: str = ""
    """The execution whose hook sends it: the id stays known as long as that execution lives."""
    origin: str = ""
    """A digest that tells this sending from others under the same id; only if the sender chose the id, which makes the
    id lasting."""
    unique: UniqueKey | None = None
    """The key of which one execution at a time is accepted."""


class Parking:
    """Parks candidates page by page. For one thread."""

    def __init__(self, scripts: Scripts, script: Script, by: str | None = None) -> None:
        """Args: `by`, who asks for all of them, if somebody is to be noted."""
        self._conversation = PipelinedCalls(scripts)
        self._script = script
        self._asked: tuple[str, ...] = () if by is None else (by,)
        self._page: list[Candidate] = []
        self._sent: deque[list[Candidate]] = deque()
        self._outcomes: list[Parked | QueueRejected] = []
        self._bytes = 0
        self._count = 0

    def __len__(self) -> int:
        """How many candidates were appended."""
        return self._count

    def append(self, candidate: Candidate) -> None:
        """Add a candidate, and send the page if it is full.

        Raises:
            QueueUnavailable: If Redis did not answer to an earlier page.
        """
        self._count += 1
        self._page.append(candidate)
        self._bytes += len(candidate.event) + len(candidate.message)
        if len(self._page) == PARKED_A_CALL or self._bytes >= PARKED_BYTES_A_CALL:
            self._send()

    def finish(self) -> list[Parked | QueueRejected]:
        """Send the last page, wait for all answers and return one outcome for each candidate, in order.

        Raises:
            QueueUnavailable: If Redis did not answer; some may have been accepted.
        """
        if self._page:
            self._send()
        while self._sent:
            self._read()
        return self._outcomes

    def close(self) -> None:
        """Stop waiting for answers, as after an error."""
        self._conversation.close()

    def _send(self) -> None:
        page, self._page, self._bytes = self._page, [], 0
        arguments: list[Argument] = []
        for candidate in page:
            arguments += park_arguments(candidate)
        self._conversation.send(self._script, *arguments, *self._asked)
        self._sent.append(page)
        if len(self._sent) > SENT_AHEAD:
            self._read()

    def _read(self) -> None:
        for candidate, reply in zip(self._sent.popleft(), self._conversation.answer(), strict=True):
            self._outcomes.append(read_parked(candidate, reply))


_STATES: Final[dict[bytes | int, State]] = {state.encode(): state for state in State}


def park_arguments(candidate: Candidate) -> tuple[Argument, ...]:
    """Return the arguments of park.lua for a candidate."""
    return (*kept_arguments(candidate), "" if candidate.unique is None else candidate.unique.argument)


def kept_arguments(candidate: Candidate) -> tuple[Argument, ...]:
    """Return the arguments of park.lua and bury.lua that say what is kept of a candidate."""
    return (
        candidate.execution_id,
        candidate.lane,
        candidate.band,
        candidate.action,
        candidate.user_id or "",
        "\n".join(candidate.gates),
        candidate.timeout_ms,
        "" if candidate.due_ms is None else candidate.due_ms,
        "" if candidate.max_age_ms is None else candidate.max_age_ms,
        candidate.event,
        candidate.message,
        candidate.origin or ("1" if candidate.is_lasting else ""),
        candidate.parent,
    )


def read_parked(candidate: Candidate, reply: list[bytes | int]) -> Parked | QueueRejected:
    """Read the answer of park.lua for a candidate."""
    code, detail = reply[0], reply[1]
    if code == b"OK":
        return Parked(candidate.execution_id, _STATES[detail], int(reply[2]))
    if code == b"DUPLICATE":
        state, origin = read_state(detail), str(reply[2], "ascii")  # type: ignore[arg-type]
        return DuplicateExecution(execution_id=candidate.execution_id, state=state, origin=origin)
    if code == b"QUEUE_FULL":
        return QueueFull(execution_id=candidate.execution_id, limit=int(detail))
    if code == b"USER_LIMIT":
        user_id = candidate.user_id or ""
        return UserLimitExceeded(execution_id=candidate.execution_id, user_id=user_id, limit=int(detail))
    if code == b"NOT_UNIQUE" and candidate.unique is not None:
        return NotUnique(
            execution_id=candidate.execution_id,
            key=candidate.unique.key,
            other=str(detail, "ascii"),  # type: ignore[arg-type]
            state=read_state(reply[2]),  # type: ignore[arg-type]
            is_dropped=candidate.unique.on_conflict is Conflict.DROP,
        )
    raise ValueError(f"park.lua answered {code!r}, which this release does not know")
