"""A call of each script through its public method, and a queue in which each has something to do."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from model.clock import START_MS
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.attending import Attending
from bandmaster.scheduler.engine.erasing import Erasing
from bandmaster.scheduler.engine.journal_following import Follower, Position
from bandmaster.scheduler.engine.outbox import UntoldEnd
from bandmaster.scheduler.engine.parking import park_arguments
from bandmaster.scheduler.engine.restoring import Known, Restoring
from bandmaster.scheduler.engine.sessions import NewSession, Sessions
from bandmaster.scheduler.engine.settlements import Release, Retry
from bandmaster.scheduler.engine.transitions import Candidate, Next
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.errors import QueueFull
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.process.leadership import Leadership

LANE: Final = "executions"
LEADER: Final = "a-leader"
JOURNAL: Final = "a-name"
FOLLOWING: Final = Next((LANE,), 2, 30_000)
EXCHANGED: Final = (
    Release("here", 1, State.COMPLETED, result=b"{}"),
    Retry("past", 1, "infrastructure"),
    Release("unknown", 1, State.FAILED),
)


NIGHTLY: Final = Schedule.of({"name": "nightly", "cron": "0 3 * * *", "command": ["true"]})
SESSION: Final = NewSession("its", "a-token", "record", 1_000_000, 2_000_000, most=1)


def candidate(execution_id: str, due_ms: int | None = None) -> Candidate:
    """One that may be parked."""
    return Candidate(
        execution_id, LANE, 2, "pod", "ann", ("gpu",), 60_000, due_ms, event=f"payload of {execution_id}".encode()
    )


def prepare(queue: TurnedQueue) -> None:
    """Waiting: one, two. Due: later. Granted: here; and past, whose lease is over. Dead: dead. Paused: a lane."""
    for execution_id in ("past", "here", "dead"):
        queue.transitions.park(candidate(execution_id))
        queue.transitions.admit((LANE,), 1, lease_ms=1_000 if execution_id == "past" else 3_600_000)
    queue.transitions.release("dead", 1, State.FAILED, dead=True)
    for execution_id in ("one", "two"):
        queue.transitions.park(candidate(execution_id))
    queue.transitions.park(candidate("later", START_MS + 5_000))
    queue.controls.pause("lane:mail")
    queue.clock.turn(10_000)


def _end_unseen(queue: TurnedQueue) -> None:
    queue.transitions.park(Candidate("unseen", LANE, 2, "pod", message=b"message"))
    queue.cancel("unseen")


def _sign_in(queue: TurnedQueue) -> None:
    Sessions(queue.scripts).begin(SESSION, by="bob")
    Sessions(queue.scripts).keep_code("a-code", "record", seconds=3_600)


def _journal_much(queue: TurnedQueue) -> None:
    queue.scripts.client.set(queue.scripts.keys.named("incarnation"), JOURNAL)
    for limit in range(1, 250):
        queue.controls.set_limit("tenant", limit)


def _tell(queue: TurnedQueue) -> bool:
    ended_at_ms = int(queue.views.meta("unseen").get("ended_at", 0))
    return queue.outbox.tell(UntoldEnd("unseen", ended_at_ms, State.CANCELLED, "cancelled", b"message"))


def _wait_for_slots(queue: TurnedQueue) -> None:
    queue.controls.set_limit("action:slow", 1)
    Attending(queue.scripts).attend("owner", ())
    for number in (1, 2):
        queue.transitions.park(
            Candidate(f"slot:owner:{number}", "slot:slow", 2, "slow", event=b"{}", max_age_ms=60_000)
        )


ARRANGEMENTS: Final[dict[str, Callable[[TurnedQueue], Any]]] = {
    "sweep": lambda queue: queue.controls.change_setting("stale_timeout_seconds", 5),
    "resign": lambda queue: Leadership(queue.scripts, leader_id=LEADER).elect(),
    "drop_action": lambda queue: queue.cancel(
        queue.transitions.park(replace(candidate("x"), action="idle")).execution_id
    ),
    "collect": _end_unseen,
    "sign_in": _sign_in,
    "sign_out": _sign_in,
    "tell": _end_unseen,
    "trim": _journal_much,
    "attend": _wait_for_slots,
    "plan": lambda queue: queue.schedules.put(NIGHTLY),
}
"""What some acts need besides."""


def _restore(queue: TurnedQueue) -> list[str]:
    lost = Known(
        "lost", State.PENDING, LANE, 2, "pod", "ann", ("gpu",), 1, "", START_MS, score=float(START_MS), event=b"x"
    )
    known = (
        lost,
        replace(lost, execution_id="runs", state=State.RUNNING),
        replace(lost, execution_id="is-due", state=State.SCHEDULED, due_ms=START_MS + 99_000),
        replace(lost, execution_id="had-failed", state=State.FAILED, dead=True, ended_ms=START_MS + 1),
        replace(lost, execution_id="one", state=State.COMPLETED, accepted_ms=START_MS + 10**6, ended_ms=START_MS + 1),
    )
    return [outcome for _, outcome in Restoring(queue.scripts).restore(known)]


def _plan(queue: TurnedQueue) -> object:
    return queue.schedules.run_now(NIGHTLY.name, park_arguments(candidate("three")))


def _resign(queue: TurnedQueue) -> None:
    leadership = Leadership(queue.scripts, leader_id=LEADER)
    leadership.epoch = 1
    leadership.resign()


ACTS: Final[dict[str, Callable[[TurnedQueue], Any]]] = {
    "park": lambda queue: queue.transitions.park_many([candidate("three"), candidate("four", START_MS + 99_000)]),
    "exchange": lambda queue: queue.transitions.prepare_exchange(EXCHANGED, FOLLOWING, asks=True).run(),
    "renew": lambda queue: queue.transitions.renew([("here", 1, ""), ("past", 1, ""), ("one", 1, "")]),
    "hand_over": lambda queue: queue.transitions.hand_over("here", 1, "a-pod", "uid"),
    "cancel": lambda queue: queue.transitions.cancel("here"),
    "remove": lambda queue: queue.transitions.remove("here"),
    "reprioritise": lambda queue: queue.transitions.reprioritise("two", 0),
    "bury": lambda queue: queue.transitions.bury(candidate("refused"), QueueFull.code),
    "forget": lambda queue: queue.transitions.forget("ghost\ndefault\naction:pod"),
    "collect": lambda queue: queue.outbox.collect(LANE, 10, taken_ms=60_000),
    "tell": _tell,
    "drop": lambda queue: queue.drop("dead"),
    "limit": lambda queue: queue.controls.set_limit("gpu", Auto(1, 3)),
    "rate": lambda queue: queue.controls.rates.set("gpu", Rate.read("2/s")),
    "declare_rates": lambda queue: queue.controls.rates.declare({LANE: {"tenant:*": Rate.read("1/s")}}),
    "declare": lambda queue: queue.controls.declare_limits({LANE: {"tenant:*": 2, "gpu": 1}}),
    "set": lambda queue: queue.controls.change_setting("max_concurrent_executions", 3),
    "pause": lambda queue: queue.controls.pause("gpu"),
    "resume": lambda queue: queue.controls.resume("lane:mail"),
    "reap": lambda queue: queue.maintenance.reap(),
    "promote": lambda queue: queue.maintenance.promote(),
    "sweep": lambda queue: queue.maintenance.sweep(),
    "wake": lambda queue: queue.maintenance.wake(),
    "elect": lambda queue: Leadership(queue.scripts, leader_id=LEADER).elect(),
    "resign": _resign,
    "trim": lambda queue: Follower(queue.scripts).trim(Position(JOURNAL, f"{10**14}-0", 0), 10**14, 0),
    "restore": _restore,
    "restore_action": lambda queue: Restoring(queue.scripts).restore_totals("pod", 100, 50),
    "rebuilt": lambda queue: Restoring(queue.scripts).end("bob"),
    "status": lambda queue: queue.views.status(),
    "explain": lambda queue: queue.explain("one"),
    "drop_action": lambda queue: queue.controls.drop_action("idle"),
    "schedule": lambda queue: queue.schedules.put(NIGHTLY),
    "plan": _plan,
    "share": lambda queue: queue.shares.share(LANE, "user"),
    "weigh": lambda queue: queue.shares.weigh("user:ann", 10),
    "sign_in": lambda queue: Sessions(queue.scripts).begin(
        replace(SESSION, digest="new", code="a-code", before="its"), by="bob"
    ),
    "sign_out": lambda queue: Sessions(queue.scripts).end("its", by="bob"),
    "erase": lambda queue: Erasing(queue.scripts).erase("ann", "forgotten-1", ["dead", "here"], by="bob"),
    "attend": lambda queue: Attending(queue.scripts).attend("owner", ["slot:slow"], received=["slot:owner:1"]),
    "action_statistics": lambda queue: queue.action_statistics("pod"),
}
"""Script → the call of it."""
