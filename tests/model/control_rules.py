"""Rules of the state machine: time, an operator's controls, the periodic repairs and their leader."""

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.model.states import State
from model.base import ACTIONS, BY, GATES, KINDS, LANES, PAUSABLE, ModelBase, deliveries, lanes
from model.waiting_oracle import DEFAULT_BOUNDS, DEFAULT_LANE

MAX_DEAD_MESSAGES: Final = 10_000
KEPT_SECONDS: Final = 604_800
ROUND_MS: Final = 5_000
PAGE: Final = 200
LEADERS: Final = ("one", "two")
LEADER_TTL_MS: Final = 3_600_000

RATES: Final = tuple(Rate.read(text) for text in ("1/s", "3/s burst 2", "2/700ms", "1/m"))


class ControlRules(ModelBase):
    """What is turned, and what repairs."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.epochs: dict[str, int | None] = dict.fromkeys(LEADERS)

    @rule(by_ms=st.one_of(st.integers(1, 3), st.integers(4, 6_000)))
    def time_passes(self, by_ms: int) -> None:
        self.turn_clock(by_ms)

    @rule(rounds=st.integers(1, 14))
    def time_passes_with_regular_rounds(self, rounds: int) -> None:
        for _ in range(rounds):
            self.turn_clock(ROUND_MS)
            assert self.engine.tell("reap", "", PAGE) == self.oracle.reap(PAGE)
        self.one_step = False

    @rule(by_ms=st.sampled_from((20_000, 600_000, 3_700_000, -1, -1_500, -600_000)))
    def the_clock_leaps(self, by_ms: int) -> None:
        self.turn_clock(by_ms)

    @rule()
    def what_waits_grows_old(self) -> None:
        self.turn_clock(self.oracle.bounds[DEFAULT_LANE]["stale_timeout_seconds"] * 1000 + 1)

    @rule(gate=st.sampled_from(GATES), limit=st.sampled_from((None, 0, 1, 1, 2)))
    def limit(self, gate: str, limit: int | None) -> None:
        held = sum(e.holds and gate in e.gates for e in self.oracle.executions.values())
        assert self.engine.tell("limit", gate, "" if limit is None else limit, BY) == held
        if limit is None:
            self.oracle.limits.pop(gate, None)
        else:
            self.oracle.limits[gate] = limit

    @rule(kind=st.sampled_from(KINDS), limit=st.sampled_from((None, 0, 1, 1, 2)))
    def limit_a_kind(self, kind: str, limit: int | None) -> None:
        assert self.engine.tell("limit", kind, "" if limit is None else limit, BY) == 0
        if limit is None:
            self.oracle.limits.pop(kind, None)
        else:
            self.oracle.limits[kind] = limit

    @rule(
        replaced=st.sampled_from((*((lane,) for lane in LANES), LANES)),
        declared=st.dictionaries(
            st.tuples(st.sampled_from(LANES), st.sampled_from((*KINDS, "tenant:1", "gpu"))),
            st.integers(0, 2),
            max_size=3,
        ),
    )
    def declare(self, replaced: tuple[str, ...], declared: dict[tuple[str, str], int]) -> None:
        own = {(lane, name): limit for (lane, name), limit in declared.items() if lane in replaced}
        arguments = [part for (lane, name), limit in own.items() for part in (lane, name, limit)]
        known = {lane: self.oracle.declared.get(lane, {}) for lane in replaced}
        new = {lane: {name: limit for (of, name), limit in own.items() if of == lane} for lane in replaced}
        self.oracle.declared |= new
        self.declarations += known != new or self.declarations == 0
        assert self.engine.tell("declare", " ".join(replaced), *arguments) == self.declarations

    @rule(name=st.sampled_from((*GATES, *KINDS)), rate=st.sampled_from((None, *RATES)))
    def rate(self, name: str, rate: Rate | None) -> None:
        assert self.engine.tell("rate", name, "" if rate is None else rate.stored(), BY) == 1
        if rate is None:
            self.oracle.rates.pop(name, None)
        else:
            self.oracle.rates[name] = rate

    @rule(
        replaced=st.sampled_from((*((lane,) for lane in LANES), LANES)),
        declared=st.dictionaries(
            st.tuples(st.sampled_from(LANES), st.sampled_from((*KINDS, "tenant:1", "gpu"))),
            st.sampled_from(RATES),
            max_size=3,
        ),
    )
    def declare_rates(self, replaced: tuple[str, ...], declared: dict[tuple[str, str], Rate]) -> None:
        own = {(lane, name): rate for (lane, name), rate in declared.items() if lane in replaced}
        arguments = [part for (lane, name), rate in own.items() for part in (lane, name, rate.stored())]
        self.engine.tell("declare_rates", " ".join(replaced), *arguments)
        self.oracle.declared_rates |= {
            lane: {name: rate for (of, name), rate in own.items() if of == lane} for lane in replaced
        }

    @rule(name=st.sampled_from(PAUSABLE))
    def pause(self, name: str) -> None:
        assert self.engine.tell("pause", name, BY) == int(name not in self.oracle.paused_since)
        self.oracle.paused_since.setdefault(name, self.oracle.now)

    @rule(name=st.sampled_from(PAUSABLE))
    def resume(self, name: str) -> None:
        since = self.oracle.paused_since.pop(name, None)
        assert self.engine.tell("resume", name, BY) == int(since is not None)
        if since is not None and since < self.oracle.now:
            self.oracle.pauses.append((name, since, self.oracle.now))

    @rule(paused=st.sampled_from(PAUSABLE))
    def resume_what_is_paused(self, paused: str) -> None:
        self.resume(next(iter(self.oracle.paused_since), paused))

    @rule(
        lane=lanes,
        change=st.sampled_from(
            (
                *(("max_concurrent_executions", value) for value in (0, 1, 2, 4, None)),
                *(("max_queue_size", value) for value in (3, 6, None)),
                *(("max_executions_per_user", value) for value in (1, 2, None)),
                *(("stale_timeout_seconds", value) for value in (60, 3_600, None)),
                *(("ageing_seconds", value) for value in (1, 5, 5, 30, None)),
            )
        ),
    )
    def change_bound(self, lane: str, change: tuple[str, int | None]) -> None:
        name, value = change
        code, in_force = self.engine.tell("set", lane, name, "" if value is None else value, 0, BY, "")
        if value is None and lane == DEFAULT_LANE:
            value = DEFAULT_BOUNDS.get(name)
        if value is None:
            self.oracle.bounds[lane].pop(name, None)
        else:
            self.oracle.bounds[lane][name] = value
        assert (code, in_force) == (b"OK", b"" if value is None else b"%d" % value)

    @rule(value=st.sampled_from((1, 2, 4, None)))
    def limit_everything(self, value: int | None) -> None:
        in_force = b"" if value is None else b"%d" % value
        assert self.engine.tell("set", "", "max_concurrent", in_force, 0, BY, "") == [b"OK", in_force]
        self.oracle.max_concurrent = value

    @rule(value=st.sampled_from((0, 1, 2, None)))
    def keep_so_many(self, value: int | None) -> None:
        self._set("max_dead_messages", value, default=MAX_DEAD_MESSAGES)

    @rule(value=st.sampled_from((3_600, 3_600, None)))
    def keep_them_so_long(self, value: int | None) -> None:
        # No shorter: the clock of leases, by which an outbox is emptied, does not come that far in a game.
        self._set("dead_message_ttl_seconds", value, default=KEPT_SECONDS)

    @rule()
    def forgive_one_crash(self) -> None:
        self._set("max_crashes", 1)

    def _set(self, setting: str, value: int | None, default: int = 0) -> None:
        in_force = default if value is None else value
        answer = self.engine.tell("set", "", setting, "" if value is None else value, 0, BY, "")
        assert answer == [b"OK", b"%d" % in_force]
        self.oracle.settings[setting] = in_force

    @rule(lane=lanes, kind=st.sampled_from(("user", "user", "tenant", None)))
    def share(self, lane: str, kind: str | None) -> None:
        before = self.engine.tell("share", lane, kind or "", 0, BY)
        assert before.decode() == (self.oracle.fair.kinds.get(lane) or "")
        self.oracle.fair.share(lane, kind)

    @rule(lane=lanes, kind=st.sampled_from(("user", "tenant")))
    def declare_share(self, lane: str, kind: str) -> None:
        before = self.engine.tell("share", lane, kind, 1, "")
        assert before.decode() == (self.oracle.fair.kinds.get(lane) or "")
        if lane not in self.oracle.fair.chosen:
            self.oracle.fair.share(lane, kind)

    @rule(gate=st.sampled_from(GATES), weight=st.sampled_from((None, 1, 2, 3, 1_000)))
    def weigh(self, gate: str, weight: int | None) -> None:
        weights = self.oracle.fair.weights
        assert self.engine.tell("weigh", gate, "" if weight is None else weight, BY) == weights.get(gate, 1)
        if weight is None:
            weights.pop(gate, None)
        else:
            weights[gate] = weight

    @rule(action=st.sampled_from(ACTIONS))
    def drop_action(self, action: str) -> None:
        code = self.engine.tell("drop_action", action, BY)
        of_it = [e for e in self.oracle.executions.values() if e.action == action]
        if any(e.state in (State.PENDING, State.SCHEDULED) or e.holds for e in of_it):
            assert code == b"IN_USE"
            return
        counted = self.counted(action)
        assert code == (b"UNKNOWN" if counted == (0, 0) else b"DROPPED")
        before = self.dropped.get(action, (0, 0))
        self.dropped[action] = before[0] + counted[0], before[1] + counted[1]

    @rule(leader=st.sampled_from(LEADERS), times=deliveries)
    def elect(self, leader: str, times: int) -> None:
        # Each delivery counts: an election whose reply was lost gives a higher epoch when it is asked for again.
        epoch = self.epochs[leader]
        answers = [
            self.engine.tell("elect", leader, "" if epoch is None else epoch, LEADER_TTL_MS) for _ in range(times)
        ]
        assert [(won, int(said)) for won, said in answers] == [self.oracle.elect(leader, epoch) for _ in range(times)]
        won, said = answers[-1]
        self.epochs[leader] = int(said) if won else None

    @rule(leader=st.sampled_from(LEADERS), resigns=st.booleans())
    def leadership_moves(self, leader: str, resigns: bool) -> None:
        epoch = self.epochs[leader]
        if resigns:
            given_up = self.oracle.leader is not None and self.oracle.leader == (leader, epoch)
            assert self.engine.tell("resign", leader, "" if epoch is None else epoch) == int(given_up)
            if not given_up:
                return
        else:
            self.engine.client.delete(self.engine.scripts.keys.named("leader"))  # its TTL ran out
        self.oracle.leader = None
        self.elect(next(other for other in LEADERS if other != leader), 1)

    @rule(
        repair=st.sampled_from(("reap", "promote", "sweep", "wake")),
        leader=st.sampled_from((None, None, *LEADERS)),
        times=deliveries,
    )
    def repair(self, repair: str, leader: str | None, times: int) -> None:
        epoch = None if leader is None else self.epochs[leader]
        fence = "" if epoch is None else str(epoch)
        refused = epoch is not None and (self.oracle.leader is None or self.oracle.leader[1] != epoch)
        arguments: dict[str, list[tuple[Any, ...]]] = {
            "reap": [(PAGE,)],
            "promote": [(PAGE,)],
            "sweep": [(PAGE,)],
            "wake": [()],
        }
        answers = [self.engine.tell(repair, fence, *given, deliveries=times) for given in arguments[repair]]
        if refused:
            assert all(answer == b"STALE_EPOCH" for answer in answers)
            return
        if repair == "reap":
            assert answers == [self.oracle.reap(PAGE)]
        elif repair == "promote":
            ((promoted, wait_ms, *_),) = answers
            assert promoted == self.oracle.promote(PAGE)
            assert (wait_ms < 0) == (not self.engine.dump()["scheduled"].zset)
        elif repair == "sweep":
            assert self.observe().count("expire") == sum(answer[0] for answer in answers) or times > 1
            assert not list(self.oracle.expirable()), "something stale was passed over by the sweep"
            if not answers[-1][1]:
                self.nothing_is_overdue()
            assert answers[-1][1] or not self.oracle.dead_for_too_long(), "a letter was passed over by the sweep"

    @rule(lane=lanes, seconds=st.sampled_from((1, 1, 5)), swept=st.booleans())
    def what_waits_grows_old_enough_to_rise(self, lane: str, seconds: int, swept: bool) -> None:
        self.change_bound(lane, ("ageing_seconds", seconds))
        self.repair("sweep", None, 1)
        self.turn_clock(seconds * 1000)
        if swept:  # else the next call of a worker does it
            self.repair("sweep", None, 1)
        self.one_step = False
