"""What a chaos run has: lanes, gates and limits, and what each message is to come to."""

import random
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from bandmaster.scheduler.events.schedule import Schedule

LEASE_MS: Final = 1_500
THREADS: Final = 3
"""Of a worker: fewer than there are lanes."""
LANES: Final = ("alpha", "beta", "gamma", "delta", "fair", "narrow")
FAIR: Final = "fair"
"""Clients take turns there."""
NARROW: Final = "narrow"
"""Few may wait there: some are refused."""
NARROW_ROOM: Final = 4
KIND: Final = "client"
"""Of the gates that take turns; none of them has a limit or a rate."""
CLIENTS: Final = ("client:a", "client:b", "client:c")
WEIGHTS: Final = {"client:a": 2}
LIMITED: Final = {"tenant:a": 2, "tenant:*": 3, "disk": 1, "user:ann": 2, "action:gamma": 3}
"""Limits at the beginning; they change."""
RATED: Final = {"api:x": "8/s burst 2", "api:*": "20/s burst 5"}
BANDS: Final = ("CRITICAL", "HIGH", "NORMAL", "LOW", "BACKGROUND")
SCHEDULES: Final = tuple(f"timed-{number:02}" for number in range(24))
"""Each once a minute."""
JITTER_MS: Final = 59_000
SHORT_AGE_MS: Final = 4_000
_SHORT_SECONDS: Final = 0.15
_LONG_SECONDS: Final = 2.5
"""One in ten: so that something runs in whatever is killed."""


def actor_of(lane: str) -> str:
    """The actor of a lane."""
    return f"work_{lane}"


@dataclass(slots=True)
class Planned:
    """One message, and what it is to come to."""

    lane: str
    seconds: float
    fails: int = 0
    """So many attempts raise."""
    gives_up: bool = False
    """It fails the first time that it runs to its end, and is not tried again."""
    delay_ms: int | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def arguments(self) -> tuple[float, int, bool]:
        """Of the actor."""
        return self.seconds, self.fails, self.gives_up

    def as_json(self) -> dict[str, Any]:
        """For the producer's notes."""
        return asdict(self)


def draw(chance: random.Random, *, plain: bool) -> Planned:
    """The next message of a producer. A plain one knows of no room, and a lane that is full refuses what it sent."""
    lanes = [lane for lane in (*LANES, FAIR) if not (plain and lane == NARROW)]  # much of one, so that turns are taken
    planned = Planned(chance.choice(lanes), 0.0)
    longest = _LONG_SECONDS if chance.random() < 0.1 else _SHORT_SECONDS
    planned.seconds = round(chance.uniform(0.0, longest), 3)
    options = planned.options
    options["band"] = "NORMAL" if planned.lane == FAIR and chance.random() < 0.7 else chance.choice(BANDS)
    gates: list[str] = [chance.choice(CLIENTS)] if planned.lane == FAIR else []
    if planned.lane != FAIR and chance.random() < 0.5:
        gates.append(chance.choice(("tenant:a", "tenant:b", "disk")))
    if planned.lane != FAIR and chance.random() < 0.2:
        gates.append(chance.choice(("api:x", "api:y")))
    if gates:
        options["gates"] = gates
    if planned.lane != FAIR and chance.random() < 0.2:
        options["user_id"] = chance.choice(("ann", "ben"))
    what = chance.random()
    if what < 0.15:
        planned.fails = chance.randint(1, 2)
    elif what < 0.2:
        planned.gives_up = True
        options["max_retries"] = 0
    if chance.random() < 0.2:
        planned.delay_ms = chance.randint(50, 4_000)
    elif chance.random() < 0.08:
        options["max_age"] = SHORT_AGE_MS
    return planned


def schedule_of(name: str, *, seconds: float = 0.05) -> Schedule:
    """A schedule of the run: of each lane some, with each rule for what is missed and for what overlaps."""
    number = SCHEDULES.index(name)
    lane = LANES[number % len(LANES)]
    return Schedule.of(
        {
            "name": name,
            "cron": "* * * * *",
            "actor": actor_of(lane),
            "lane": lane,
            "args": [seconds, int(number % 5 == 0), False],
            "action": lane,
            "gates": [CLIENTS[number % 3]] if lane == FAIR else [],
            "user_id": "ann" if number % 7 == 0 else None,
            "missed": ("all", "all", "once", "skip")[number // 6],
            "missed_limit": 100,
            "overlap": "skip" if number % 4 == 3 else "allow",
            "jitter_ms": 0 if number % 6 == 5 else JITTER_MS,
        }
    )


def planned_of(name: str) -> Planned:
    """What a run of that schedule at once is to come to."""
    schedule = schedule_of(name)
    return Planned(schedule.lane_used, *schedule.args)
