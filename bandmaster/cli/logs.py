"""``bandmaster logs``: shows an execution's output, from its pod while that exists, else the stored end of the output.

In the flow: reads only. With ``-f`` it follows through retries, each with a pod of its own, until the execution has
ended. Control characters are escaped, unless ``--raw`` asks for the unchanged bytes.
"""

import codecs
import sys
from typing import Annotated

import typer

from bandmaster.cli.completing import Id
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.told import Read
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.notes import escaped_lines
from bandmaster.cli.screen import say_json


def logs(
    execution_id: Id,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until it has ended.")] = False,
    tail: Annotated[int | None, typer.Option(metavar="BYTES", min=0, help="Only the last so many bytes.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The bytes as they are, control characters and all.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document; with -f a JSON line a piece.")
    ] = False,
) -> None:
    """Show what an execution printed.

    \b
    Examples:
      bandmaster logs 0192f0c1-7c
      bandmaster logs -f 0192f0c1-7c
      bandmaster logs --raw 0192f0c1-7c > output.bin
    """
    if raw and as_json:
        raise WrongUsage("--raw and --json exclude each other: JSON cannot hold any bytes")
    with at_desk() as desk:
        if raw and not desk.output.is_raw:
            raise WrongUsage("--raw works beside Redis only: the API gives text, and not the bytes")
        if follow and not desk.output.is_followed:
            raise WrongUsage("--follow works beside Redis only: the API gives what was printed so far")
        found = desk.executions.find(execution_id)
        writer = _Writer(found, raw=raw, as_json=as_json, by_piece=follow)
        for read in desk.output.reads(found, tail, follow=follow):
            writer.write_all(read)
        writer.close()


class _Writer:
    """Writes pieces of output as they arrive, decoded and escaped; a character may be split between two pieces."""

    def __init__(self, execution_id: str, *, raw: bool, as_json: bool, by_piece: bool) -> None:
        self._execution_id = execution_id
        self._raw = raw
        self._as_json = as_json
        self._by_piece = by_piece
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._kept: list[str] = []
        self._source = "none"

    def write_all(self, read: Read) -> None:
        """Write an output to its end."""
        self._source = read.source
        for piece in read.pieces:
            if self._raw:
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
            else:
                self._say(self._decoder.decode(piece))
        if not self._raw:
            self._say(self._decoder.decode(b"", final=True))

    def close(self) -> None:
        """Write the JSON document that had to wait for the end."""
        if self._as_json and not self._by_piece:
            say_json({"execution_id": self._execution_id, "source": self._source, "output": "".join(self._kept)})

    def _say(self, text: str) -> None:
        if not text:
            return
        if not self._as_json:
            sys.stdout.write(escaped_lines(text))
            sys.stdout.flush()
        elif self._by_piece:
            say_json({"execution_id": self._execution_id, "source": self._source, "output": text}, line=True)
        else:
            self._kept.append(text)
