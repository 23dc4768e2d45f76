"""``bandmaster show``: shows one execution: its position, why it waits, what it waited for, its timeline, its result.

In the flow: reads only; the desk tells all that is shown. The tail of the output comes from the stored result, with
every control character escaped.
"""

from typing import Final

from bandmaster.cli.completing import Id
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.told import Shown
from bandmaster.cli.failures import Failure
from bandmaster.cli.notes import escaped_lines
from bandmaster.cli.screen import Column, Json, output, say, say_facts, say_json, say_table
from bandmaster.cli.times import show_duration, show_taken, show_time
from bandmaster.cli.waited import sentences, wait_as_json
from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.engine.journal_events import event_of
from bandmaster.scheduler.engine.record import Result
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.model.times import iso_of

_TOLD_ELSEWHERE: Final = frozenset(
    {"attempt", "lane", "band", "action", "user", "score", "gates", "state", "dead", "accepted_at"}
)
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
    as_json: Json = False,
) -> None:
    """Show an execution: why it waits, what it waited for, its timeline, its result.

    \b
    Examples:
      bandmaster show 0192f0c1-7c1a-7bb2-8d52-0f6c6e0f5a11
      bandmaster show 0192f0c1-7c --json | jq .explanation.reasons
    """
    with at_desk() as desk:
        told = desk.executions.shown(desk.executions.find(execution_id))
    if as_json:
        say_json({name: value for name, value in _document(told).items() if name not in told.untold})
    else:
        _say_record(told)
        _say_failure(told.failure)
        _say_timeline(told.timeline)
        _say_result(told.result)


def _document(told: Shown) -> dict[str, object]:
    record, event = told.record, told.event
    return record.as_json() | {
        "explanation": {"position": record.position, "reasons": told.reasons},
        "timeline": [{"verb": each.verb, "at": iso_of(each.at_ms)} | each.fields for each in told.timeline],
        "events": [one.model_dump(mode="json", exclude_none=True) for one in map(event_of, told.timeline) if one],
        "event": None if event is None else event.model_dump(mode="json", exclude_none=True),
        "result": None if told.result is None else told.result.model_dump(),
        "pod_waits_for": told.waits_for or None,
        "waits": None if told.waits is None else list(map(wait_as_json, told.waits.each)),
        "waits_complete": None if told.waits is None else told.waits.complete,
        "failure": None if told.failure is None else told.failure.as_json(),
    }


def _say_record(told: Shown) -> None:
    record, event, reasons = told.record, told.event, told.reasons
    if record.state is State.SCHEDULED and record.due_ms is not None:
        reasons = [f"it is due at {show_time(record.due_ms)}, in {show_duration(record.due_ms - told.now_ms)}"]
    say_facts(
        [
            ("execution", record.execution_id),
            ("state", record.state),
            (_TIMED.get(record.state, "took"), show_taken(record, told.now_ms) or None),
            ("position", record.position),
            ("why", reasons or None),
            ("waited", None if told.waits is None else sentences(told.waits) or None),
            ("asked to end", "yes; what runs is being ended" if record.cancel_requested and not record.ended else None),
            ("reason", record.reason),
            ("priority", record.priority.lower() or None),
            ("user", record.user_id),
            ("action", record.action or None),
            ("lane", record.lane or None),
            ("gates", list(record.gates) or None),
            ("attempt", record.attempt or None),
            ("pod", record.pod),
            ("its pod waits", told.waits_for or None),
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
        rest = [
            f"{name} {value}" for name, value in sorted(each.fields.items()) if name not in _TOLD_ELSEWHERE and value
        ]
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
