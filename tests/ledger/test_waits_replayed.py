"""What the ledger tells of every wait of a random history equals a naive replay of the journal, entry by entry."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from ledger_reading import catch_up

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.looking import execution_of
from bandmaster.ledger.waits.attributing import Cause
from bandmaster.ledger.waits.in_force import in_force
from bandmaster.ledger.waits.rate_times import STEP_MS
from bandmaster.ledger.waits.telling import waits_told
from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.limits import kind_of
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.model.states import HOLDING, State
from bandmaster.scheduler.queue import ExecutionQueueService

Attributed = Counter[tuple[Cause, str]]
STEPS = 200
LANES = ("executions", "mail")
GATES: tuple[list[str], ...] = ([], ["tenant:acme"], ["tenant:acme", "region:north"], ["tenant:b"])
LIMITED = ("action:pod", "action:zip", "user:ada", "tenant:acme", "tenant:*", "region:north")
PAUSED = ("*", "lane:mail", "action:zip", "user:ada", "tenant:acme")
DECLARED = {"executions": {"region:*": 1, "user:ada": 3}, "mail": {"user:ada": 1}}
"""What actors declare, from the beginning."""
RATED = ("action:pod", "user:ben", "tenant:acme", "tenant:*", "region:north")
RATES = tuple(Rate.read(text) for text in ("1/4ms", "2/9ms burst 2", "1/15ms", "3/70ms burst 3"))
DECLARED_RATES = {lane: {"region:*": Rate.read(text)} for lane, text in zip(LANES, ("1/3ms", "1/6ms"), strict=True)}
SLOWEST = "1/6ms"


@dataclass
class Naive:
    """A queue, as its journal tells of it from entry to entry."""

    at_ms: int = 0
    limits: dict[str, int] = field(default_factory=dict[str, int])
    settings: dict[str, int] = field(default_factory=dict[str, int])
    rates: dict[str, Rate] = field(default_factory=dict[str, Rate])
    rate_times: dict[str, float] = field(default_factory=dict[str, float])
    paused: set[str] = field(default_factory=set[str])
    ways: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The lane of each execution, then its gates."""
    holders: set[str] = field(default_factory=set[str])
    waiting: dict[str, int] = field(default_factory=dict[str, int])
    """When each that waits is due."""
    waits: defaultdict[str, list[Attributed]] = field(default_factory=lambda: defaultdict(list))

    def read(self, entries: Iterable[JournalEntry]) -> None:
        for entry in entries:
            self.go_on(entry.at_ms)
            self._enter(entry)

    def go_on(self, until_ms: int) -> None:
        """Let time go by, a millisecond after the other."""
        for now_ms in range(self.at_ms, until_ms) if self.at_ms else ():
            for one, due_ms in self.waiting.items():
                self.waits[one][-1][self._cause(one, due_ms, now_ms)] += 1
        self.at_ms = until_ms

    def _cause(self, one: str, due_ms: int, now_ms: int) -> tuple[Cause, str]:
        lane, *gates = self.ways[one]
        if now_ms < due_ms:
            return Cause.DELAY, ""
        for name in ("*", f"lane:{lane}", *gates):
            if name in self.paused:
                return Cause.PAUSE, name
        for gate in gates:
            if self._is_closed(gate, now_ms):
                return Cause.RATE, gate
        for gate in gates:
            limit = self._limit(gate)
            if limit is not None and sum(gate in self.ways[each][1:] for each in self.holders) >= limit:
                return Cause.GATE, gate
        of_lane = self.settings.get("max_concurrent_executions", 10) if lane == "executions" else None
        of_lane = self.settings.get(f"lane:{lane}:max_concurrent_executions", of_lane)
        if of_lane is not None and sum(self.ways[each][0] == lane for each in self.holders) >= of_lane:
            return Cause.LANE, lane
        if len(self.holders) >= self.settings.get("max_concurrent", 1_000):
            return Cause.EVERYTHING, ""
        return Cause.THREAD, ""

    def _limit(self, gate: str) -> int | None:
        for name in (gate, kind_of(gate) or ""):
            declared = [limits[name] for limits in DECLARED.values() if name in limits]
            if name in self.limits or declared:
                return self.limits.get(name, min(declared, default=0))
        return None

    def _rate(self, gate: str) -> Rate | None:
        for name in (gate, kind_of(gate) or ""):
            if name in self.rates or name == "region:*":
                return self.rates.get(name, Rate.read(SLOWEST))
        return None

    def _is_closed(self, gate: str, now_ms: int) -> bool:
        rate, time_ms = self._rate(gate), self.rate_times.get(gate, 0.0)
        return rate is not None and time_ms - (rate.burst - 1) * rate.interval_ms > now_ms + STEP_MS

    def _look(self, gate: str) -> None:
        """Whoever looks at a gate brings its time near, if its rate was lower before."""
        if (rate := self._rate(gate)) is not None:
            latest_ms = self.at_ms + rate.burst * rate.interval_ms
            self.rate_times[gate] = max(float(self.at_ms), min(self.rate_times.get(gate, 0.0), latest_ms))

    def _pass(self, gate: str) -> None:
        assert not self._is_closed(gate, self.at_ms)
        if (rate := self._rate(gate)) is not None:
            self._look(gate)
            self.rate_times[gate] += rate.interval_ms

    def _change_rate(self, name: str, stored: str) -> None:
        self.rates.pop(name, None)
        if stored:
            self.rates[name] = Rate.from_stored(stored)
        for gate in {gate for each in self.waiting for gate in self.ways[each][1:]}:
            self._look(gate)

    def _enter(self, entry: JournalEntry) -> None:
        one, fields = entry.execution_id, entry.fields
        if entry.verb in ("limit", "set"):
            values = self.limits if entry.verb == "limit" else self.settings
            values.pop(fields["name"], None)
            if fields["to"]:
                values[fields["name"]] = int(fields["to"])
        elif entry.verb == "rate":
            self._change_rate(fields["name"], fields["to"])
        elif entry.verb in ("pause", "resume"):
            (self.paused.add if entry.verb == "pause" else self.paused.discard)(fields["name"])
        elif entry.verb != "reprioritise":
            if entry.verb == "park":
                of_user = [f"user:{fields['user']}"] if fields["user"] else []
                gates = fields.get("gates", "").split()
                self.ways[one] = [fields["lane"], f"action:{fields['action']}", *of_user, *gates]
            state = fields["state"]
            self.holders.discard(one)
            if state in HOLDING:
                self.holders.add(one)
            if entry.verb == "admit":
                for gate in self.ways[one][1:]:
                    self._pass(gate)
            if state not in (State.PENDING, State.SCHEDULED):
                self.waiting.pop(one, None)
            elif one not in self.waiting:
                self.waits[one].append(Attributed())
                for gate in self.ways[one][1:]:
                    self._look(gate)
                self.waiting[one] = entry.at_ms + int(fields.get("delay_ms") or 0)


