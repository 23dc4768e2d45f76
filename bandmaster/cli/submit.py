"""``bandmaster submit``: sends scripts or a command to be run, many at once, and waits for them on request.

In the flow: everything is read and checked first, then sent; each is accepted or refused separately. If the command
dies in between, the accepted ones run; ``--id`` makes it safe to send one again.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer

from bandmaster.cli.completing import complete_action, complete_gate, complete_priority, complete_user
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.port import Desk, Executions
from bandmaster.cli.desk.told import Refusal
from bandmaster.cli.exits import CommandFailed, Exit, WrongUsage
from bandmaster.cli.expected import EXPECTED, exit_of, sentence_of
from bandmaster.cli.notes import note
from bandmaster.cli.requests import Options, Source, command_source, event_of, read_source
from bandmaster.cli.screen import Column, Json, say, say_json, say_table
from bandmaster.cli.times import read_duration, read_when, show_duration, show_time
from bandmaster.cli.waiting import progress_bar, wait_until_ended
from bandmaster.configs.caller import span_of_caller
from bandmaster.scheduler.engine.grants import Parked
from bandmaster.scheduler.engine.record import Record, Result
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.model.times import iso_of
from bandmaster.scheduler.model.trace_context import read_environment
from bandmaster.scheduler.spans import traced

SHOWS_PROGRESS: Final = 100
"""With more executions than these, a terminal shows how many are sent."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One source, its event and the queue's answer; `ended` and `result` are set only after waiting."""

    source: Source
    event: ExecutionRequestedEvent
    outcome: Parked | Refusal
    ended: Record | None = None
    result: Result | None = None


