"""``bandmaster up``: runs everything on this machine, says when it is ready, and ends it cleanly at Ctrl-C.

In the flow: runs the built-in processes (the embedded server, a worker, the scheduler, the ledger and the API), or
those of a Procfile that was named. A Procfile that merely is in the folder is ignored: it belongs to some application.
Data stays under ``var/``. Running executions survive, since they have their own supervisors, and the next ``up`` finds
them again.
"""

import signal
import sys
import time
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final

import redis
import typer

from bandmaster.cli.desk.desk_ledger import DeskLedger
from bandmaster.cli.desk.queue_figures import QueueFigures
from bandmaster.cli.exits import CommandFailed, Exit, WrongUsage
from bandmaster.cli.folder import make_folder, refuse_a_second
from bandmaster.cli.login_address import Mark, address_on, is_served, mark_of
from bandmaster.cli.notes import note
from bandmaster.cli.opening import Opened, opened_on, settings_of_command
from bandmaster.cli.screen import say, say_json
from bandmaster.cli.streams import StreamLost
from bandmaster.configs.extras import import_extra
from bandmaster.configs.redaction import redacted_url
from bandmaster.configs.settings import Settings, load_settings
from bandmaster.k8s.backend import connect as connect_pods
from bandmaster.k8s.errors import PodError
from bandmaster.scheduler.model.errors import BandmasterError, QueueUnavailable
from bandmaster.scheduler.server.connection import connect, redis_url

if TYPE_CHECKING:
    from bandmaster.cli.processes import Stack

WORKERS: Final = 2
THREADS: Final = 4
API: Final = "api"
LEDGER: Final = "ledger"
READY_SECONDS: Final = 30.0
"""After this time it says what is missing, and goes on waiting."""

_POLL_SECONDS: Final = 0.1


