"""``bandmaster item upload`` and ``item export``: items from files and to files, straight in the ledger's database.

In the flow: as `item`. An upload that was killed or whose end nobody saw can be repeated with the same ``--key``: no
line is added twice.
"""

import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from typing import Annotated, BinaryIO, Final

import typer

from bandmaster.cli.exits import Exit, WrongUsage
from bandmaster.cli.queue_items import read_status
from bandmaster.cli.queues import opened_items
from bandmaster.cli.screen import Json, note, say, say_json
from bandmaster.cli.waiting import progress_bar
from bandmaster.configs.extras import import_extra
from bandmaster.items.names import check_queue_name
from bandmaster.scheduler.model.operators import user_at_host

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
    items = opened_items()
    found = items.queues.find(check_queue_name(queue))
    digest = None if key is None else import_extra("bandmaster.items.adding", "api").key_of("upload", queue, key)
    with _opened(file) as opened:
        size = opened.seek(0, os.SEEK_END)
        with progress_bar("bytes", size, wanted=not as_json) as bar:

            def told(read: int) -> None:
                bar.update(bar.task_ids[0], completed=read)

            report = items.uploading.upload(
                found,
                opened,
                kind,
                by=user_at_host(),
                whole=not each,
                key=digest,
                progress=told,
            )
    if as_json:
        problems = [{"line": one.line, "field": one.field, "problem": one.problem} for one in report.told]
        say_json({"added": report.added, "known": report.known, "refused": report.wrong, "problems": problems})
    else:
        for one in report.told:
            note(f"line {one.line:,}: {one.field}: {one.problem}")
        if report.wrong > len(report.told):
            note(f"and {report.wrong - len(report.told):,} others")
        known = f", {report.known:,} of them before" if report.known else ""
        refused = f"; {report.wrong:,} lines are refused" if report.wrong else ""
        say(f"{report.added:,} items are added{known}{refused}")
    if report.wrong:
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
    items = opened_items()
    found = items.queues.find(check_queue_name(queue))
    sought = import_extra("bandmaster.items.listing", "api").Sought(found.queue_id, statuses)
    pieces = import_extra("bandmaster.items.exporting", "api").exported(items.store, sought, kind)
    if output is None:
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.flush()
        return
    # Only a file that is whole has the name.
    part = output.with_name(f"{output.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as opened:
            opened.writelines(pieces)
        part.replace(output)
    except OSError as error:
        raise WrongUsage(f"{output} cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


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


def _format(given: str | None, name: str) -> object:
    formats = import_extra("bandmaster.items.item_lines", "api").FileFormat
    wanted = given or Path(name).suffix.removeprefix(".") or formats.JSONL
    if wanted.lower() not in set(formats):
        if given is None:
            wanted = formats.JSONL
        else:
            raise WrongUsage(f"--format: {given!r} is none; allowed: {', '.join(formats)}")
    return formats(wanted.lower())