class Game:
    """Whoever sends, works and steers, with the chances of one seed, while time goes by."""

    def __init__(self, queue: ExecutionQueueService, seed: int) -> None:
        self._queue, self._random = queue, Random(seed)
        self._held: dict[str, int] = {}
        self._sent = 0

    def begin(self) -> None:
        """Bring about each cause that the chances may pass over, where the machine is slow or quick."""
        controls = self._queue.controls
        controls.rates.set("zone:rated", "1/500ms")
        controls.set_limit("zone:full", 0)
        controls.pause("zone:paused")
        for gate in ("zone:rated", "zone:rated", "zone:full", "zone:paused"):
            self._send(gates=[gate])
        self._admit(limit=5)
        self._let_go_by(3)

    def act(self) -> None:
        deeds = {self._send: 9, self._admit: 9, self._end: 6, self._retry: 2, self._limit: 3, self._pause: 3}
        deeds |= {self._set: 2, self._cancel: 1, self._move: 1, self._hand_back: 1, self._rate: 1}
        self._random.choices(list(deeds), list(deeds.values()))[0]()
        self._let_go_by(self._random.choice((0, 0, 1, 2, 4)))

    def _let_go_by(self, ms: int) -> None:
        until_ms = self._queue.views.server_time_ms() + ms
        while self._queue.views.server_time_ms() < until_ms:
            pass

    def _any(self) -> str:
        return f"e-{self._random.randrange(self._sent + 1)}"

    def _send(self, gates: list[str] | None = None) -> None:
        choose = self._random.choice
        event = ExecutionRequestedEvent.from_any(
            {
                "execution_id": f"e-{self._sent}",
                "action": choose(("pod", "zip")),
                "metadata": {"user_id": choose((None, "ada", "ben"))},
                "priority": choose(("CRITICAL", "NORMAL", "LOW")),
                "gates": choose(GATES) if gates is None else gates,
                "command": ["true"],
            }
        )
        self._queue.on(choose(LANES)).enqueue(event)
        self._sent += 1

    def _admit(self, limit: int | None = None) -> None:
        for grant in self._queue.transitions.admit(LANES, limit or self._random.choice((1, 2, 5))).grants:
            self._held[grant.execution_id] = grant.attempt

    def _taken(self) -> tuple[str, int] | None:
        if not self._held:
            return None
        one = self._random.choice(sorted(self._held))
        return one, self._held.pop(one)

    def _end(self) -> None:
        if held := self._taken():
            self._queue.release(held[0], attempt=held[1])

    def _retry(self) -> None:
        if held := self._taken():
            self._queue.retry(*held, delay_ms=self._random.choice((0, 3, 12, 60_000)))

    def _hand_back(self) -> None:
        if held := self._taken():
            self._queue.transitions.settle(Retry(*held, "hand_back"))

    def _limit(self) -> None:
        choose = self._random.choice
        self._queue.controls.set_limit(choose(LIMITED), choose((None, 0, 1, 2, 3)))

    def _rate(self) -> None:
        # The ledger does not know in which order grants and changes of one millisecond were made.
        self._let_go_by(1)
        self._queue.controls.rates.set(self._random.choice(RATED), self._random.choice((None, *RATES)))
        self._let_go_by(1)

    def _pause(self) -> None:
        name = self._random.choice(PAUSED)
        if self._random.random() < 0.4:
            self._queue.controls.pause(name)
        else:
            self._queue.controls.resume(name)

    def _set(self) -> None:
        choose = self._random.choice
        name, lane = choose((("max_concurrent", None), *(("max_concurrent_executions", lane) for lane in LANES)))
        self._queue.controls.change_setting(name, choose((None, 2, 4, 6)), lane=lane)

    def _cancel(self) -> None:
        self._queue.cancel(self._any())

    def _move(self) -> None:
        self._queue.update_priority(self._any(), self._random.choice(("HIGH", "BACKGROUND")))