def up(
    workers: Annotated[int | None, typer.Option(min=1, help=f"Worker processes; default {WORKERS}.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help=f"Threads of each; default {THREADS}.")] = None,
    procfile: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run the processes of this Procfile instead.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON lines: starting, ready, ended. Logs go to standard error.")
    ] = False,
) -> None:
    """Run server, worker, scheduler, ledger and API on this machine until Ctrl-C.

    Data is kept under ./var (BANDMASTER_PATHS__VAR_DIR). With
    BANDMASTER_REDIS__URL no server is started. Programs that run when it is
    ended go on; the next `up` finds them.

    \b
    Examples:
      bandmaster up
      bandmaster up --workers 1 --threads 8
      bandmaster up --procfile Procfile.dev
    """
    if procfile is not None and (workers is not None or threads is not None):
        raise WrongUsage("--procfile says what runs: --workers and --threads are for the processes that are built in")
    if others := load_settings().shards.servers:
        raise WrongUsage(
            f"up runs what one server needs, and there are shards ({', '.join(others)}): start each server and process "
            "by itself (docs/shards.md), or unset the shards"
        )
    processes: Any = import_extra("bandmaster.cli.processes", "local")
    settings = settings_of_command()
    commands: dict[str, str] = (
        processes.from_procfile(procfile) if procfile else processes.built_in(workers or WORKERS, threads or THREADS)
    )
    url = redacted_url(redis_url(settings))
    refuse_a_second(settings)
    make_folder(settings)
    if as_json:
        say_json({"event": "starting", "processes": list(commands), "server": url}, line=True)
    else:
        say(f"starting {', '.join(commands)}; server {url}")

    # What a Procfile runs under these names is not known.
    told = _Told(mark_of(settings.paths.absolute), frozenset(() if procfile else commands))

    def on_start() -> None:
        # What is no terminal may be a log, in which no code may stand.
        shows_address = API in commands and not as_json and sys.stdout.isatty()
        Thread(target=_watch_start, args=(stack, settings, as_json, shows_address, told), daemon=True).start()

    stack: Stack = processes.Stack(commands, on_start=on_start, awaits_server=procfile is None)
    stack.loop()  # pyright: ignore[reportUnknownMemberType]
    code = _exit_of(stack)
    if as_json:
        say_json({"event": "ended", "exit_code": code, "died": stack.died}, line=True)
    if left := _still_running(settings):
        note(f"executions that still run: {left}; they go on by themselves, and the next `bandmaster up` finds them")
    if stack.died:
        ended = ", ".join(f"{name} (exit code {status})" for name, status in stack.died.items())
        raise CommandFailed(f"ended by itself: {ended}; so everything was ended")
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Told:
    """What says whether ledger and API answer."""

    before: Mark
    """Which address of an API was there before anything was started."""
    commands: Collection[str]
    """The built-in processes that were started."""


def _watch_start(stack: "Stack", settings: Settings, as_json: bool, shows_address: bool, told: _Told) -> None:
    try:
        _say_ready(stack, settings, as_json, told)
        if shows_address and is_served(settings.paths.absolute, told.before, READY_SECONDS):
            _say_address(settings)
    except StreamLost as lost:
        if lost.unread:
            stack.ask_to_end()


def _say_ready(stack: "Stack", settings: Settings, as_json: bool, told: _Told) -> None:
    """Wait until the server answers, a worker asks for work and a scheduler leads, and say so.

    Ledger and API are waited for, too, but for `READY_SECONDS` at most: work goes on without them.
    """
    try:
        with connect(settings, name="bandmaster-up") as client, closing(DeskLedger(settings)) as ledger:
            stack.note_server()
            bandmaster = opened_on(settings, client)
            began, said = time.monotonic(), False
            while missing := _missing(bandmaster) or _unanswered(bandmaster, ledger, told):
                if not said and time.monotonic() - began > READY_SECONDS:
                    said = True
                    note(f"still waiting: {missing}")
                if said and _missing(bandmaster) is None:
                    break
                time.sleep(_POLL_SECONDS)
    except (QueueUnavailable, redis.RedisError) as error:
        # The processes have the same problem and report it, or they are already being ended.
        note(f"not ready: {error}")
        return
    if as_json:
        say_json({"event": "ready", "server": redacted_url(redis_url(settings))}, line=True)
        return
    say("ready: in another terminal, in this folder, try `bandmaster submit -- echo hello` and `bandmaster status`")
    say("Ctrl-C ends it")
    sys.stdout.flush()


def _say_address(settings: Settings) -> None:
    """Show by which address a browser signs in."""
    try:
        with connect(settings, name="bandmaster-up") as client:
            address = address_on(settings, opened_on(settings, client).queue)
    except (CommandFailed, BandmasterError, redis.RedisError, OSError) as error:
        # Everything else works without: `bandmaster token login` says what is wrong.
        note(f"no address to sign in by: {error}")
        return
    say(f"in a browser, once and within minutes: {address}")
    sys.stdout.flush()


def _missing(bandmaster: Opened) -> str | None:
    missing = bandmaster.missing_worker()
    if missing is None and bandmaster.queue.views.leader() is None:
        missing = "no scheduler leads"
    return missing


def _unanswered(bandmaster: Opened, ledger: DeskLedger, told: _Told) -> str | None:
    if LEDGER in told.commands:
        standing = QueueFigures(bandmaster, ledger).ledger()
        if standing is None or not standing.is_written:
            return "nobody writes the ledger"
    if API in told.commands and mark_of(bandmaster.settings.paths.absolute) == told.before:
        return "the API does not answer"
    return None


def _still_running(settings: Settings) -> int:
    try:
        pods = connect_pods(
            settings.k8s.backend, root=settings.paths.absolute, local=settings.local, cluster=settings.k8s
        )
        return sum(not pod.phase.ended for pod in pods.list())
    except PodError:
        return 0


def _exit_of(stack: "Stack") -> Exit:
    if stack.died:
        return Exit.FAILED
    return Exit.INTERRUPTED if stack.asked_by is signal.SIGINT else Exit.OK
