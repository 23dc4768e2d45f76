"""The commands by name: the sentence that the help shows of each, and where its function is.

In the flow: `app` builds the command line of this table. The function is imported when the command is meant, or its own
help; so a start of the command imports nothing that another command needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Named:
    """A command, or a family of them."""

    module: str
    """The module in `bandmaster.cli` that has its function."""
    function: str
    sentence: str
    """The first line of the function's docstring."""
    family: Mapping[str, "Named"] = field(default_factory=dict[str, "Named"])
    """The commands below it; of a family, the function is what its name alone does."""
    needs_one: bool = False
    """Whether the family's name alone does nothing, and shows its help."""


_OF_DEAD: Final = {
    "retry": Named("dead", "retry_dead", "Run dead letters again: the same work under a new id."),
    "drop": Named("dead", "drop_dead", "Forget dead letters."),
}

_OF_LEDGER: Final = {
    "upgrade": Named("ledger", "upgrade_ledger", "Bring the tables to the schema of this release."),
    "rebuild": Named(
        "ledger",
        "rebuild_queue",
        "Rebuild a lost Redis from the history: all that waited, ran or is dead; limits, rates, pauses, settings.",
    ),
    "forget": Named(
        "forget",
        "forget_user",
        "Forget a user: delete payloads and results, and put a pseudonym into history and audit.",
    ),
}

_OF_SCHEDULE: Final = {
    "add": Named("schedule_adding", "add_schedule", "Run a command or an actor again and again."),
    "list": Named("schedules", "list_schedules", "List schedules, by name."),
    "show": Named("schedules", "show_schedule", "Show a schedule."),
    "next": Named("schedules", "show_next", "Show when a schedule is due next, in its zone."),
    "pause": Named(
        "schedule_controls", "pause_schedule", "Let nothing of a schedule start until it is resumed; what runs goes on."
    ),
    "resume": Named(
        "schedule_controls",
        "resume_schedule",
        "End the pause of a schedule; what was due meanwhile is not made up for.",
    ),
    "run-now": Named(
        "schedule_controls", "run_schedule", "Run a schedule once now, beside its own times, though it is paused."
    ),
    "remove": Named("schedule_controls", "remove_schedule", "Remove a schedule; what runs goes on."),
}

_OF_QUEUE: Final = {
    "create": Named("queues", "create_queue", "Make a queue of items."),
    "change": Named("queues", "change_queue", "Change a queue of items; what is not given stays."),
    "delete": Named("queues", "delete_queue", "Delete a queue of items."),
    "stats": Named("queues", "show_stats", "Count the items of a queue."),
    "test-notify": Named(
        "notification_tests",
        "send_queue_test",
        "Try the address of a queue: send it a signed notification of the type `test`, and tell what came of it.",
    ),
}

_OF_ITEM: Final = {
    "add": Named("queue_items", "add_item", "Add an item to a queue."),
    "upload": Named(
        "item_files",
        "upload_items",
        "Add the items of a file to a queue: an object a line (JSON Lines), "
        "or a CSV whose first line names the fields.",
    ),
    "export": Named("item_files", "export_items", "Write the items of a queue to a file, with payloads and results."),
    "show": Named("queue_items", "show_item", "Show an item, with its payload and its result."),
    "retry": Named(
        "queue_items",
        "retry_item",
        "Let an item that failed, was abandoned, is postponed or held be handed out again, as if it were new.",
    ),
    "postpone": Named("queue_items", "postpone_item", "Put an item off; one that is held is taken from its robot."),
    "delete": Named(
        "queue_items",
        "delete_item",
        "Delete an item: it is handed out no more, and stays in lists of DELETED ones until its time is over.",
    ),
}

