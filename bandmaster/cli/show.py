"""``bandmaster show``: shows one execution, with its position, why it waits, its timeline and its result.

In the flow: reads only. The timeline comes from the journal, as far back as that reaches; the tail of the output comes
from the stored result, with every control character escaped.
"""

from typing import Annotated, Final

import typer

from bandmaster.cli.completing import Id
from bandmaster.cli.failures import Failure, read_failure
from bandmaster.cli.opening import opened
from bandmaster.cli.screen import Column, escaped_lines, output, say, say_facts, say_json, say_table
from bandmaster.cli.times import show_duration, show_taken, show_time
from bandmaster.cli.waiting import pod_waits_for
from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.engine.journal_events import event_of
from bandmaster.scheduler.engine.record import Record, Result, read_result
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.finding import find_id
from bandmaster.scheduler.model.errors import InvalidRequest, UnknownExecution
from bandmaster.scheduler.model.states import TERMINAL, State
from bandmaster.scheduler.model.times import iso_of
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.views import Explanation

_TOLD_ELSEWHERE: Final = frozenset({"attempt", "lane", "band", "action", "user", "score", "gates", "state", "dead"})
_STAMPED: Final = {"park": "accepted_at", "admit": "granted_at"}
"""Transitions whose time is also in the record."""

_SHOWN_LINES: Final = 40
_TIMED: Final = {
    State.SCHEDULED: "due",
    State.PENDING: "waiting",
    State.RUNNING: "running",
    State.POD: "running",
    State.CANCELLING: "running",
}


