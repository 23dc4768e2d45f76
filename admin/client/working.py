"""``Working``: a `with` block in which a robot works on an item of a queue; ``Held``: the item, as the block has it.

In the flow: entering the block takes an item, a thread renews its lease at a third of it, and the end of the block says
what came of it, by how it ended. If the program dies, the lease ends, and the item is handed out again; if an answer is
lost, the same request is sent again, and is carried out once. A lease that was lost is noticed by the next renewal, or
at the end: what is said then is refused, and nothing is changed.
"""

import threading
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import Any, Final
from uuid import uuid4

from ..answers.items import ClaimedItem, ClaimedItems, ItemRow
from .call import Call, given
from .calls.items import claim_items, settle_item
from .errors import ApiError, BusinessException, WrongState

RENEWALS_A_LEASE: Final = 3
MESSAGE_MAX_CHARS: Final = 1_000
Send = Callable[[Call[Any]], Any]


class Held:
    """An item that is held."""

    def __init__(self, item: ClaimedItem, robot_id: str | None, lease_seconds: int | None) -> None:
        """Args: `item`, as it came; `robot_id` and `lease_seconds`, as they were asked for."""
        self.id: Final = item.id
        self.fence: Final = item.fence
        """The number with which it was handed out: it grows each time, so that what is written by it can be fenced."""
        self.payload: Final = item.payload
        self.reference: Final = item.reference
        self.priority: Final = item.priority
        self.retries: Final = item.retries
        self.result: Any = None
        """What the item's result is to be, if it is done; any JSON value."""
        self.is_lost = False
        """Whether it is not held any more: nothing that is done with it now counts."""
        self.pause_seconds: Final = max(0.2, item.lease_seconds / RENEWALS_A_LEASE)
        """Between renewals."""
        self._said = given(robot_id=robot_id)
        self._lease = given(lease_seconds=lease_seconds)
        self._ending: Call[ItemRow] | None = None

    def fail(self, message: str, *, business: bool = False, result: Any = None) -> None:
        """Let it have failed at the end of the block; `business`: for good, whatever the queue's retries are."""
        self._end("FAILED", error_message=message, failure="business" if business else "application", result=result)

    def postpone(self, until: datetime) -> None:
        """Let it be handed out again at a time, with a zone, and not before, when the block ends."""
        self._end("POSTPONED", postpone_until=until)

    def give_back(self) -> None:
        """Let it be handed out again when the block ends, as if nothing had been."""
        self._end("NEW")

    def renewal(self, progress: str | None = None) -> Call[ItemRow]:
        """Return the call that renews its lease; `progress`, a text for people."""
        return settle_item(self.id, "IN_PROGRESS", self.fence, **self._said, **self._lease, **given(progress=progress))

    def outcome(self, error: BaseException | None) -> Call[ItemRow]:
        """Return the call that says what came of it, by the exception that ended the block."""
        if isinstance(error, BusinessException):
            self.fail(_text_of(error), business=True)
        elif isinstance(error, Exception):
            self.fail(_text_of(error))
        elif error is not None:
            # The program is about to end: that is no failure of the item.
            self.give_back()
        elif self._ending is None:
            self._end("DONE", **given(result=self.result))
        assert self._ending is not None
        return self._ending

    def _end(self, status: str, **said: Any) -> None:
        self._ending = settle_item(self.id, status, self.fence, **self._said, **given(**said))


class Working:
    """One block, for one thread."""

    def __init__(self, send: Send, claim: Call[ClaimedItems], robot_id: str | None) -> None:
        """Args: `send`, of the client; `claim`, what is taken; `robot_id`, for whom."""
        self._send = send
        self._claim = claim
        self._robot_id = robot_id
        self._held: Held | None = None
        self._ends = threading.Event()
        self._renewing: threading.Thread | None = None

    def __enter__(self) -> Held | None:
        found: ClaimedItems = self._send(self._claim)
        if not found.items:
            return None
        held = self._held = held_of(found.items[0], self._robot_id, self._claim)
        self._renewing = threading.Thread(target=self._renew, args=(held,), name="item-lease", daemon=True)
        self._renewing.start()
        return held

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        if self._held is None or self._renewing is None:
            return False
        self._ends.set()
        self._renewing.join()
        try:
            self._send(self._held.outcome(error))
        except ApiError:
            # What went wrong in the block is what has to be told.
            if error is None:
                raise
        return isinstance(error, BusinessException)

    def _renew(self, held: Held) -> None:
        while not self._ends.wait(held.pause_seconds):
            try:
                self._send(held.renewal())
            except WrongState:
                held.is_lost = True
                return
            except ApiError:
                # It is tried again; if the lease ends meanwhile, the outcome is refused.
                continue


def claim_of(
    queue: str,
    robot_id: str | None,
    wait_seconds: int,
    lease_seconds: int | None,
    key: str | None,
) -> Call[ClaimedItems]:
    """Return the call that takes one item."""
    return claim_items(
        queue, key or uuid4().hex, robot_id=robot_id, lease_seconds=lease_seconds, wait_seconds=wait_seconds
    )


def held_of(item: ClaimedItem, robot_id: str | None, claim: Call[ClaimedItems]) -> Held:
    """Return an item as its block has it."""
    return Held(item, robot_id, (claim.body or {}).get("lease_seconds"))


def _text_of(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text.replace("\0", "").encode(errors="replace").decode()[:MESSAGE_MAX_CHARS]
