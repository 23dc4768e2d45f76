"""Read-only figures of lanes, actions and users: which lanes workers ask for, and what waits and runs.

In the flow: the command line shows them to an operator; nothing here changes anything. Many lanes are read in a
few round trips, not in one moment: figures of a busy queue may be some milliseconds apart.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .flows import READ_A_TRIP
from .keys import fair_field, fair_kind
from .transport.reading import Reader, repeated
from .transport.scripts import Scripts
from .views import LIVE_CONSUMER_MS

_LANE: Final = "lane:"
_USED: Final = "used:"


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """A lane that a worker has asked for, or that has been in use."""

    lane: str
    asked_ms_ago: int | None
    """Milliseconds since a worker last asked for it; None: never."""
    size: int
    """Executions that wait, are scheduled or run."""
    fair_by: str | None = None
    """The kind of gates that take turns in it; None: it is strict."""

    @property
    def live(self) -> bool:
        """Whether workers ask for it: each does so every second."""
        return self.asked_ms_ago is not None and self.asked_ms_ago <= LIVE_CONSUMER_MS


@dataclass(frozen=True, slots=True)
class ActionLoad:
    """An action whose executions are counted."""

    action: str
    waiting: int
    running: int
    total_enqueued: int
    total_completed: int
    """Ended, in whatever terminal state."""

    @property
    def is_used(self) -> bool:
        """Whether an execution of this action waits or holds a slot."""
        return self.waiting + self.running > 0


@dataclass(frozen=True, slots=True)
class UserLoad:
    """A user with executions that wait."""

    user_id: str
    waiting: int
    running: int


class Overview(Reader):
    """Reads the loads from one server. Each method raises QueueUnavailable if the server does not answer."""

    def __init__(self, scripts: Scripts) -> None:
        super().__init__(scripts)
        self._keys = scripts.keys

    @repeated
    def lanes(self) -> list[LaneLoad]:
        """Every lane that a worker has asked for or that has been in use, by name."""
        rounds = self._client.hgetall(self._keys.named("rounds"))
        asked = {
            field.decode().removeprefix(_LANE): int(at)
            for field, at in rounds.items()
            if field.startswith(_LANE.encode())
        }
        lanes = _names_in(rounds)
        seconds, microseconds = self._client.time()
        now_ms = seconds * 1000 + microseconds // 1000
        sizes = self._read([("SCARD", self._keys.members(lane)) for lane in lanes])
        settings = self._keys.named("settings")
        fair = self._read([("HGET", settings, fair_field(lane)) for lane in lanes])
        return [
            LaneLoad(lane, abs(now_ms - asked[lane]) if lane in asked else None, size, fair_kind(kind))
            for lane, size, kind in zip(lanes, sizes, fair, strict=True)
        ]

    @repeated
    def actions(self) -> list[ActionLoad]:
        """Every action that was ever counted and not dropped since; unused ones first, then by `total_enqueued`."""
        keys = self._keys
        found: list[ActionLoad] = []
        names = sorted(raw.decode() for raw in self._client.smembers(keys.named("actions")))
        for start in range(0, len(names), READ_A_TRIP):
            page = names[start : start + READ_A_TRIP]
            waiting = self._read([("ZCARD", keys.action_pending(action)) for action in page])
            running = self._read([("SCARD", keys.held(f"action:{action}")) for action in page])
            totals = self._read(
                [("HMGET", keys.action_stats(action), "total_enqueued", "total_completed") for action in page]
            )
            found += [
                ActionLoad(action, queued, held, int(enqueued or 0), int(completed or 0))
                for action, queued, held, (enqueued, completed) in zip(page, waiting, running, totals, strict=True)
            ]
        return sorted(found, key=lambda one: (one.is_used, one.total_enqueued, one.action))

    @repeated
    def users(self) -> list[UserLoad]:
        """Every user with executions that wait in any lane; those with the most first."""
        waiting: Counter[str] = Counter()
        for counts in self._read([("HGETALL", self._keys.users(lane)) for lane in self._names()]):
            for user_id, count in counts.items():
                waiting[user_id.decode()] += int(count)
        names = [user_id for user_id, count in waiting.most_common() if count > 0]
        held = self._read([("SCARD", self._keys.held(f"user:{user_id}")) for user_id in names])
        return [UserLoad(user_id, waiting[user_id], count) for user_id, count in zip(names, held, strict=True)]

    @repeated
    def is_known(self, name: str) -> bool:
        """Whether the queue has seen this name, which is of an action, a user, another gate or a lane."""
        kind, _, rest = name.partition(":")
        keys = [self._keys.held(name), self._keys.gate_lanes(name), self._keys.kind_lanes(name)]
        if kind == "action":
            keys.append(self._keys.action_stats(rest))
        if kind == "lane":
            keys.append(self._keys.members(rest))
        found = self._read([("EXISTS", *keys), ("HEXISTS", self._keys.named("rounds"), name)])
        if kind == "user" and not any(found):
            found = self._read([("HEXISTS", self._keys.users(lane), rest) for lane in self._names()])
        return any(found)

    @repeated
    def lane_names(self) -> list[str]:
        """Every lane that a worker has asked for or that has been in use, sorted."""
        return self._names()

    def _names(self) -> list[str]:
        return _names_in(self._client.hkeys(self._keys.named("rounds")))


def _names_in(rounds: Iterable[bytes]) -> list[str]:
    """Return the lanes that have a field in the hash `rounds`, sorted by name."""
    fields = [field.decode() for field in rounds]
    return sorted({field.partition(":")[2] for field in fields if field.startswith((_LANE, _USED))})
