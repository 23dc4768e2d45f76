"""``bandmaster status``: shows the queue, its limits and pauses, workers, scheduler, server and backend at a glance.

In the flow: reads only. If the backend does not answer, the command shows that and does not fail: the queue's own
figures are all the more useful then.
"""

from dataclasses import asdict, dataclass
from typing import Annotated, Final

import typer

from bandmaster.cli.controls import shown_value, whole
from bandmaster.cli.occupancy import lane_json, limit_json, named
from bandmaster.cli.opening import Opened, opened
from bandmaster.cli.screen import say, say_facts, say_json
from bandmaster.cli.times import show_duration, show_time
from bandmaster.configs.errors import SettingsError
from bandmaster.configs.redaction import redacted_url
from bandmaster.k8s.errors import PodError
from bandmaster.scheduler.engine.controls import BOUNDS
from bandmaster.scheduler.model.limits import EVERYTHING
from bandmaster.scheduler.model.times import iso_of
from bandmaster.scheduler.overview import GateLoad, LaneLoad
from bandmaster.scheduler.server.connection import redis_url
from bandmaster.scheduler.server.eviction import ADVICE
from bandmaster.scheduler.views import QueueStatus

LISTED: Final = 10
"""The most lanes, limits and pauses that are shown, of perhaps thousands; `--json` has them all."""


READ_A_CALL: Final = 100
"""How many lanes one call reads; their figures are of the same moment."""


@dataclass(frozen=True, slots=True)
class Backend:
    """The backend that runs executions, and its problem if it does not answer."""

    description: str
    problem: str | None = None


def backend_of(bandmaster: Opened) -> Backend:
    """Ask the configured backend whether it answers."""
    name = bandmaster.settings.k8s.backend
    try:
        pods = bandmaster.pods()
        name = pods.describe()
        pods.ping()
    except (PodError, SettingsError) as error:
        return Backend(name, str(error))
    return Backend(name)


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
    lanes = _lanes(bandmaster)
    now, leader, backend = _sum_of(lanes), views.leader(), backend_of(bandmaster)
    return {
        "queue_depth": now.queue_depth,
        "active_count": now.active_count,
        "scheduled_count": now.scheduled_count,
        "dead_count": now.dead_count,
        "pending_by_priority": now.pending_by_priority,
        "limits": [limit_json(each) for each in bandmaster.queue.overview.gates() if each.limit is not None],
        "paused": {name: iso_of(since) for name, since in bandmaster.queue.controls.paused().items()},
        "lane": bandmaster.queue.lane,
        "worker_asked_ms_ago": views.asked_ms_ago(bandmaster.queue.lane),
        "lanes": [lane_json(load) | _figures_json(figures) for load, figures in lanes],
        "leader": None if leader is None else {"epoch": leader.epoch, "leader_id": leader.leader_id},
        "server": {"url": redacted_url(redis_url(bandmaster.settings))} | asdict(bandmaster.server()),
        "backend": {"description": backend.description, "answers": backend.problem is None, "problem": backend.problem},
        "settings": {name: whole(value) for name, value in views.status().settings.items()},
    }


def _lanes(bandmaster: Opened) -> list[tuple[LaneLoad, QueueStatus]]:
    loads = bandmaster.queue.overview.lanes()
    if bandmaster.queue.lane not in {each.lane for each in loads}:
        loads.append(LaneLoad(bandmaster.queue.lane, None, 0))
    figures: list[QueueStatus] = []
    for start in range(0, len(loads), READ_A_CALL):
        figures += bandmaster.queue.views.status_of([each.lane for each in loads[start : start + READ_A_CALL]])
    return list(zip(loads, figures, strict=True))


def _sum_of(lanes: list[tuple[LaneLoad, QueueStatus]]) -> QueueStatus:
    figures = [each for _, each in lanes]
    names = figures[0].pending_by_priority
    return QueueStatus(
        lane=EVERYTHING,
        queue_depth=sum(each.queue_depth for each in figures),
        active_count=sum(each.active_count for each in figures),
        scheduled_count=sum(each.scheduled_count for each in figures),
        dead_count=figures[0].dead_count,
        pending_by_priority={name: sum(each.pending_by_priority[name] for each in figures) for name in names},
        settings={name: value for name, value in figures[0].settings.items() if name not in BOUNDS},
    )


