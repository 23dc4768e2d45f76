"""Tells which executions live again in a later journal, though the ledger knows their end.

In the flow: whoever writes rows of executions asks here in the same transaction, of those few alone that had ended and
live. A server that came back with older data has alive what ended after its copy, and runs it again.
In one journal nothing does so: there, a row that was taken over from Redis may be ahead of the entries that follow, or
the beginning of an id's next execution was dropped unread. So what counts is an end in an earlier journal, of the
execution with the same beginning, that is no later than when it was seen to live. Reads only.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from sqlalchemy import Connection, select

from ..scheduler.model.states import TERMINAL
from .executions import Execution
from .schema.tables import transitions
from .statements import among

_IDS_A_QUERY: Final = 500


def judge_revived(
    connection: Connection, rows: Iterable[Execution], lives_ms: Mapping[str, int], journal_id: int
) -> None:
    """Write into rows whether they live again.

    Args:
        connection: Of the ledger.
        rows: As they are to be written.
        lives_ms: When those that had ended were seen to live, by id.
        journal_id: Of the journal that is followed.
    """
    asked = [row for row in rows if row.execution_id in lives_ms]
    ended_ms = dict[str, list[int]]()
    ids = iter(sorted(row.execution_id for row in asked))
    of = transitions.c
    while some := list(islice(ids, _IDS_A_QUERY)):
        ends = select(of.execution_id, of.at_ms).where(
            among(connection, of.execution_id, some), of.journal_id < journal_id, of.state.in_(sorted(TERMINAL))
        )
        for one, at_ms in connection.execute(ends):
            ended_ms.setdefault(one, []).append(at_ms)
    for row in asked:
        begun_ms, last_ms = row.accepted_ms, lives_ms[row.execution_id]
        ends_ms = ended_ms.get(row.execution_id, [])
        had_ended = begun_ms is not None and any(begun_ms <= each <= last_ms for each in ends_ms)
        row.revived_in = journal_id if had_ended else None


def judge_compared(
    connection: Connection, before: Mapping[str, Execution], rows: Sequence[Execution], at_ms: int, journal_id: int
) -> None:
    """Do so for rows as Redis has them now.

    Args:
        connection: Of the ledger.
        before: The rows that are there, by id.
        rows: As they are to be written.
        at_ms: The server's time.
        journal_id: Of the journal that is followed.
    """
    ended = {one for one, row in before.items() if row.state in TERMINAL}
    lives = [row.execution_id for row in rows if row.state not in TERMINAL and row.execution_id in ended]
    judge_revived(connection, rows, dict.fromkeys(lives, at_ms), journal_id)
