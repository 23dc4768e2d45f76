"""What must not be, planted on purpose in what was recorded: a checker that does not find it proves nothing.

Most kinds change one thing that did happen. Where chance may not have brought it about, a little more of the journal is
made up behind it, when everything has ended.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from bandmaster.scheduler.engine.journal import JournalEntry, Verb
from bandmaster.scheduler.events.schedule import Schedule, occurrence_id
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from chaos.found import Kind
from chaos.judging import message_of
from chaos.plan import FAIR, Planned
from chaos.recorded import ACCEPTED, REFUSED, Recorded, Run, Sent, Timed

NAME: Final = "planted"
LANE: Final = "alpha"
RARE: Final = "86400000 1 1/86400000"
"""A rate of one a day, as the server keeps it."""
LIVE: Final = (Kind.LEFT_OVER, Kind.NO_THREAD)
"""Not in what was recorded: a key in Redis, and one more thread that is waited for."""
_BAND_SCORE: Final = 10.0**15
_MINUTE_MS: Final = 60_000


def plant(kinds: Iterable[Kind], recorded: Recorded) -> None:
    """Change what was recorded; something of it has to have run to its end."""
    for kind in kinds:
        if kind not in LIVE:
            _WAYS[kind](recorded)


def plant_in_redis(kinds: Iterable[Kind], queue: ExecutionQueueService) -> None:
    """A holder of a gate that no execution is."""
    if Kind.LEFT_OVER in kinds:
        queue.scripts.client.sadd(f"{queue.scripts.keys.prefix}:gate:{NAME}:held", NAME)


def _index(recorded: Recorded, verb: Verb, *, state: State | None = None) -> int:
    """Of the first entry like that."""
    return next(
        number
        for number, entry in enumerate(recorded.entries)
        if entry.verb == verb and (state is None or entry.fields["state"] == state)
    )


def _sent_first(recorded: Recorded) -> JournalEntry:
    """The first that somebody sent: an occurrence of a schedule may be taken back, and accepted again."""
    parked = (entry for entry in recorded.entries if entry.verb == Verb.PARK)
    return next(entry for entry in parked if message_of(entry.execution_id) in recorded.sent)


def _change(recorded: Recorded, index: int, **fields: str) -> None:
    entry = recorded.entries[index]
    recorded.entries[index] = replace(entry, fields={**entry.fields, **fields})


def _operator(verb: Verb, name: str, to: str) -> JournalEntry:
    return JournalEntry("", verb, "", 0, {"name": name, "from": "", "to": to, "by": NAME})


def _step(
    verb: Verb, name: str, lane: str, state: State, *, gate: str = "", score: float = 0, attempt: int = 0
) -> JournalEntry:
    fields = {
        "lane": lane,
        "band": "2",
        "action": NAME,
        "user": "",
        "state": state,
        "attempt": str(attempt),
        "gates": gate,
        "score": str(_BAND_SCORE * 2 + score),
    }
    return JournalEntry("", verb, name, 0, fields)


def _admitted_before(recorded: Recorded, change: Callable[[JournalEntry], JournalEntry]) -> None:
    index = _index(recorded, Verb.ADMIT)
    recorded.entries.insert(index, change(recorded.entries[index]))


def _accepted_twice(recorded: Recorded) -> None:
    recorded.entries.append(_sent_first(recorded))


def _ended_again(recorded: Recorded) -> None:
    recorded.entries.append(recorded.entries[_index(recorded, Verb.RELEASE)])


def _state(recorded: Recorded) -> None:
    index = _index(recorded, Verb.PARK, state=State.PENDING)
    entry = recorded.entries[index]
    recorded.entries.insert(index + 1, replace(entry, verb=Verb.HAND_OVER, fields={**entry.fields, "state": State.POD}))


def _attempt(recorded: Recorded) -> None:
    _change(recorded, _index(recorded, Verb.ADMIT), attempt="7")


def _limit(recorded: Recorded) -> None:
    _admitted_before(recorded, lambda entry: _operator(Verb.LIMIT, f"action:{entry.fields['action']}", "0"))


def _rate(recorded: Recorded) -> None:
    recorded.entries.append(_operator(Verb.RATE, f"action:{NAME}", RARE))
    for number in range(2):
        _one_by_itself(recorded, f"{NAME}-rated-{number}")


def _pause(recorded: Recorded) -> None:
    _admitted_before(recorded, lambda entry: _operator(Verb.PAUSE, f"lane:{entry.fields['lane']}", "1"))


def _one_by_itself(recorded: Recorded, name: str) -> None:
    recorded.entries += [
        _step(Verb.PARK, name, LANE, State.PENDING),
        _step(Verb.ADMIT, name, LANE, State.RUNNING, attempt=1),
        _step(Verb.RELEASE, name, LANE, State.COMPLETED, attempt=1),
    ]


def _order(recorded: Recorded) -> None:
    names = [f"{NAME}-{number}" for number in range(2)]
    recorded.entries += [_operator(Verb.RATE, f"action:{NAME}", "")]
    recorded.entries += [
        _step(Verb.PARK, name, LANE, State.PENDING, score=score) for score, name in enumerate(names, 1)
    ]
    for name in reversed(names):
        recorded.entries.append(_step(Verb.ADMIT, name, LANE, State.RUNNING, attempt=1))
        recorded.entries.append(_step(Verb.RELEASE, name, LANE, State.COMPLETED, attempt=1))


def _turns(recorded: Recorded) -> None:
    names = [(f"{NAME}-{client}-{number}", f"client:{client}") for client in ("x", "y") for number in range(3)]
    recorded.entries += [
        _step(Verb.PARK, name, FAIR, State.PENDING, gate=client, score=score)
        for score, (name, client) in enumerate(names, 1)
    ]
    for name, _ in names:
        recorded.entries.append(_step(Verb.ADMIT, name, FAIR, State.RUNNING, attempt=1))
        recorded.entries.append(_step(Verb.RELEASE, name, FAIR, State.COMPLETED, attempt=1))


def _not_ended(recorded: Recorded) -> None:
    recorded.entries.append(_step(Verb.PARK, f"{NAME}-waits", LANE, State.PENDING))


def _sent(outcome: str) -> Sent:
    return Sent(Planned(LANE, 0.0), 1.0, 2.0, outcome)


def _lost(recorded: Recorded) -> None:
    recorded.sent[f"{NAME}-lost"] = _sent(ACCEPTED)


def _kept(recorded: Recorded) -> None:
    recorded.sent[message_of(_sent_first(recorded).execution_id)].outcome = REFUSED


def _never_sent(recorded: Recorded) -> None:
    _one_by_itself(recorded, f"{NAME}-never-sent")


def _scheduled(recorded: Recorded, name: str, timed: Timed) -> None:
    """A schedule that fires each minute, active since the epoch."""
    schedule = Schedule.of({"name": name, "cron": "* * * * *", "actor": NAME})
    recorded.entries.append(_operator(Verb.SCHEDULE, name, f"own active allow {schedule.to_json()}"))
    recorded.schedules[name] = timed


def _unasked(recorded: Recorded) -> None:
    _one_by_itself(recorded, occurrence_id(NAME, _MINUTE_MS))


def _passed_over(recorded: Recorded) -> None:
    _scheduled(recorded, f"{NAME}-passed", Timed(cursor_ms=3 * _MINUTE_MS, skipped=2, now_ms=0))


def _not_planned(recorded: Recorded) -> None:
    _scheduled(recorded, f"{NAME}-behind", Timed(cursor_ms=0, skipped=0, now_ms=_MINUTE_MS))


def completed(recorded: Recorded) -> list[int]:
    """The ends of what was sent and completed; the first of each."""
    ends: dict[str, int] = {}
    for number, entry in enumerate(recorded.entries):
        if entry.fields.get("state") == State.COMPLETED and message_of(entry.execution_id) in recorded.sent:
            ends.setdefault(entry.execution_id, number)
    return list(ends.values())


def _no_grant(recorded: Recorded) -> None:
    recorded.runs.append(Run(recorded.runs[0].execution_id, 99))


def _ran_twice(recorded: Recorded) -> None:
    ended = recorded.entries[completed(recorded)[-2]]
    run = Run(ended.execution_id, int(ended.fields["attempt"]), "ended")
    # As often as a server that was restored may have given one grant, and once more.
    recorded.runs += [run] * (2 + len(recorded.forgotten))


def _did_not_run(recorded: Recorded) -> None:
    name = recorded.entries[completed(recorded)[-2]].execution_id
    for run in recorded.runs:
        run.over = "" if run.execution_id == name else run.over


def _wrong_end(recorded: Recorded) -> None:
    _change(recorded, completed(recorded)[-1], state=State.TIMEOUT)


_WAYS: Final = {
    Kind.ACCEPTED_TWICE: _accepted_twice,
    Kind.ENDED_AGAIN: _ended_again,
    Kind.STATE: _state,
    Kind.ATTEMPT: _attempt,
    Kind.LIMIT: _limit,
    Kind.RATE: _rate,
    Kind.PAUSE: _pause,
    Kind.ORDER: _order,
    Kind.TURNS: _turns,
    Kind.NOT_ENDED: _not_ended,
    Kind.LOST: _lost,
    Kind.KEPT: _kept,
    Kind.NEVER_SENT: _never_sent,
    Kind.NO_GRANT: _no_grant,
    Kind.RAN_TWICE: _ran_twice,
    Kind.DID_NOT_RUN: _did_not_run,
    Kind.WRONG_END: _wrong_end,
    Kind.UNASKED: _unasked,
    Kind.PASSED_OVER: _passed_over,
    Kind.NOT_PLANNED: _not_planned,
}
