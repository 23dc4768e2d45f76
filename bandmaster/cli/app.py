"""Registers all commands by name, runs one, and turns an error into one line and an exit code.

In the flow: the entry point of the installed script `bandmaster` and of ``python -m bandmaster``. Nothing is read,
connected or configured before a command needs it, so ``--help`` works whatever the settings are.
"""

import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final

import typer

from bandmaster.cli.actions import actions
from bandmaster.cli.address import TYPED, Typed, command_at
from bandmaster.cli.bash import asked_by_bash, complete
from bandmaster.cli.cancel import cancel, priority
from bandmaster.cli.changes import changes
from bandmaster.cli.controls import pause, resume, setting
from bandmaster.cli.dead import drop_dead, list_dead, retry_dead
from bandmaster.cli.demo import demo
from bandmaster.cli.exits import EXPECTED, MEANINGS, Exit, exit_of, sentence_of
from bandmaster.cli.forget import forget_user
from bandmaster.cli.item_files import export_items, upload_items
from bandmaster.cli.ledger import rebuild_queue, show_ledger, upgrade_ledger
from bandmaster.cli.limits import limit
from bandmaster.cli.listing import list_executions
from bandmaster.cli.login_address import login
from bandmaster.cli.logs import logs
from bandmaster.cli.notification_tests import send_queue_test, send_trigger_test
from bandmaster.cli.notifications import list_notifications
from bandmaster.cli.occupancy import gates, workers
from bandmaster.cli.queue_items import add_item, delete_item, list_items, postpone_item, retry_item, show_item
from bandmaster.cli.queues import change_queue, create_queue, delete_queue, list_queues, show_stats
from bandmaster.cli.rates import rate
from bandmaster.cli.schedule_adding import add_schedule
from bandmaster.cli.schedule_controls import pause_schedule, remove_schedule, resume_schedule, run_schedule
from bandmaster.cli.schedules import list_schedules, show_next, show_schedule
from bandmaster.cli.screen import note
from bandmaster.cli.shares import share, weight
from bandmaster.cli.show import show
from bandmaster.cli.status import status
from bandmaster.cli.streams import StreamLost, flush_streams, open_streams
from bandmaster.cli.submit import submit, take_command
from bandmaster.cli.tokens import create_token, list_tokens, revoke_token
from bandmaster.cli.top import top
from bandmaster.cli.trigger_listing import list_triggers, show_trigger
from bandmaster.cli.triggers import change_trigger, create_trigger, delete_trigger, show_triggers
from bandmaster.cli.up import up
from bandmaster.cli.waits import waits

PROGRAM: Final = "bandmaster"
_CODES: Final = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())
_LIKE_AN_OPTION: Final = re.compile(r"no such option: -[\d.]", re.IGNORECASE)
_BELOW_ZERO: Final = re.compile(r"-\d*\.?\d+")
_HELP: Final = f"""Run scripts and commands in strict priority order, under limits that hold.

Start with `{PROGRAM} up`; then, in another terminal, `{PROGRAM} submit`.
Settings: BANDMASTER_SECTION__NAME or bandmaster.toml.

\b
Exit codes:
{_CODES}
"""


_SCHEDULES: Final = """Run commands and actors again and again, by lines of cron.

\b
Examples:
  bandmaster schedule add nightly --cron '0 3 * * *' -- make backup
  bandmaster schedule list
"""


def show_version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        sys.stdout.write(f"{PROGRAM} {version('bandmaster')}\n")
        raise typer.Exit


def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this admin API instead of Redis: https://…, before COMMAND.")
    ] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="For the API; others may see what you type.")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(metavar="FILE", help="The file that holds the token.")] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of several servers, work on this one only.")
    ] = None,
) -> None:
    """What all commands share: ``--version``, and where they find the queue."""
    TYPED.set(Typed(url, token, token_file, shard))