def submit(
    context: typer.Context,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="FILE | - | -- COMMAND", help="Scripts; - is standard input.")
    ] = None,
    priority: Annotated[
        str,
        typer.Option(
            *("--priority", "-p"),
            metavar="NAME",
            help="critical, high, normal, low or background.",
            autocompletion=complete_priority,
        ),
    ] = "normal",
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Whose limit it counts against.", autocompletion=complete_user)
    ] = None,
    action: Annotated[
        str, typer.Option(help="Whose limit, pause and statistics it counts for.", autocompletion=complete_action)
    ] = "pod",
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="Running longer ends it: 300, 90s, 5m, 1h30m.")
    ] = "300",
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Not before: ISO 8601, or from now like +5m.")] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="A gate to pass besides; may be repeated.", autocompletion=complete_gate),
    ] = None,
    cpu: Annotated[str | None, typer.Option(metavar="CORES", help="Its CPU limit, like 500m or 2.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="BYTES", help="Its memory limit, like 256Mi.")] = None,
    image: Annotated[str | None, typer.Option(help="The container image, on a cluster.")] = None,
    profile: Annotated[str | None, typer.Option(help="One of the profiles that the workers' settings list.")] = None,
    runtime: Annotated[
        str | None, typer.Option(help="What runs a script: python, bash, sh, node or an absolute path.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="May be repeated.")] = None,
    execution_id: Annotated[
        str | None, typer.Option("--id", help="Its id, a guard against sending it twice; default: a new one.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait for the end; exit code 1 if not COMPLETED.")] = False,
    as_json: Json = False,
) -> None:
    """Send scripts or a command, to be run in order of priority.

    A script is run as its #! line or its suffix says, else by Python. Everything
    is checked before anything is sent. With TRACEPARENT in the environment, the
    executions belong to that trace.

    \b
    Examples:
      bandmaster submit report.py --priority high --wait
      bandmaster submit jobs/*.sh --user ann --gate licence:matlab
      bandmaster submit --at +10m --timeout 1h -- make -C /srv/site all
      echo 'echo hello' | bandmaster submit - --runtime sh
    """
    when = None if at is None else read_when(at)
    options = Options(
        priority=priority,
        action=action,
        timeout_seconds=read_duration(timeout, "--timeout"),
        user_id=user,
        gates=tuple(gate or ()),
        cpu_limit=cpu,
        memory_limit=memory,
        image=image,
        profile=profile,
        runtime=runtime,
        labels=tuple(label or ()),
        due=when if isinstance(when, datetime) else None,
    )
    sources = _sources(paths or [], context.obj)
    if execution_id is not None and len(sources) > 1:
        raise WrongUsage("--id names one execution; it cannot be given for several files")
    span = read_environment(span_of_caller())
    events = [traced(event_of(source, options, execution_id), span) for source in sources]
    with at_desk() as desk:
        if isinstance(when, timedelta):
            # By the server's clock, which decides when the execution is due.
            due = datetime.fromtimestamp(desk.executions.now_ms() / 1000, UTC) + when
            events = [event.from_any(event.model_dump() | {"scheduled_at": due}) for event in events]
        sent = _send(desk.executions, sources, events)
        if not as_json:
            _say_sent(sent)
        if missing := _missing_worker(desk, sent):
            note(missing)
        if wait:
            sent = _wait(desk.executions, sent)
            if not as_json:
                _say_ended(sent)
    if as_json:
        say_json({"executions": [_as_json(each) for each in sent]})
    raise typer.Exit(_exit_of(sent, waited=wait))


def _sources(paths: list[str], command: list[str] | None) -> list[Source]:
    if command is not None:
        if paths:
            raise WrongUsage(f"both a script ({paths[0]!r}) and a command are given: send one of the two")
        return [command_source(command)]
    if not paths:
        raise WrongUsage("nothing to send: name script files, - for standard input, or a command behind --")
    return [read_source(path) for path in paths]


def _send(executions: Executions, sources: list[Source], events: list[ExecutionRequestedEvent]) -> list[Sent]:
    sent: list[Sent] = []
    with progress_bar("sent", len(events), wanted=len(events) > SHOWS_PROGRESS) as progress:
        try:
            for source, event, outcome in zip(sources, events, executions.submit(events), strict=True):
                sent.append(Sent(source, event, outcome))
                progress.update(progress.task_ids[0], completed=len(sent))
        except EXPECTED as error:
            if sent:
                told = f"{sentence_of(error)}; {len(sent)} of {len(events)} had been sent"
                raise CommandFailed(told, exit_of(error)) from error
            raise
    for each in sent:
        if isinstance(each.outcome, Refusal):
            note(f"{each.source.shown_as[:80]}: {each.outcome.message}")
    return sent


def _missing_worker(desk: Desk, sent: list[Sent]) -> str | None:
    return desk.figures.missing_worker(DEFAULT_LANE) if any(isinstance(each.outcome, Parked) for each in sent) else None


def _wait(executions: Executions, sent: list[Sent]) -> list[Sent]:
    ids = [each.event.execution_id for each in sent if isinstance(each.outcome, Parked)]
    records = wait_until_ended(executions, ids)
    results = {one: executions.result(one) for one in records}
    return [
        Sent(each.source, each.event, each.outcome, records.get(name := each.event.execution_id), results.get(name))
        for each in sent
    ]


def _say_sent(sent: list[Sent]) -> None:
    accepted = [(each, each.outcome) for each in sent if isinstance(each.outcome, Parked)]
    rows = [(parked.execution_id, _place(each, parked), each.source.shown_as) for each, parked in accepted]
    if len(rows) == 1:
        say(f"{rows[0][0]}  {rows[0][1]}")
    elif rows:
        say_table([Column("EXECUTION", folds=True), Column("PLACE"), Column("SOURCE", gives=True, drops=True)], rows)


def _place(each: Sent, parked: Parked) -> str:
    if parked.state is State.SCHEDULED and each.event.scheduled_at is not None:
        return f"due {show_time(int(each.event.scheduled_at.timestamp() * 1000))}"
    return f"position {parked.position}"


def _say_ended(sent: list[Sent]) -> None:
    columns = [
        *(Column("EXECUTION", folds=True), Column("STATE"), Column("EXIT", right=True, drops=True)),
        *(Column("RAN", right=True, drops=True), Column("REASON", gives=True, drops=True)),
        Column("SOURCE", gives=True, drops=True),
    ]
    rows: list[tuple[str, ...]] = []
    for each in sent:
        if not isinstance(each.outcome, Parked):
            continue
        result = each.result or Result()
        ran = "" if result.duration_seconds is None else show_duration(result.duration_seconds * 1000)
        code = "" if result.exit_code is None else str(result.exit_code)
        state = "unknown" if each.ended is None else each.ended.state.value
        reason = "" if each.ended is None or state == State.COMPLETED else each.ended.reason or ""
        rows.append((each.event.execution_id, state, code, ran, reason, each.source.shown_as))
    if rows:
        say_table(columns, rows)


def _as_json(each: Sent) -> dict[str, object]:
    head: dict[str, object] = {"source": each.source.shown_as, "execution_id": each.event.execution_id}
    if isinstance(each.outcome, Refusal):
        return head | {"accepted": False, "code": each.outcome.code, "message": each.outcome.message}
    due = each.event.scheduled_at
    head |= {
        "accepted": True,
        "state": each.outcome.state,
        "position": each.outcome.position if each.outcome.position >= 0 else None,
        "due_at": None if due is None else iso_of(int(due.timestamp() * 1000)),
    }
    if each.ended is None:
        return head
    return head | each.ended.as_json() | {"result": None if each.result is None else each.result.model_dump()}


def _exit_of(sent: list[Sent], *, waited: bool) -> Exit:
    if any(isinstance(each.outcome, Refusal) for each in sent):
        return Exit.REJECTED
    completed = all(each.ended is not None and each.ended.state is State.COMPLETED for each in sent)
    return Exit.OK if completed or not waited else Exit.FAILED