@pytest.mark.parametrize("seed", [0])
def test_every_wait_is_told_as_a_naive_replay_of_the_journal_tells_it(
    seed: int, queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    queue.controls.declare_limits(DECLARED)
    queue.controls.rates.declare(DECLARED_RATES)
    game = Game(queue, seed)
    game.begin()
    for _ in range(STEPS):
        game.act()
    catch_up(consumer)

    naive, seen, waits, estimated = Naive(), Counter[Cause](), 0, 0
    naive.read(queue.journal.entries())
    now_ms = queue.views.server_time_ms()
    naive.go_on(now_ms)
    for one, expected in naive.waits.items():
        with database.reading() as connection:
            row = execution_of(connection, one)
            assert row is not None
            now = in_force(queue, row.lane)
            told = waits_told(connection, row, replace(now, now_ms=now_ms))
        assert told.complete
        for each, parts in zip(told.waits, expected, strict=True):
            assert sum(part.ms for part in each.parts) == each.wait.span.length_ms
            if not each.sampled:
                assert {(part.cause, part.name): part.ms for part in each.parts} == parts, one
            estimated += each.sampled
        seen.update(part.cause for each in told.waits for part in each.parts)
        waits += len(told.waits)
    assert set(seen) >= {Cause.RATE, Cause.GATE, Cause.PAUSE, Cause.THREAD}
    # Unless a rate rose before the wait, and it is not known whether anybody looked at its gate meanwhile.
    assert estimated < waits / 10
    assert waits > 30
