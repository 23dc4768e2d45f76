"""``ApiExecutions``: executions through the admin API, as far as the token sees them.

In the flow: one side of `port.Executions`. What may be sent again is, by the client; a submission goes under a key of
its own, so it is carried out once. If the command dies, what the API has accepted goes on.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from bandmaster.admin.client import calls
from bandmaster.admin.client.calls.executions import Filters
from bandmaster.admin.client.errors import ApiProblem
from bandmaster.cli.desk.answers import record_of, timeline_of, waits_of
from bandmaster.cli.desk.told import HistoryUnavailable, Listed, Moved, Refusal, Shown, Waits
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.times import ms_of
from bandmaster.scheduler.engine.grants import Cancellation, Code, Parked
from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.engine.record import Record, Result
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.finding import meant
from bandmaster.scheduler.model.errors import InvalidRequest, UnknownExecution
from bandmaster.scheduler.model.identifiers import check_execution_id
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import TERMINAL, State
from bandmaster.scheduler.selecting import Wanted

A_PAGE: Final = 200
"""The most that the API lists of a group, and on a page of the history."""
ENDED_SEARCHED: Final = 20_000
"""How many of the latest that have ended are looked at, at least."""
_REFUSALS: Final = frozenset({"queue_full", "user_limit", "duplicate"})
_NOT_SENT: Final = {"version", "event_type", "requested_at", "metadata"}
_UNTOLD: Final = frozenset({"failure", "pod_waits_for"})


class ApiExecutions:
    """Executions that an API tells of. Every method raises ApiProblem and ApiUnavailable."""

    # A token has 6,000 requests a minute, and whoever waits must not use them up.
    reads_a_second = 10.0

    def __init__(self, client: Any) -> None:
        """Args: `client`, a `bandmaster.client.Client`, which another extra brings."""
        self._send = client.send

    def now_ms(self) -> int:
        """The time of the server's clock."""
        return ms_of(self._send(calls.queue()).as_of)

    def find(self, typed: str) -> str:
        """The id that was meant, by itself or, with a ledger, by its beginning."""
        check_execution_id(typed)
        try:
            return self._send(calls.show(typed)).execution_id
        except ApiProblem as problem:
            if problem.code != "not_found":
                raise
        begin = self._send(calls.executions(text=typed, limit=A_PAGE)).executions
        return meant(typed, [each.execution_id for each in reversed(begin)])

    def listed(self, group: str, wanted: Wanted, most: int) -> Listed:
        """The first executions of a group that pass the filters; the ended ones by when they were accepted."""
        if group == "ended":
            return self._ended(wanted, most)
        records, is_all = self._group(group, wanted)
        return Listed(records[:most], len(records) > most or not is_all)

    def every(self, group: str, wanted: Wanted) -> list[Record]:
        """All of them, unless there are more than the API lists at once."""
        records, is_all = self._group(group, wanted)
        if not is_all:
            raise WrongUsage(
                f"more than the {A_PAGE} executions that the API lists at once may be meant: name them, filter more, "
                "or do it beside Redis"
            )
        return records

    def shown(self, execution_id: str) -> Shown:
        """All that is told of one; of what the token may not read, nothing."""
        answer = self._one(execution_id)
        return Shown(
            record_of(answer),
            reasons=answer.waits_for,
            timeline=self._timeline(execution_id),
            event=self._event(execution_id),
            result=self.result(execution_id),
            now_ms=ms_of(answer.as_of),
            waits=self._waits(execution_id),
            untold=_UNTOLD,
        )

    def records(self, execution_ids: Sequence[str]) -> dict[str, Record]:
        """The records of those that are known, in order."""
        found: dict[str, Record] = {}
        for one in execution_ids:
            with contextlib.suppress(UnknownExecution):
                found[one] = record_of(self._one(one))
        return found

    def result(self, execution_id: str) -> Result | None:
        """Its stored result."""
        answer = self._if_told(calls.result(execution_id))
        if answer is None:
            return None
        return Result(**answer.model_dump(include=set(Result.model_fields)))

    def pod_waits_for(self, record: Record) -> str:
        """The API does not tell."""
        return ""

    def submit(self, events: Sequence[ExecutionRequestedEvent]) -> Iterator[Parked | Refusal]:
        """Send them one by one."""
        for event in events:
            try:
                call = calls.submit(_submission(event), uuid4().hex)
                accepted = self._send(replace(call, headers={**call.headers, **_span(event)}))
            except ApiProblem as problem:
                if problem.code not in _REFUSALS:
                    raise
                yield Refusal(problem.code, problem.detail)
            else:
                position = -1 if accepted.position is None else accepted.position
                yield Parked(accepted.execution_id, accepted.state, position)

    def cancel(self, execution_id: str, reason: str) -> Cancellation:
        """End one that waits; ask one that runs to end."""
        code, state = Code.OK, None
        try:
            state = self._send(calls.cancel(execution_id, reason)).state
        except ApiProblem as problem:
            code, state = self._why(execution_id, problem, {"ended": Code.ENDED})
        return Cancellation(code, state, 0, None, None)

    def move(self, execution_id: str, band: Priority) -> Moved:
        """Move one that waits to another priority."""
        try:
            moved = self._send(calls.move(execution_id, band.name))
        except ApiProblem as problem:
            return Moved(*self._why(execution_id, problem, {"not_pending": Code.NOT_WAITING}))
        return Moved(Code.OK, moved.state, moved.position)

    def _why(self, execution_id: str, problem: ApiProblem, codes: dict[str, Code]) -> tuple[Code, State | None]:
        """Why a change was not made, in the engine's words, and the state that it is in."""
        if problem.code == "not_found":
            return Code.UNKNOWN, None
        if problem.code not in codes:
            raise problem
        return codes[problem.code], self._one(execution_id).state

    def _one(self, execution_id: str) -> Any:
        try:
            return self._send(calls.show(execution_id))
        except ApiProblem as problem:
            if problem.code == "not_found":
                raise UnknownExecution(execution_id=execution_id) from None
            raise

    def _timeline(self, execution_id: str) -> list[JournalEntry]:
        answer = self._if_told(calls.timeline(execution_id))
        return [] if answer is None else timeline_of(answer)

    def _waits(self, execution_id: str) -> Waits | None:
        answer = self._if_told(calls.waits(execution_id))
        return None if answer is None else waits_of(answer)

    def _event(self, execution_id: str) -> ExecutionRequestedEvent | None:
        answer = self._if_told(calls.payload(execution_id))
        try:
            return None if answer is None else ExecutionRequestedEvent.from_any(answer.event)
        except InvalidRequest:
            return None

    def _if_told(self, call: Any) -> Any:
        """The answer; None if there is none, the token may not read it, or only a ledger could know it."""
        try:
            return self._send(call)
        except ApiProblem as problem:
            if problem.code in ("not_found", "forbidden", "ledger_unavailable"):
                return None
            raise

    def _group(self, group: str, wanted: Wanted) -> tuple[list[Record], bool]:
        """What the API lists of a group and passes the filters, and whether that is all there is."""
        filters, gate = _told(wanted), wanted.gate
        call = (
            calls.dead(A_PAGE, gate=gate, **filters)
            if group == "dead"
            else calls.living(group, gate=gate, limit=A_PAGE, **filters)
        )
        answer = self._send(call)
        return [record_of(each) for each in answer.executions], answer.complete

    def _ended(self, wanted: Wanted, most: int) -> Listed:
        states = TERMINAL if wanted.states is None else wanted.states & TERMINAL
        filters = _told(replace(wanted, states=states))
        found: list[Record] = []
        looked_at = 0
        cursor: str | None = None
        while True:
            try:
                page = self._send(calls.executions(**filters, cursor=cursor, limit=A_PAGE))
            except ApiProblem as problem:
                if problem.code != "ledger_unavailable":
                    raise
                raise HistoryUnavailable(f"what has ended cannot be listed: {problem.detail}") from None
            # The ledger does not filter by gates.
            found += filter(wanted.fits, map(record_of, page.executions))
            looked_at += len(page.executions)
            cursor = page.next
            if cursor is None or len(found) > most or looked_at >= ENDED_SEARCHED:
                return Listed(found[:most], cursor is not None or len(found) > most)


def _span(event: ExecutionRequestedEvent) -> dict[str, str]:
    """The headers by which the API learns to which span the execution belongs."""
    of = event.metadata
    both = {"traceparent": of.traceparent, "tracestate": of.tracestate}
    return {name: value for name, value in both.items() if value}


def _told(wanted: Wanted) -> Filters:
    return {
        "status": sorted(wanted.states or ()),
        "priority": [each.name for each in sorted(wanted.priorities or ())],
        "user": wanted.user_id,
        "action": wanted.action,
        "lane": wanted.lane,
    }


def _submission(event: ExecutionRequestedEvent) -> dict[str, Any]:
    told = event.model_dump(mode="json", exclude_none=True, exclude=_NOT_SENT)
    metadata = event.metadata.model_dump(
        mode="json", exclude_none=True, exclude={"user_id", "traceparent", "tracestate"}
    )
    of_user = {} if event.metadata.user_id is None else {"user_id": event.metadata.user_id}
    return told | {"metadata": metadata} | of_user
