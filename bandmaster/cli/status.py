"""``bandmaster status``: shows the queue, its limits, rates and pauses, workers, scheduler, server and backend.

In the flow: reads only. Through the API, nothing is told of the server and the backend.
"""

from dataclasses import asdict
from typing import Final

from bandmaster.cli.controls import shown_value, whole
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.told import Ledger, Standing
from bandmaster.cli.notes import note
from bandmaster.cli.occupancy import lane_json, limit_json, named, opening_of, rate_json, rate_of
from bandmaster.cli.opening import warning_of_missing
from bandmaster.cli.screen import Json, say, say_facts, say_json, say_table
from bandmaster.cli.sharded_figures import COLUMNS, ShardStanding, row_of, standings_of
from bandmaster.cli.times import show_duration, show_time
from bandmaster.scheduler.engine.controls import BOUNDS
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.limits import EVERYTHING
from bandmaster.scheduler.model.times import iso_of
from bandmaster.scheduler.overview import LaneLoad
from bandmaster.scheduler.server.eviction import ADVICE
from bandmaster.scheduler.views import QueueStatus

LISTED: Final = 10
"""The most verdicts, lanes, limits, rates and pauses that are shown, of perhaps thousands; `--json` has them all."""


def status(as_json: Json = False) -> None:
    """Show the queue, limits, rates, pauses, settings, and who is there.

    First what somebody should look at, the worst first: docs/runbook.md says
    of each what to do.

    \b
    Examples:
      bandmaster status
      bandmaster status --json | jq .pending_by_priority
    """
    with at_desk() as desk:
        if desk.shards:
            _say_shards(standings_of(desk.shards), as_json=as_json)
            return
        standing = desk.figures.standing()
    if as_json:
        say_json(document_of(standing))
    else:
        _say(standing)


def _say_shards(found: list[ShardStanding], *, as_json: bool) -> None:
    if as_json:
        say_json(sharded_document(found))
    else:
        say_table(COLUMNS, [row_of(each) for each in found])
        note("`bandmaster --shard NAME status` shows one of them in full")
    if all(each.standing is None for each in found):
        # Each was told with its reason; a script that looks at the exit code has to see it, too.
        raise QueueUnavailable("no shard answered")


def sharded_document(found: list[ShardStanding]) -> dict[str, object]:
    """The JSON document of several shards: the sums of those that answered, and each of them."""
    sums = [sum_of(each.standing) for each in found if each.standing is not None]
    return {
        "queue_depth": sum(each.queue_depth for each in sums),
        "active_count": sum(each.active_count for each in sums),
        "scheduled_count": sum(each.scheduled_count for each in sums),
        "dead_count": sum(each.dead_count for each in sums),
        "shards": {
            each.name: {"away": each.away} if each.standing is None else {"away": None} | document_of(each.standing)
            for each in found
        },
    }


def document_of(standing: Standing) -> dict[str, object]:
    """The JSON document of what is seen at a glance."""
    now, leader, backend = sum_of(standing), standing.leader, standing.backend
    document: dict[str, object] = {
        "verdicts": [asdict(each) for each in standing.verdicts],
        "queue_depth": now.queue_depth,
        "active_count": now.active_count,
        "scheduled_count": now.scheduled_count,
        "dead_count": now.dead_count,
        "pending_by_priority": now.pending_by_priority,
        "limits": [limit_json(each) for each in standing.limits],
        "rates": [{"gate": each.gate, "waiting": each.waiting} | rate_json(each) for each in standing.rates],
        "weights": {each.gate: each.weight for each in standing.weighted},
        "paused": {name: iso_of(since) for name, since in standing.paused.items()},
        "lane": DEFAULT_LANE,
        "worker_asked_ms_ago": standing.worker_asked_ms_ago,
        "lanes": [lane_json(load) | _figures_json(figures) for load, figures in standing.lanes],
        "leader": None if leader is None else {"epoch": leader.epoch, "leader_id": leader.leader_id},
        "settings": {name: whole(value) for name, value in standing.settings.items()},
    }
    if standing.api is not None:
        document["api"] = standing.api
    if standing.ledger is not None:
        document["ledger"] = {"read": standing.ledger.is_read, "written": standing.ledger.is_written}
    if standing.server is not None:
        document["server"] = asdict(standing.server)
    if backend is not None:
        document["backend"] = asdict(backend) | {"answers": backend.problem is None}
    return document


def sum_of(standing: Standing) -> QueueStatus:
    """The figures of all lanes together."""
    figures = [each for _, each in standing.lanes]
    names = figures[0].pending_by_priority
    return QueueStatus(
        lane=EVERYTHING,
        queue_depth=sum(each.queue_depth for each in figures),
        active_count=sum(each.active_count for each in figures),
        scheduled_count=sum(each.scheduled_count for each in figures),
        dead_count=standing.dead_count,
        pending_by_priority={name: sum(each.pending_by_priority[name] for each in figures) for name in names},
        settings={name: value for name, value in standing.settings.items() if name not in BOUNDS},
    )


