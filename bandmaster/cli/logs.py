"""``bandmaster logs``: shows an execution's output, from its pod while that exists, else the stored end of the output.

In the flow: reads only. With ``-f`` it follows through retries, each with a pod of its own, until the execution has
ended. Control characters are escaped, unless ``--raw`` asks for the unchanged bytes.
"""

import codecs
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from bandmaster.cli.completing import Id
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.opening import Opened, opened
from bandmaster.cli.screen import escaped_lines, note, say_json
from bandmaster.configs.errors import SettingsError
from bandmaster.k8s.errors import PodError
from bandmaster.k8s.pods import Pods, pod_name
from bandmaster.scheduler.engine.record import Record, read_records, read_result
from bandmaster.scheduler.finding import find_id
from bandmaster.scheduler.model.errors import UnknownExecution

POLL_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Read:
    """The output and its source: the attempt's pod, or only the stored result."""

    source: str
    pieces: Iterator[bytes]


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
    with opened() as bandmaster:
        found = find_id(bandmaster.queue, execution_id)
        writer = _Writer(found, raw=raw, as_json=as_json, by_piece=follow)
        pods = _pods_of(bandmaster)
        if follow:
            _follow(bandmaster, pods, found, tail, writer)
        else:
            writer.write_all(_read(bandmaster, pods, _record(bandmaster, found), tail))
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


def _pods_of(bandmaster: Opened) -> Pods | None:
    try:
        return bandmaster.pods()
    except (PodError, SettingsError) as error:
        note(f"only what is stored can be shown: {error}")
        return None


def _record(bandmaster: Opened, execution_id: str) -> Record:
    record = read_records(bandmaster.queue.views, [execution_id]).get(execution_id)
    if record is None:
        raise UnknownExecution(execution_id=execution_id)
    return record


def _read(bandmaster: Opened, pods: Pods | None, record: Record, tail: int | None, *, follow: bool = False) -> Read:
    """The output of the current attempt."""
    if pods is not None and record.attempt:
        try:
            name = record.pod or pod_name(record.execution_id, record.attempt)
            return Read("pod", pods.logs(name, follow=follow, tail_bytes=tail))
        except PodError:
            pass  # The pod was collected or is not created yet: there is only the stored result.
    result = read_result(bandmaster.queue.views, record.execution_id)
    if result is None:
        if not follow:
            note(f"{record.execution_id} has printed nothing that is kept; it is {record.state}")
        return Read("none", iter(()))
    if result.output_truncated:
        note("its pod is gone; this is the stored end of its output")
    data = result.output_tail.encode()
    return Read("result", iter([data if tail is None else data[len(data) - min(tail, len(data)) :]]))


def _follow(bandmaster: Opened, pods: Pods | None, execution_id: str, tail: int | None, writer: _Writer) -> None:
    followed = 0
    while True:
        record = _record(bandmaster, execution_id)
        if record.attempt > followed and (record.pod is not None or record.ended):
            writer.write_all(_read(bandmaster, pods, record, tail, follow=True))
            followed, tail = record.attempt, None
        elif record.ended:
            return
        else:
            time.sleep(POLL_SECONDS)