def show(
    execution_id: Id,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show an execution: why it waits, its timeline, its result.

    \b
    Examples:
      bandmaster show 0192f0c1-7c1a-7bb2-8d52-0f6c6e0f5a11
      bandmaster show 0192f0c1-7c --json | jq .explanation.reasons
    """
    with opened() as bandmaster:
        queue = bandmaster.queue
        found = find_id(queue, execution_id)
        meta = queue.views.meta(found)
        timeline = timeline_of(queue, found, meta.get("accepted_at"))
        explanation = queue.explain(found) if "accepted_at" in meta else None
        meta = told_by(timeline) | meta
        if "state" not in meta:
            raise UnknownExecution(execution_id=found)
        record = Record.from_meta(found, meta, None if explanation is None else explanation.position)
        event, result = read_event(queue, found), read_result(queue.views, found)
        failure = None if event is not None else read_failure(queue, found)
        now_ms = queue.views.server_time_ms()
        waits_for = pod_waits_for(bandmaster.pods, record)
    if as_json:
        document = _document(record, explanation, timeline, event, result) | {"pod_waits_for": waits_for or None}
        say_json(document | {"failure": None if failure is None else failure.as_json()})
    else:
        _say_record(record, explanation, event, now_ms, waits_for)
        _say_failure(failure)
        _say_timeline(timeline)
        _say_result(result)


def timeline_of(queue: ExecutionQueueService, execution_id: str, accepted_ms: str | None) -> list[JournalEntry]:
    """The execution's transitions; the journal is read only from its acceptance on."""
    after = None if accepted_ms is None else str(int(accepted_ms) - 1)
    return [entry for entry in queue.journal.entries(after=after) if entry.execution_id == execution_id]


def told_by(timeline: list[JournalEntry]) -> dict[str, str]:
    """The fields of an execution's record as far as the journal has them, for when the record is gone."""
    told: dict[str, str] = {}
    for each in timeline:
        told = each.fields if each.verb == "park" else told | each.fields
        if each.verb in _STAMPED:
            told[_STAMPED[each.verb]] = str(each.at_ms)
        if told.get("state") in TERMINAL:
            told.setdefault("ended_at", str(each.at_ms))
    return told


def read_event(queue: ExecutionQueueService, execution_id: str) -> ExecutionRequestedEvent | None:
    """The event, if it is still kept and can be read."""
    raw = queue.views.event(execution_id)
    try:
        return None if raw is None else ExecutionRequestedEvent.from_json(raw)
    except InvalidRequest:
        return None


def _document(
    record: Record,
    explanation: Explanation | None,
    timeline: list[JournalEntry],
    event: ExecutionRequestedEvent | None,
    result: Result | None,
) -> dict[str, object]:
    return record.as_json() | {
        "explanation": {"position": record.position, "reasons": [] if explanation is None else explanation.reasons},
        "timeline": [{"verb": each.verb, "at": iso_of(each.at_ms)} | each.fields for each in timeline],
        "events": [told.model_dump(mode="json", exclude_none=True) for told in map(event_of, timeline) if told],
        "event": None if event is None else event.model_dump(mode="json", exclude_none=True),
        "result": None if result is None else result.model_dump(),
    }


def _say_record(
    record: Record,
    explanation: Explanation | None,
    event: ExecutionRequestedEvent | None,
    now_ms: int,
    waits_for: str,
) -> None:
    reasons = [] if explanation is None else explanation.reasons
    if record.state is State.SCHEDULED and record.due_ms is not None:
        reasons = [f"it is due at {show_time(record.due_ms)}, in {show_duration(record.due_ms - now_ms)}"]
    say_facts(
        [
            ("execution", record.execution_id),
            ("state", record.state),
            (_TIMED.get(record.state, "took"), show_taken(record, now_ms) or None),
            ("position", record.position),
            ("why", reasons or None),
            ("asked to end", "yes; what runs is being ended" if record.cancel_requested and not record.ended else None),
            ("reason", record.reason),
            ("priority", record.priority.lower() or None),
            ("user", record.user_id),
            ("action", record.action or None),
            ("lane", record.lane or None),
            ("gates", list(record.gates) or None),
            ("attempt", record.attempt or None),
            ("pod", record.pod),
            ("its pod waits", waits_for or None),
            ("runs", None if event is None else _runs(event)),
            ("timeout", None if event is None else show_duration(event.timeout_seconds * 1000)),
            ("labels", None if event is None else [f"{k}={v}" for k, v in event.metadata.labels.items()] or None),
        ]
    )


def _runs(event: ExecutionRequestedEvent) -> str:
    if event.command is not None:
        text = " ".join(event.command)
        return text if len(text) <= 200 else f"{text[:200]}…"
    script = event.script or ""
    return f"{event.file_name or 'a script'}, {len(script.splitlines())} lines"


def _say_failure(failure: Failure | None) -> None:
    if failure is None:
        return
    say()
    facts = [("called", f"{failure.actor}({failure.arguments})"), ("exception", failure.exception)]
    say_facts(facts)
    if failure.traceback is not None:
        say("its traceback:", style="dim")
        for line in escaped_lines(failure.traceback).splitlines():
            output().out(f"  {line}", highlight=False)


def _say_timeline(timeline: list[JournalEntry]) -> None:
    if not timeline:
        return
    say()
    rows: list[tuple[str, ...]] = []
    began_ms = timeline[0].at_ms
    for each in timeline:
        rest = [f"{name} {value}" for name, value in each.fields.items() if name not in _TOLD_ELSEWHERE and value]
        attempt = each.fields.get("attempt", "0")
        rows.append(
            (
                show_time(each.at_ms),
                f"+{show_duration(max(0, each.at_ms - began_ms))}",
                each.verb,
                each.fields.get("state", ""),
                "" if attempt == "0" else attempt,
                ", ".join(rest),
            )
        )
    columns = [Column("AT"), Column("", right=True), Column("WHAT"), Column("STATE"), Column("ATTEMPT", right=True)]
    say_table([*columns, Column("", gives=True, drops=True)], rows)


def _say_result(result: Result | None) -> None:
    if result is None:
        return
    say()
    ran = None if result.duration_seconds is None else show_duration(result.duration_seconds * 1000)
    say_facts([("result", result.reason), ("exit code", result.exit_code), ("ran", ran)])
    if not result.output_tail:
        say("it printed nothing", style="dim")
        return
    lines = escaped_lines(result.output_tail).splitlines()
    cut = len(lines) > _SHOWN_LINES or result.output_truncated
    say("the end of its output (all that is kept: `bandmaster logs`):" if cut else "its output:", style="dim")
    for line in lines[-_SHOWN_LINES:]:
        output().out(f"  {line}", highlight=False)
