"""``Uploading``: takes the items of a file into a queue, all of them or none, or each that is right.

In the flow: the file is there as a whole before anything is written, so no transaction waits for who sends it. With
`whole`, every line is checked first, and then all are added in one transaction: if the process dies in it, nothing was
added. Without, each page is one, and what died in between is continued by the same upload again: under its key, a line
is one item. What is wrong is told with its line, at most so many of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from sqlalchemy import Connection

from ..ledger.schema.tables import queue_items
from ..ledger.statements import insert_or
from ..scheduler.model.errors import InvalidRequest
from .adding import checked, key_of, row_of, there_already
from .errors import DuplicateReference, KeyReused, QueueInactive
from .item_lines import FileFormat, Line, lines_of
from .model import Queue
from .queues import queue_in
from .store import Store, now_of

LINES_A_PAGE: Final = 200
MOST_TOLD: Final = 100
MOST_LINES: Final = 1_000_000
MOST_LINES_AT_ONCE: Final = 100_000
"""With `whole`: on SQLite, nobody else writes meanwhile."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A line that was not added."""

    line: int
    field: str
    problem: str


@dataclass(slots=True)
class Report:
    """What came of an upload."""

    added: int = 0
    known: int = 0
    """Of these, were added by the same upload before."""
    wrong: int = 0
    """How many lines were not."""
    told: list[Wrong] = field(default_factory=list[Wrong])
    """The first of these."""

    def refuse(self, line: int, name: str, problem: str) -> None:
        """Count a line that is wrong."""
        self.wrong += 1
        if len(self.told) < MOST_TOLD:
            self.told.append(Wrong(line, name, problem))


class _Refused(Exception):
    """Rolls back a transaction in which a line was refused."""


class Uploading:
    """Adds files to one ledger. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        """Makes no connection."""
        self._store = store

    def upload(
        self,
        queue: Queue,
        file: BinaryIO,
        kind: FileFormat,
        *,
        by: str,
        whole: bool = True,
        key: str | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Report:
        """Add the items of a file.

        Args:
            queue: The queue, as it was found.
            file: Binary, and can be read twice.
            kind: What it is.
            by: Who asks.
            whole: All or none.
            key: A digest under which the upload can be repeated; None: it adds everything anew.
            progress: Is told how many bytes of the file were read, now and then.

        Returns:
            What came of it; with `whole`, and a line that is wrong, nothing was added.

        Raises:
            QueueUnknown: If the queue was deleted.
            QueueInactive: If it takes nothing.
            InvalidRequest: If the first line of a CSV is wrong, or there are too many lines.
            LedgerError: If the database does not answer. Without `whole`, what came before is added.
        """
        rows = _Rows(queue, file, kind, key, MOST_LINES_AT_ONCE if whole else MOST_LINES)
        if not whole:
            report = Report()
            for page in _paged(rows.read(report)):
                part = self._store.write(lambda connection, page=page: _added(connection, queue, page, by))
                _count(report, part)
                progress(file.tell())
            return report
        checked_only = Report()
        for _ in rows.read(checked_only):
            pass
        if checked_only.wrong:
            return checked_only

        def work(connection: Connection) -> Report:
            report = Report()
            for page in _paged(rows.read(Report())):
                _count(report, _added(connection, queue, page, by))
                progress(file.tell())
            if report.wrong:
                refused.append(report)
                raise _Refused
            return report

        refused = list[Report]()
        try:
            return self._store.write(work)
        except _Refused:
            return Report(wrong=refused[-1].wrong, told=refused[-1].told)


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    values: dict[str, Any]
    key: str | None


@dataclass(frozen=True, slots=True)
class _Rows:
    """The lines of a file as rows, as often as they are asked for."""

    queue: Queue
    file: BinaryIO
    kind: FileFormat
    key: str | None
    most: int

    def read(self, report: Report) -> Iterator[_Row]:
        for count, line in enumerate(lines_of(self.file, self.kind), 1):
            if count > self.most:
                raise InvalidRequest("file", "it has too many lines", allowed=f"at most {self.most:,}")
            row = self._row(line, report)
            if row is not None:
                yield row

    def _row(self, line: Line, report: Report) -> _Row | None:
        problem = line.problem
        if line.fields is not None:
            try:
                key = None if self.key is None else key_of(self.key, str(line.number))
                return _Row(line.number, checked(self.queue, **line.fields), key)
            except InvalidRequest as error:
                problem = error
        if problem is not None:
            report.refuse(line.number, problem.field, problem.problem)
        return None


def _paged(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    page = list[_Row]()
    for row in rows:
        page.append(row)
        if len(page) == LINES_A_PAGE:
            yield page
            page = []
    if page:
        yield page


def _added(connection: Connection, queue: Queue, page: list[_Row], by: str) -> Report:
    found, report = queue_in(connection, queue.queue_id, shares=True), Report()
    if not found.is_active:
        raise QueueInactive(found.name)
    at_ms = now_of(connection)
    rows = [row_of(found, row.values, by=by, key=row.key, at_ms=at_ms) for row in page]
    # A page is one statement; only those that it has not taken are asked for one by one.
    statement = insert_or(connection, queue_items).on_conflict_do_nothing().returning(queue_items.c.item_id)
    new = set(connection.execute(statement, rows).scalars())
    report.added = len(new)
    for row, values in zip(page, rows, strict=True):
        if values["item_id"] in new:
            continue
        try:
            there_already(connection, values, row.values["available_ms"], found.name)
        except DuplicateReference as error:
            report.refuse(row.line, "reference", str(error))
        except KeyReused as error:
            report.refuse(row.line, "line", str(error))
        else:
            report.added += 1
            report.known += 1
    return report


def _count(report: Report, part: Report) -> None:
    report.added += part.added
    report.known += part.known
    for wrong in part.told:
        report.refuse(wrong.line, wrong.field, wrong.problem)
    report.wrong += part.wrong - len(part.told)
