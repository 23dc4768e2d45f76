"""``bandmaster item upload`` and ``item export``: items from files and to files.

In the flow: as `item`, beside the ledger's database or through the API. An upload that was killed or whose end nobody
saw can be repeated with the same ``--key``: no line is added twice.
"""

import os
import sys
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
from typing import Annotated, BinaryIO, Final

import typer

from bandmaster.admin.api.idempotency import check_key
from bandmaster.cli.desk.item_opening import at_items
from bandmaster.cli.exits import Exit, WrongUsage
from bandmaster.cli.notes import note
from bandmaster.cli.option_names import OF_UPLOAD, as_options
from bandmaster.cli.queue_items import read_status
from bandmaster.cli.screen import Json, say, say_json
from bandmaster.cli.waiting import progress_bar
from bandmaster.configs.extras import import_extra
from bandmaster.items.names import check_queue_name

STDIN: Final = "-"
Format = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="jsonl or csv; as the file is named, else jsonl.")
]
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="Its name.")]


def upload_items(
    queue: QueueName,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file; -: standard input.")],
    format_: Format = None,
    each: Annotated[
        bool, typer.Option("--each", help="Add each line that is right; without, all lines or none.")
    ] = False,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Under the same one, no line is added twice.")] = None,
    as_json: Json = False,
) -> None:
    """Add the items of a file to a queue: an object a line (JSON Lines), or a CSV whose first line names the fields.

    The fields are reference, priority, payload, deadline_at and postpone_until; in a CSV, payload.NAME is a text of
    the payload.

    \b
    Examples:
      bandmaster item upload invoices november.csv
      bandmaster item upload invoices - --each --key november < november.jsonl
    """
    kind = _format(format_, file)
    check_queue_name(queue)
    if key is not None:
        with as_options(OF_UPLOAD):
            check_key(key)
    with at_items() as desk, _opened(file) as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(0)
        with progress_bar("bytes", size, wanted=not as_json) as bar:

            def told(read: int) -> None:
                bar.update(bar.task_ids[0], completed=read)

            report = desk.items.upload(queue, opened, kind, each=each, key=key, progress=told)
    if as_json:
        problems = [one.model_dump() for one in report.lines]
        say_json({"added": report.added, "known": report.known, "refused": report.refused, "problems": problems})
    else:
        for one in report.lines:
            note(f"line {one.line:,}: {one.field}: {one.problem}")
        if report.refused > len(report.lines):
            note(f"and {report.refused - len(report.lines):,} others")
        known = f", {report.known:,} of them before" if report.known else ""
        refused = f"; {report.refused:,} lines are refused" if report.refused else ""
        say(f"{report.added:,} items are added{known}{refused}")
    if report.refused:
        raise typer.Exit(Exit.REJECTED)


def export_items(
    queue: QueueName,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file; without, to standard output."),
    ] = None,
    format_: Format = None,
    status: Annotated[list[str] | None, typer.Option(metavar="STATUS", help="Only these; repeatable.")] = None,
) -> None:
    """Write the items of a queue to a file, with payloads and results.

    In a CSV, texts that a spreadsheet would take for formulas begin with an apostrophe.

    \b
    Examples:
      bandmaster item export invoices --output invoices.csv
      bandmaster item export invoices --status FAILED | bandmaster item upload again -
    """
    statuses = tuple(read_status(each) for each in status or ())
    kind = _format(format_, "" if output is None else output.name)
    check_queue_name(queue)
    with at_items() as desk:
        pieces = desk.items.export(queue, kind, statuses)
        if output is None:
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        else:
            _write(output, pieces)


def _write(output: Path, pieces: Iterable[bytes]) -> None:
    # Only a file that is whole has the name.
    part = output.with_name(f"{output.name}.part")
    try:
        with part.open("wb") as opened:
            opened.writelines(pieces)
        part.replace(output)
    except OSError as error:
        raise WrongUsage(f"{output} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def _opened(file: str) -> Generator[BinaryIO]:
    if file == STDIN:
        # It is read twice, and nothing is written before it is there as a whole.
        with tempfile.TemporaryFile() as kept:
            copyfileobj(sys.stdin.buffer, kept)
            yield kept
        return
    try:
        with Path(file).open("rb") as opened:
            yield opened
    except OSError as error:
        raise WrongUsage(f"{file} cannot be read: {error.strerror}") from None


def _format(given: str | None, name: str) -> str:
    formats = import_extra("bandmaster.items.item_lines", "api").FileFormat
    wanted = given or Path(name).suffix.removeprefix(".") or formats.JSONL
    if wanted.lower() not in set(formats):
        if given is None:
            wanted = formats.JSONL
        else:
            raise WrongUsage(f"--format: {given!r} is none; allowed: {', '.join(formats)}")
    return wanted.lower()