_OF_TRIGGER: Final = {
    "list": Named(
        "trigger_listing", "list_triggers", "List triggers: whether each starts anything, and what it started last."
    ),
    "show": Named(
        "trigger_listing", "show_trigger", "Show a trigger: how it stands, and the executions that it started last."
    ),
    "create": Named("triggers", "create_trigger", "Make a trigger."),
    "change": Named(
        "triggers",
        "change_trigger",
        "Change a trigger; what is not given stays, and one that backs off is tried at once.",
    ),
    "delete": Named("triggers", "delete_trigger", "Delete a trigger; what it started goes on."),
    "test-notify": Named(
        "notification_tests",
        "send_trigger_test",
        "Try the address of a trigger: send it a signed notification of the type `test`, and tell what came of it.",
    ),
}

_OF_TOKEN: Final = {
    "create": Named("tokens", "create_token", "Make a token; its text is printed this once."),
    "revoke": Named("tokens", "revoke_token", "End a token; processes that serve the API refuse it within 5 s."),
    "login": Named("login_address", "login", "Print an address by which a browser signs in, once and within minutes."),
}

COMMANDS: Final[Mapping[str, Named]] = {
    "demo": Named(
        "demo", "demo", "Run real programs in five bands under a limit of 4, and check that every claim holds."
    ),
    "up": Named("up", "up", "Run server, worker, scheduler, ledger and API on this machine until Ctrl-C."),
    "submit": Named("submit", "submit", "Send scripts or a command, to be run in order of priority."),
    "status": Named("status", "status", "Show the queue, limits, rates, pauses, settings, and who is there."),
    "top": Named("top", "top", "Show live what waits, runs, blocks and works."),
    "gates": Named("occupancy", "gates", "List gates, the most blocked first."),
    "workers": Named(
        "occupancy", "workers", "List lanes with when a worker last asked for each, and worker processes."
    ),
    "actions": Named("actions", "actions", "List actions, the least used first, or forget some."),
    "waits": Named("waits", "waits", "Sum what executions waited for, the longest first."),
    "list": Named("listing", "list_executions", "List what runs, waits (in order), is scheduled, and has ended."),
    "show": Named("show", "show", "Show an execution: why it waits, what it waited for, its timeline, its result."),
    "logs": Named("logs", "logs", "Show what an execution printed."),
    "cancel": Named("cancel", "cancel", "End executions, whether they wait or run."),
    "priority": Named("cancel", "priority", "Move waiting executions to another priority."),
    "pause": Named("controls", "pause", "Let nothing start."),
    "resume": Named("controls", "resume", "End a pause."),
    "limit": Named("limits", "limit", "List the limits of gates, or change one."),
    "rate": Named("rates", "rate", "List the rates of gates, or change one."),
    "share": Named("shares", "share", "List the fair lanes, or change one."),
    "weight": Named("shares", "weight", "List the weights of gates in fair lanes, or change one."),
    "setting": Named("controls", "setting", "List the runtime settings, or change one everywhere at once."),
    "changes": Named("changes", "changes", "List who changed limits, rates, pauses and settings, the latest first."),
    "notifications": Named(
        "notifications", "list_notifications", "List notifications that their receivers have not taken."
    ),
    "dead": Named("dead", "list_dead", "List, retry or drop executions that used up their tries.", _OF_DEAD),
    "ledger": Named(
        "ledger",
        "show_ledger",
        "Show how the history in SQL stands, upgrade its tables, forget a user, or rebuild Redis from it.",
        _OF_LEDGER,
    ),
    "schedule": Named(
        "schedules",
        "schedules",
        "Run commands and actors again and again, by lines of cron.",
        _OF_SCHEDULE,
        needs_one=True,
    ),
    "queue": Named("queues", "list_queues", "List, make, change or delete queues of items.", _OF_QUEUE),
    "item": Named("queue_items", "list_items", "List items of queues, the latest first, or change some.", _OF_ITEM),
    "trigger": Named(
        "triggers",
        "show_triggers",
        "List, show, make, change or delete triggers, which start executions for items or at times.",
        _OF_TRIGGER,
    ),
    "token": Named("tokens", "list_tokens", "List, make or revoke the tokens of the admin API.", _OF_TOKEN),
}
