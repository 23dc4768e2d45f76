"""``bandmaster trigger list`` and ``show``: how triggers stand, and what they have started.

In the flow: reads beside the ledger's database or through the API, and needs no Redis.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bandmaster.cli.desk.item_opening import at_items
from bandmaster.cli.screen import Column, Json, say, say_facts, say_json, say_table
from bandmaster.items.names import check_trigger_name

if TYPE_CHECKING:
    from bandmaster.admin.answers.triggers import TriggerAnswer, TriggerExecution

Named = Annotated[str, typer.Argument(metavar="TRIGGER", help="Its name.")]


def list_triggers(as_json: Json = False) -> None:
    """List triggers: whether each starts anything, and what it started last.

    \b
    Example:
      bandmaster trigger list --json
    """
    with at_items() as desk:
        found = desk.triggers.all()
    if as_json:
        say_json({"triggers": [each.model_dump() for each in found]})
    elif found:
        columns = [Column("TRIGGER", folds=True), Column("TYPE"), Column("LIVE", right=True), Column("NEXT")]
        columns += [Column("LAST"), Column("STATE", folds=True)]
        rows = [
            (
                each.name,
                each.type,
                f"{each.live_jobs} of {each.max_jobs}",
                each.next_fire_at or "-",
                outcome_of(each.executions[0]) if each.executions else "-",
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
    with at_items() as desk:
        found = desk.triggers.one(check_trigger_name(name))
        queue = None if found.queue_id is None else desk.queues.one(found.queue_id).name
    if as_json:
        say_json({"trigger": found.model_dump()})
        return
    say_facts(
        [
            ("trigger", found.name),
            ("state", state_of(found)),
            ("for", None if queue is None else f"items of {queue}, up to {found.batch_size:,} an execution"),
            ("cron", None if found.cron is None else f"{found.cron} ({found.tz})"),
            ("fires next", found.next_fire_at or "never"),
            ("live", f"{found.live_jobs:,} of {found.max_jobs:,} executions"),
            ("fired", f"{found.fired:,} times"),
            ("fired last", found.last_fired_at),
            ("action", found.action),
            ("user", found.user_id),
            ("priority", found.priority),
            ("timeout", f"{found.timeout_seconds:,} s"),
            ("notifies", found.notify_url),
        ]
    )
    if found.executions:
        say()
        _say_latest(found.executions)


def state_of(trigger: "TriggerAnswer") -> str:
    """Return whether a trigger starts anything, and why not, in words."""
    if trigger.backoff_until is not None:
        failed = f"failed {trigger.failures:,} times" if trigger.failures > 1 else "failed"
        return f"backing off until {trigger.backoff_until}, as it {failed}: {trigger.last_error}"
    if trigger.type == "QUEUE" and trigger.enabled and trigger.live_jobs >= trigger.max_jobs:
        return f"{trigger.state}, but waits until one of its executions ends"
    return trigger.state


def outcome_of(started: "TriggerExecution") -> str:
    """Return what became of an execution that a trigger started."""
    if started.state is not None:
        return started.state
    return "not sent" if started.sent_at is None else "sent"


def _say_latest(latest: "Sequence[TriggerExecution]") -> None:
    columns = [Column("EXECUTION", folds=True), Column("FIRED"), Column("ENDED"), Column("OUTCOME")]
    rows = [(each.execution_id, each.fired_at, each.ended_at or "-", outcome_of(each)) for each in latest]
    say_table(columns, rows)