def build() -> typer.Typer:
    """Build the whole command line; every command gets its name here."""
    app = typer.Typer(
        name=PROGRAM,
        help=_HELP,
        callback=root,
        no_args_is_help=True,
        # Plain help: 80 columns are enough for it, and it reads the same in a pipe.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command("demo")(demo)
    app.command("up")(up)
    app.command("submit")(submit)
    app.command("status")(status)
    app.command("top")(top)
    app.command("gates")(gates)
    app.command("workers")(workers)
    app.command("actions")(actions)
    app.command("waits")(waits)
    app.command("list")(list_executions)
    app.command("show")(show)
    app.command("logs")(logs)
    app.command("cancel")(cancel)
    app.command("priority")(priority)
    app.command("pause")(pause)
    app.command("resume")(resume)
    app.command("limit")(limit)
    app.command("rate")(rate)
    app.command("share")(share)
    app.command("weight")(weight)
    app.command("setting")(setting)
    app.command("changes")(changes)
    dead = typer.Typer(callback=list_dead, invoke_without_command=True, rich_markup_mode=None)
    dead.command("retry")(retry_dead)
    dead.command("drop")(drop_dead)
    app.add_typer(dead, name="dead")
    ledger = typer.Typer(callback=show_ledger, invoke_without_command=True, rich_markup_mode=None)
    ledger.command("upgrade")(upgrade_ledger)
    ledger.command("rebuild")(rebuild_queue)
    ledger.command("forget")(forget_user)
    app.add_typer(ledger, name="ledger")
    schedule = typer.Typer(help=_SCHEDULES, no_args_is_help=True, rich_markup_mode=None)
    schedule.command("add")(add_schedule)
    schedule.command("list")(list_schedules)
    schedule.command("show")(show_schedule)
    schedule.command("next")(show_next)
    schedule.command("pause")(pause_schedule)
    schedule.command("resume")(resume_schedule)
    schedule.command("run-now")(run_schedule)
    schedule.command("remove")(remove_schedule)
    app.add_typer(schedule, name="schedule")
    queue = typer.Typer(callback=list_queues, invoke_without_command=True, rich_markup_mode=None)
    queue.command("create")(create_queue)
    queue.command("change")(change_queue)
    queue.command("delete")(delete_queue)
    queue.command("stats")(show_stats)
    queue.command("test-notify")(send_queue_test)
    app.add_typer(queue, name="queue")
    item = typer.Typer(callback=list_items, invoke_without_command=True, rich_markup_mode=None)
    item.command("add")(add_item)
    item.command("upload")(upload_items)
    item.command("export")(export_items)
    item.command("show")(show_item)
    item.command("retry")(retry_item)
    item.command("postpone")(postpone_item)
    item.command("delete")(delete_item)
    app.add_typer(item, name="item")
    trigger = typer.Typer(callback=show_triggers, invoke_without_command=True, rich_markup_mode=None)
    trigger.command("list")(list_triggers)
    trigger.command("show")(show_trigger)
    trigger.command("create")(create_trigger)
    trigger.command("change")(change_trigger)
    trigger.command("delete")(delete_trigger)
    trigger.command("test-notify")(send_trigger_test)
    app.add_typer(trigger, name="trigger")
    app.command("notifications")(list_notifications)
    token = typer.Typer(callback=list_tokens, invoke_without_command=True, rich_markup_mode=None)
    token.command("create")(create_token)
    token.command("revoke")(revoke_token)
    token.command("login")(login)
    app.add_typer(token, name="token")
    return app


def run(arguments: Sequence[str]) -> int:
    """Run one command line, and return the exit code."""
    ours, command = take_command(arguments)
    try:
        code = int(build()(args=ours, prog_name=PROGRAM, standalone_mode=False, obj=command) or Exit.OK)
        flush_streams()
    except typer.TyperException as error:
        # NoArgsIsHelpError shows the help as its message.
        text = error.format_message()
        if "\n" in text or not text:
            sys.stderr.write(f"{text}\n")
        elif below := _number_below_zero(ours, text):
            allowed = "0 or more, and none where there is no bound"
            note(f"{below} is not allowed: numbers are {allowed}. See `{PROGRAM} {_command_of(ours)}--help`.")
        else:
            end = "" if text.endswith((".", "?")) else "."
            note(f"{text[:1].lower()}{text[1:]}{end} See `{PROGRAM} {_command_of(ours)}--help`.")
        return Exit.USAGE
    except EXPECTED as error:
        if not isinstance(error, StreamLost) or not error.unread:
            note(" ".join(sentence_of(error).split()))
        return exit_of(error)
    except (typer.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    return code


def _number_below_zero(arguments: Sequence[str], problem: str) -> str | None:
    """The argument that was taken for an option because of its sign, as in `limit action:x -1`."""
    if not _LIKE_AN_OPTION.match(problem):
        return None
    return next((each for each in arguments if _BELOW_ZERO.fullmatch(each)), None)


def _command_of(arguments: Sequence[str]) -> str:
    groups = {"dead", "item", "ledger", "queue", "schedule", "token", "trigger"}
    known = {command.name for command in build().registered_commands} | groups
    name = "".join(arguments[(at := command_at(list(arguments))) : at + 1])
    return f"{name} " if name in known else ""


def main() -> int:
    """Run the command line of this process, and return its exit code."""
    open_streams()
    try:
        if asked_by_bash():
            return complete(lambda: run(sys.argv[1:]))
        return run(sys.argv[1:])
    except StreamLost as lost:
        # Not even the error message could be written.
        return lost.code
