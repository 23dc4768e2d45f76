"""``bandmaster status``: the queue, its limits and pauses, who runs it, and where executions run, in one look.

In the flow: reads only. A backend that does not answer is shown and is no failure of the command: the queue's own
figures are worth having all the more then.
"""

from dataclasses import dataclass
from typing import Annotated

import typer

from bandmaster.cli.opening import Opened, opened
from bandmaster.cli.screen import say, say_facts, say_json
from bandmaster.cli.times import iso_of, show_duration, show_time
from bandmaster.configs.redaction import redacted_url
from bandmaster.k8s.errors import PodError
from bandmaster.scheduler.connection import redis_url


@dataclass(frozen=True, slots=True)
class Backend:
    """Where executions run, and whether it answers."""

    description: str
    problem: str | None = None


def backend_of(bandmaster: Opened) -> Backend:
    """The configured backend, asked."""
    name = bandmaster.settings.k8s.backend
    try:
        pods = bandmaster.pods()
        name = pods.describe()
        pods.ping()
    except PodError as error:
        return Backend(name, str(error))
    return Backend(name)


def limits_of(bandmaster: Opened) -> list[dict[str, object]]:
    """Every limited gate, its limit and how many hold it."""
    limits = bandmaster.queue.controls.limits()
    held = bandmaster.queue.views.held(list(limits))
    return [{"gate": gate, "limit": limits[gate], "held": count} for gate, count in zip(limits, held, strict=True)]


def status(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Show the queue, limits, pauses, settings, and who is there.

    \b
    Examples:
      bandmaster status
      bandmaster status --json | jq .pending_by_priority
    """
    with opened() as bandmaster:
        document = _document(bandmaster)
        if as_json:
            say_json(document)
        else:
            _say(bandmaster)


def _document(bandmaster: Opened) -> dict[str, object]:
    views = bandmaster.queue.views
    now, leader, backend = views.status(), views.leader(), backend_of(bandmaster)
    return {
        "queue_depth": now.queue_depth,
        "active_count": now.active_count,
        "scheduled_count": now.scheduled_count,
        "dead_count": now.dead_count,
        "pending_by_priority": now.pending_by_priority,
        "limits": limits_of(bandmaster),
        "paused": {name: iso_of(since) for name, since in bandmaster.queue.controls.paused().items()},
        "lane": bandmaster.queue.lane,
        "worker_asked_ms_ago": views.asked_ms_ago(bandmaster.queue.lane),
        "leader": None if leader is None else {"epoch": leader.epoch, "leader_id": leader.leader_id},
        "server": {"url": redacted_url(redis_url(bandmaster.settings))} | bandmaster.server(),
        "backend": {"description": backend.description, "answers": backend.problem is None, "problem": backend.problem},
        "settings": {name: int(value) for name, value in now.settings.items()},
    }


def _say(bandmaster: Opened) -> None:
    views = bandmaster.queue.views
    now, leader, backend = views.status(), views.leader(), backend_of(bandmaster)
    clock, server = views.server_time_ms(), bandmaster.server()
    slots = int(now.settings["max_concurrent_executions"])
    bands = "  ".join(f"{name.lower()} {count}" for name, count in now.pending_by_priority.items())
    limits = [f"{each['gate']}  {each['held']} of {each['limit']} held" for each in limits_of(bandmaster)]
    paused = [
        f"{'everything' if name == '*' else name}  since {show_time(since)} ({show_duration(clock - since)})"
        for name, since in bandmaster.queue.controls.paused().items()
    ]
    say_facts(
        [
            ("waiting", f"{now.queue_depth}  ({bands})"),
            ("running", f"{now.active_count} of {slots}"),
            ("scheduled", now.scheduled_count),
            ("dead", now.dead_count),
            ("paused", paused or "nothing"),
            ("limits", limits or "none but max_concurrent_executions"),
            ("workers", bandmaster.missing_worker() or f"ask for lane {bandmaster.queue.lane}"),
            ("scheduler", "none leads" if leader is None else f"{leader.leader_id} leads, epoch {leader.epoch}"),
            ("runs on", f"{backend.description}: {backend.problem or 'answers'}"),
            ("server", f"{redacted_url(redis_url(bandmaster.settings))}  {server['kind']} {server['version']}"),
        ]
    )
    say()
    say_facts((name, int(value)) for name, value in now.settings.items())
