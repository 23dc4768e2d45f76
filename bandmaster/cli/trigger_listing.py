"""``bandmaster trigger list`` and ``show``: how triggers stand, and what they have started.

In the flow: reads the ledger's database, and needs no Redis.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bandmaster.cli.queues import opened_items
from bandmaster.cli.screen import Column, Json, say, say_facts, say_json, say_table
from bandmaster.configs.extras import import_extra
from bandmaster.items.names import check_trigger_name
from bandmaster.scheduler.model.times import iso_of

Named = Annotated[str, typer.Argument(metavar="TRIGGER", help="Its name.")]


def list_triggers(as_json: Json = False) -> None:
    """List triggers: whether each starts anything, and what it started last.

    \b
    Example:
      bandmaster trigger list --json
    """
    found = opened_items().triggers.all()
    if as_json:
        say_json({"triggers": [document_of(each) for each in found]})
    elif found:
        columns = [Column("TRIGGER", folds=True), Column("TYPE"), Column("LIVE", right=True), Column("NEXT")]
        columns += [Column("LAST"), Column("STATE", folds=True)]
        rows = [
            (
                each.name,
                each.type,
                f"{each.live_jobs} of {each.max_jobs}",
                iso_of(each.fires_next_ms) or "-",
                outcome_of(each.latest[0]) if each.latest else "-",
                state_of(each),
            )
            for each in found
        ]
        say_table(columns, rows)
    else:
        say("there are no triggers: `bandmaster trigger create NAME` makes one")


def show_trigger(name: Named, as_json: Json = False) -> None:
    """Show a trigger: how it stands, and the executions that it started last.

    \b
    Examples:
      bandmaster trigger show book
      bandmaster trigger show book --json
    """
    items = opened_items()
    found = items.triggers.find(check_trigger_name(name))
    if as_json:
        say_json({"trigger": document_of(found)})
        return
    queue = None if found.queue_id is None else items.queues.find(found.queue_id).name
    say_facts(
        [
            ("trigger", found.name),
            ("state", state_of(found)),
            ("for", None if queue is None else f"items of {queue}, up to {found.batch_size:,} an execution"),
            ("cron", None if found.cron is None else f"{found.cron} ({found.tz})"),
            ("fires next", iso_of(found.fires_next_ms) or "never"),
            ("live", f"{found.live_jobs:,} of {found.max_jobs:,} executions"),
            ("fired", f"{found.sequence:,} times"),
            ("fired last", iso_of(found.last_fired_ms)),
            ("action", found.action),
            ("user", found.user_id),
            ("priority", found.priority.name),
            ("timeout", f"{found.timeout_seconds:,} s"),
            ("notifies", found.notify_url),
        ]
    )
    if found.latest:
        say()
        _say_latest(found.latest)


def state_of(trigger: Any) -> str:
    """Return whether a trigger starts anything, and why not, in words."""
    states = import_extra("bandmaster.items.trigger", "api").TriggerState
    if trigger.state is states.BACKING_OFF:
        failed = f"failed {trigger.failures:,} times" if trigger.failures > 1 else "failed"
        return f"backing off until {iso_of(trigger.backoff_ms)}, as it {failed}: {trigger.last_error}"
    return str(trigger.state)


def outcome_of(started: Any) -> str:
    """Return what became of an execution that a trigger started."""
    if started.state is not None:
        return str(started.state)
    return "not sent" if started.sent_ms is None else "sent"


def document_of(trigger: Any) -> dict[str, object]:
    """Return what the API tells admins of a trigger."""
    answer = import_extra("bandmaster.admin.api.trigger_requests", "api").trigger_answer(trigger, tells_all=True)
    return answer.model_dump()


def _say_latest(latest: Sequence[Any]) -> None:
    columns = [Column("EXECUTION", folds=True), Column("FIRED"), Column("ENDED"), Column("OUTCOME")]
    rows = [
        (each.execution_id, iso_of(each.fired_ms) or "-", iso_of(each.ended_ms) or "-", outcome_of(each))
        for each in latest
    ]
    say_table(columns, rows)