def _figures_json(each: QueueStatus) -> dict[str, object]:
    return {
        "queue_depth": each.queue_depth,
        "active_count": each.active_count,
        "scheduled_count": each.scheduled_count,
        "pending_by_priority": each.pending_by_priority,
        "bounds": {name: whole(value) for name, value in each.settings.items() if name in BOUNDS},
    }


def _sentence(each: QueueStatus) -> str:
    most = each.settings["max_concurrent_executions"]
    running = f"{each.active_count} running" if most is None else f"{each.active_count} of {most:.0f} running"
    return f"{each.lane}  {each.queue_depth} waiting, {running}, {each.scheduled_count} scheduled"


def _say(bandmaster: Opened) -> None:
    views = bandmaster.queue.views
    lanes = _lanes(bandmaster)
    now, leader, backend = _sum_of(lanes), views.leader(), backend_of(bandmaster)
    clock, server = views.server_time_ms(), bandmaster.server()
    policy = server.eviction_policy
    slots = now.settings["max_concurrent"]
    by_lane = [_sentence(figures) for load, figures in lanes if load.size or load.lane == bandmaster.queue.lane]
    if len(by_lane) > LISTED:
        by_lane = [*by_lane[:LISTED], f"and {len(by_lane) - LISTED} more: `bandmaster status --json`"]
    bands = "  ".join(f"{name.lower()} {count}" for name, count in now.pending_by_priority.items())
    gates = [each for each in bandmaster.queue.overview.gates() if each.limit is not None]
    limits = [_limit(each) for each in gates[:LISTED]]
    if len(gates) > LISTED:
        limits.append(f"and {len(gates) - LISTED} more, less in demand: `bandmaster gates`")
    stamps = list(bandmaster.queue.controls.paused().items())
    paused = [
        f"{named(name)}  since {show_time(since)} ({show_duration(clock - since)})" for name, since in stamps[:LISTED]
    ]
    if len(stamps) > LISTED:
        paused.append(f"and {len(stamps) - LISTED} more: `bandmaster status --json`")
    say_facts(
        [
            ("waiting", f"{now.queue_depth}  ({bands})"),
            ("running", now.active_count if slots is None else f"{now.active_count} of {slots:.0f}"),
            ("scheduled", now.scheduled_count),
            ("lanes", by_lane),
            ("dead", now.dead_count),
            ("paused", paused or "nothing"),
            ("limits", limits or "none but the lanes' own"),
            ("workers", _workers(bandmaster)),
            ("scheduler", "none leads" if leader is None else f"{leader.leader_id} leads, epoch {leader.epoch}"),
            ("runs on", f"{backend.description}: {backend.problem or 'answers'}"),
            ("server", f"{redacted_url(redis_url(bandmaster.settings))}  {server.kind} {server.version}"),
            ("warning", policy and f"the server may evict keys ({policy}): {ADVICE}"),
        ]
    )
    say()
    say_facts((name, shown_value(value)) for name, value in views.status().settings.items())


def _limit(each: GateLoad) -> str:
    held = f"{each.limit} of each" if each.held is None else f"{each.held} of {each.limit} held"
    return f"{each.gate}  {held}, {each.waiting} waiting"


def _workers(bandmaster: Opened) -> list[str]:
    """The lanes that workers ask for, and a warning for each lane that has executions but no worker."""
    lanes = bandmaster.queue.overview.lanes()
    live = [each.lane for each in lanes if each.live]
    alone = [each.lane for each in lanes if not each.live and each.size]
    missing = [bandmaster.missing_worker(lane) for lane in (alone if live or alone else [bandmaster.queue.lane])]
    asked = [f"ask for lane{'s' if len(live) > 1 else ''} {', '.join(live)}"] if live else []
    return [*asked, *(sentence for sentence in missing if sentence)]
