"""Rules of the state machine: time, an operator's controls, the periodic repairs and their leader."""

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import rule

from model.base import DEFAULTS, GATES, PAUSABLE, ModelBase, deliveries

ROUND_MS: Final = 5_000
PAGE: Final = 200
LEADERS: Final = ("one", "two")
LEADER_TTL_MS: Final = 3_600_000
PAYLOAD_NEARLY_GONE_SECONDS: Final = 60
BANDS: Final = range(5)


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
        self.turn_clock(self.oracle.settings["stale_timeout_seconds"] * 1000 + 1)

    @rule(gate=st.sampled_from(GATES), limit=st.sampled_from((None, 0, 1, 1, 2)))
    def limit(self, gate: str, limit: int | None) -> None:
        held = sum(e.holds and gate in e.gates for e in self.oracle.executions.values())
        assert self.engine.tell("limit", gate, "" if limit is None else limit) == held
        if limit is None:
            self.oracle.limits.pop(gate, None)
        else:
            self.oracle.limits[gate] = limit

    @rule(name=st.sampled_from(PAUSABLE))
    def pause(self, name: str) -> None:
        assert self.engine.tell("pause", name) == int(name not in self.oracle.paused_since)
        self.oracle.paused_since.setdefault(name, self.oracle.now)

    @rule(name=st.sampled_from(PAUSABLE))
    def resume(self, name: str) -> None:
        since = self.oracle.paused_since.pop(name, None)
        assert self.engine.tell("resume", name) == int(since is not None)
        if since is not None:
            stood_still = max(0, self.oracle.now - since)
            self.oracle.paused_total[name] = self.oracle.paused_total.get(name, 0) + stood_still

    @rule(paused=st.sampled_from(PAUSABLE))
    def resume_what_is_paused(self, paused: str) -> None:
        self.resume(next(iter(self.oracle.paused_since), paused))

    @rule(
        change=st.sampled_from(
            (
                *(("max_concurrent_executions", value) for value in (1, 2, 4, None)),
                *(("max_queue_size", value) for value in (3, 6, None)),
                *(("max_executions_per_user", value) for value in (1, 2, None)),
                *(("stale_timeout_seconds", value) for value in (60, 3_600)),
                ("max_crashes", 1),
            )
        )
    )
    def change_setting(self, change: tuple[str, int | None]) -> None:
        name, value = change
        code, in_force = self.engine.tell("set", name, "" if value is None else value, 0)
        self.oracle.settings[name] = DEFAULTS[name] if value is None else value
        assert (code, float(in_force)) == (b"OK", self.oracle.settings[name])

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
        repair=st.sampled_from(("reap", "promote", "sweep", "refresh", "wake")),
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
            "sweep": [(band, "", PAGE) for band in BANDS],
            "refresh": [(index, "", PAGE) for index in ("pending", "scheduled", "lease", "pod_lease")],
            "wake": [()],
        }
        own = self.engine.scripts.keys
        payloads = [named(name) for name in self.oracle.executions for named in (own.event, own.message)]
        for key in payloads if repair == "refresh" else ():
            self.engine.client.expire(key, PAYLOAD_NEARLY_GONE_SECONDS, xx=True)
        answers = [self.engine.tell(repair, fence, *given, deliveries=times) for given in arguments[repair]]
        if refused:
            assert all(answer == b"STALE_EPOCH" for answer in answers)
            return
        if repair == "reap":
            assert answers == [self.oracle.reap(PAGE)]
        elif repair == "promote":
            assert answers == [self.oracle.promote(PAGE)]
        elif repair == "refresh":
            left = [self.engine.client.ttl(key) for key in payloads]
            assert all(ttl < 0 or ttl > PAYLOAD_NEARLY_GONE_SECONDS for ttl in left)
        elif repair == "sweep":
            assert self.observe().count("expire") == sum(answer[0] for answer in answers) or times > 1
            assert not list(self.oracle.expirable()), "something stale was passed over by the sweep"
