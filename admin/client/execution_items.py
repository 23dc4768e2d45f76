"""``items_of_execution()``: the items that the program of a trigger's execution works on, each to be settled by it.

In the flow: the program finds a file with its items, their token, and where the API is. What it says of an item is
taken at once and stays; what it says nothing of is settled when the execution ends, by how it ends. If the program dies
in between, the next attempt gets the items that are still held; if an answer is lost, the same is sent again, and is
carried out once.
"""

import json
import os
from collections.abc import Generator, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ...scheduler.model.item_tokens import ITEMS_VARIABLE
from .blocking import Client
from .call import given
from .calls.items import held_item, settle_item
from .errors import NotFound, WrongState
from .wire import TIMEOUT_SECONDS


class ExecutionItem:
    """An item that the program's execution holds. Each method raises WrongState if it does not any more, NotFound if
    another execution does, and ApiUnavailable if the API does not answer."""

    def __init__(self, client: Client, found: Mapping[str, Any]) -> None:
        """Args: `client`, with the execution's token; `found`, the item as it was found."""
        self._client = client
        self.id: Final[str] = found["id"]
        self.reference: Final[str | None] = found["reference"]
        self.priority: Final[int] = found["priority"]
        self.retries: Final[int] = found["retries"]
        self.fence: Final[int] = found["fence"]
        """The number with which it was handed out: it grows each time, so that what is written by it can be fenced."""
        self.payload: Final[Any] = found["payload"]

    def progress(self, text: str) -> None:
        """Tell people how far it is."""
        self._say("IN_PROGRESS", progress=text)

    def complete(self, result: Any = None) -> None:
        """It is done; `result`, any JSON value."""
        self._say("DONE", **given(result=result))

    def fail(self, message: str, *, business: bool = False, result: Any = None) -> None:
        """It has failed; `business`: for good, whatever the queue's retries are."""
        kind = "business" if business else "application"
        self._say("FAILED", error_message=message, failure=kind, **given(result=result))

    def postpone(self, until: datetime) -> None:
        """Let it be handed out again at a time, with a zone, and not before."""
        self._say("POSTPONED", postpone_until=until)

    def give_back(self) -> None:
        """Let it be handed out again, as if nothing had been."""
        self._say("NEW")

    def _say(self, status: str, **said: Any) -> None:
        self._client.send(settle_item(self.id, status, self.fence, **said))


class ExecutionItems:
    """The items of one execution, for a `with` block; to be gone through as often as one likes."""

    def __init__(self, client: Client, found: list[dict[str, Any]]) -> None:
        """Args: `client`, with the execution's token; `found`, the items of its file."""
        self._client = client
        self._found = found

    def __iter__(self) -> Generator[ExecutionItem]:
        """Yield those that are still held, each as it is now: an earlier attempt may have settled some, and what is too
        long for the file has its payload in the API only."""
        for each in self._found:
            try:
                item = self._client.send(held_item(each["id"]))
            except (WrongState, NotFound):
                continue
            yield ExecutionItem(self._client, item.model_dump())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._client.close()


def items_of_execution(
    *, timeout_seconds: float = TIMEOUT_SECONDS, verify: Any = True, environment: Mapping[str, str] = os.environ
) -> ExecutionItems:
    """Return the items that a trigger started this program for: ``with items_of_execution() as items``.

    Args:
        timeout_seconds: As for `Client`.
        verify: Likewise.
        environment: Where the variable is that names the file.

    Raises:
        LookupError: If it was not started for items, or has no token, or nobody knows where the API is.
        OSError: If its file cannot be read.
    """
    path = environment.get(ITEMS_VARIABLE)
    if path is None:
        raise LookupError(f"{ITEMS_VARIABLE} is not set: no trigger has started this program for items of a queue")
    file = json.loads(Path(path).read_text(encoding="ascii"))
    if file["token"] is None or file["api_url"] is None:
        raise LookupError(
            f"{path} has no {'token' if file['token'] is None else 'api_url'}: the worker's settings say none "
            "(items.token_key_file, items.api_url)"
        )
    return ExecutionItems(
        Client(file["api_url"], file["token"], timeout_seconds=timeout_seconds, verify=verify), file["items"]
    )