def _figures_json(each: QueueStatus) -> dict[str, object]:
    return {
        "queue_depth": each.queue_depth,
        "active_count": each.active_count,
        "scheduled_count": each.scheduled_count,
        "pending_by_priority": each.pending_by_priority,
        "bounds": {name: whole(value) for name, value in each.settings.items() if name in BOUNDS},
    }


def _sentence(load: LaneLoad, each: QueueStatus) -> str:
    most = each.settings["max_concurrent_executions"]
    running = f"{each.active_count} running" if most is None else f"{each.active_count} of {most:.0f} running"
    fair = "" if load.fair_by is None else f", fair by {load.fair_by}"
    return f"{each.lane}  {each.queue_depth} waiting, {running}, {each.scheduled_count} scheduled{fair}"


def _say(standing: Standing) -> None:
    now, leader, backend, server = sum_of(standing), standing.leader, standing.backend, standing.server
    slots = now.settings["max_concurrent"]
    shown = [(load, each) for load, each in standing.lanes if load.size or load.fair_by or load.lane == DEFAULT_LANE]
    by_lane = [_sentence(load, figures) for load, figures in shown]
    if len(by_lane) > LISTED:
        by_lane = [*by_lane[:LISTED], f"and {len(by_lane) - LISTED} more: `bandmaster status --json`"]
    bands = "  ".join(f"{name.lower()} {count}" for name, count in now.pending_by_priority.items())
    limits = _foremost([_limit(each) for each in standing.limits])
    rates = _foremost([_rate(each) for each in standing.rates])
    weights = _foremost([f"{each.gate}  {each.weight}" for each in standing.weighted])
    stamps = list(standing.paused.items())
    paused = [
        f"{named(name)}  since {show_time(since)} ({show_duration(standing.now_ms - since)})"
        for name, since in stamps[:LISTED]
    ]
    if len(stamps) > LISTED:
        paused.append(f"and {len(stamps) - LISTED} more: `bandmaster status --json`")
    policy = server and server.eviction_policy
    verdicts = [f"{each.severity}: {each.sentence}" for each in standing.verdicts[:LISTED]]
    if len(standing.verdicts) > LISTED:
        verdicts.append(f"and {len(standing.verdicts) - LISTED} more: `bandmaster status --json`")
    say_facts(
        [
            ("verdicts", verdicts or "nothing to look at"),
            ("waiting", f"{now.queue_depth}  ({bands})"),
            ("running", now.active_count if slots is None else f"{now.active_count} of {slots:.0f}"),
            ("scheduled", now.scheduled_count),
            ("lanes", by_lane),
            ("dead", now.dead_count),
            ("paused", paused or "nothing"),
            ("limits", limits or "none but the lanes' own"),
            ("rates", rates or "none"),
            ("weights", weights or None),
            ("workers", _workers(standing)),
            ("scheduler", "none leads" if leader is None else f"{leader.leader_id} leads, epoch {leader.epoch}"),
            ("history", standing.ledger and _history(standing.ledger)),
            ("API", standing.api),
            ("runs on", backend and f"{backend.description}: {backend.problem or 'answers'}"),
            ("server", server and f"{server.url}  {server.kind} {server.version}"),
            ("warning", policy and f"the server may evict keys ({policy}): {ADVICE}"),
        ]
    )
    say()
    say_facts((name, shown_value(value)) for name, value in standing.settings.items())


def _history(ledger: Ledger) -> str:
    if not ledger.is_read:
        return "cannot be read: `bandmaster ledger` says why"
    return (
        "is written" if ledger.is_written else "nobody writes it: start `python -m bandmaster.ledger`, or see its log"
    )


def _foremost(sentences: list[str]) -> list[str]:
    more = len(sentences) - LISTED
    return [*sentences[:LISTED], *([f"and {more} more, less in demand: `bandmaster gates`"] if more > 0 else [])]


def _rate(each: GateLoad) -> str:
    of_each = " for each" if each.held is None else ""
    return ", ".join(
        filter(None, [f"{each.gate}  {rate_of(each)}{of_each}", opening_of(each), f"{each.waiting} waiting"])
    )


def _limit(each: GateLoad) -> str:
    held = f"{each.limit} of each" if each.held is None else f"{each.held} of {each.limit} held"
    within = "" if each.auto is None else f", {each.auto}"
    return f"{each.gate}  {held}, {each.waiting} waiting{within}"


def _workers(standing: Standing) -> list[str]:
    """The lanes that workers ask for, and a warning for each lane that has executions but no worker."""
    asked = {load.lane: load.asked_ms_ago for load, _ in standing.lanes}
    live = [load.lane for load, _ in standing.lanes if load.live]
    alone = [load.lane for load, _ in standing.lanes if not load.live and load.size]
    missing = [warning_of_missing(lane, asked[lane]) for lane in (alone if live or alone else [DEFAULT_LANE])]
    said = [f"ask for lane{'s' if len(live) > 1 else ''} {', '.join(live)}"] if live else []
    return [*said, *(sentence for sentence in missing if sentence)]
