"""Files of items as both clients send and get them.

In the flow: what is sent is a file that can be read again, so that an upload whose answer was lost is sent again under
its key; items that a program makes as it goes are written into one without a name first, of which nothing is left if
the program dies. What is got comes in pieces, and ends with an error if the API breaks off.
"""

import io
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

from pydantic import ValidationError

from ...items.item_lines import FileFormat
from ..answers.items import ExportedItem
from .call import between, given, named
from .errors import ApiUnavailable
from .strict_json import json_of

Source = bytes | BinaryIO | Iterable[Mapping[str, Any]]
"""What is uploaded: a file as bytes, a binary file that can be read again, or the items themselves."""


@dataclass(frozen=True, slots=True)
class Export:
    """A file that the API makes."""

    path: str
    query: Mapping[str, Any]
    media_type: str

    def check(self, headers: Mapping[str, str], url: str) -> None:
        """Refuse what is no such file.

        Args:
            headers: Of the answer.
            url: Where the API is, for the error.

        Raises:
            ApiUnavailable: If something else answered.
        """
        given = headers.get("Content-Type", "")
        if given.partition(";")[0].strip() != self.media_type:
            raise ApiUnavailable(f"its answer is not one of the API's: {given or 'nothing'}", url=url)


def items_file(
    queue: str,
    format: str = FileFormat.JSONL,  # the API's word
    *,
    status: Sequence[str] = (),
    reference: str | None = None,
    robot_id: str | None = None,
    added_from: datetime | None = None,
    added_to: datetime | None = None,
) -> Export:
    """The items of a queue with payloads and results, the latest first."""
    filters = given(format=str(format), status=list(status) or None, reference=reference, robot_id=robot_id)
    # One that is none is refused by the API.
    media_type = next((kind.media_type for kind in FileFormat if kind == format), "")
    return Export(f"{named('queues', queue)}/items/export", filters | between(added_from, added_to), media_type)


@contextmanager
def opened(source: Source) -> Generator[BinaryIO]:
    """Yield a file that has what is to be uploaded; of items, JSON Lines."""
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif hasattr(source, "seek"):
        yield source  # type: ignore[misc]  # its caller's, who closes it
    else:
        with tempfile.TemporaryFile() as kept:
            for each in source:
                kept.write(json_of(each).encode() + b"\n")
            yield kept


class Lines:
    """Makes items of the pieces of JSON Lines."""

    def __init__(self, url: str) -> None:
        """Args: `url`, where the API is, for errors."""
        self._url = url
        self._kept = b""

    def feed(self, piece: bytes) -> list[ExportedItem]:
        """Return the items that end in the next piece.

        Raises:
            ApiUnavailable: If one is none that this release knows.
        """
        # Not by `splitlines`: a payload may have a line separator of Unicode.
        *whole, self._kept = (self._kept + piece).split(b"\n")
        try:
            return [ExportedItem.model_validate_json(each) for each in whole]
        except ValidationError as error:
            reason = f"an item of its export is not one of the API's: {error.error_count()} fields"
            raise ApiUnavailable(reason, url=self._url) from None
