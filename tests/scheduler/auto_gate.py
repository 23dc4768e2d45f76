"""A gate with a limit that adjusts itself, under a clock that a test turns: attempts begin, take their time and end."""

from itertools import count
from typing import Final

import redis
from defects.contrast import event
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.settlements import Release, Retry
from bandmaster.scheduler.engine.transitions import NOTHING_NEXT, Next
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.states import State

LANE: Final = "executions"
GATE: Final = "crm"
WINDOW_MS: Final = 1_000


class AutoGate:
    """The queue, and what runs behind the gate."""

    def __init__(self, client: redis.Redis, least: int = 2, most: int = 50) -> None:
        """The gate is limited, and nothing waits."""
        self._client = client
        self.queue = TurnedQueue(client)
        for name in ("max_concurrent_executions", "max_queue_size", "stale_timeout_seconds"):
            self.queue.controls.change_setting(name, 10**9)
        self.running: dict[str, int] = {}
        """Execution → attempt, in the order of their starts."""
        self._numbers = count()
        self.queue.controls.set_limit(GATE, Auto(least, most))

    @property
    def limit(self) -> int:
        """That is in force."""
        return self.queue.controls.limits()[GATE]

    def send(self, number: int) -> None:
        """Let more wait."""
        outcomes = self.queue.enqueue_many([event(f"e{next(self._numbers)}", gates=[GATE]) for _ in range(number)])
        assert all(not isinstance(outcome, Exception) for outcome in outcomes)

    def start(self) -> int:
        """Grant all that may start; how many run then."""
        while True:
            admission = self.queue.transitions.admit((LANE,), 50, lease_ms=10**9)
            self.running |= {grant.execution_id: grant.attempt for grant in admission.grants}
            if not admission.grants and not admission.more:
                return len(self.running)

    def end(self, state: State = State.COMPLETED, *, following: Next = NOTHING_NEXT) -> int:
        """End the one that began first; how many are granted in the same call."""
        name, attempt = next(iter(self.running.items()))
        del self.running[name]
        grants = self.queue.transitions.settle(Release(name, attempt, state), following=following).grants
        self.running |= {grant.execution_id: grant.attempt for grant in grants}
        return len(grants)

    def fail_and_try_again(self, reason: str = "ValueError") -> None:
        """The one that began first raises, and waits for its next try."""
        name, attempt = next(iter(self.running.items()))
        del self.running[name]
        self.queue.transitions.settle(Retry(name, attempt, "requeue", delay_ms=10**8, reason=reason))

    def window(self, run_ms: int = WINDOW_MS, *, failures: int = 0) -> int:
        """A window of attempts of the same run time, the first of which fail, while others wait; the limit after it."""
        began = self.began_at
        self.queue.clock.turn(1)  # in the millisecond in which it was lowered, none begins that counts
        while self.began_at == began:
            self.send(max(0, 60 - self.waiting()))
            self.start()
            self.queue.clock.turn(run_ms)
            for _ in range(len(self.running)):
                is_over = self.began_at != began
                self.end(State.FAILED if failures > 0 and not is_over else State.COMPLETED)
                failures -= 1
        return self.limit

    @property
    def began_at(self) -> str:
        """When the present window began."""
        return str(self._client.hget("exec_queue:auto_limits", GATE)).split()[5]

    def waiting(self) -> int:
        """How many wait."""
        return self.queue.views.status().queue_depth

    def told(self) -> list[tuple[str, str, str]]:
        """The journal's changes of the limit, in order: from what, to what, by whom."""
        entries = [each for each in self.queue.journal.entries() if each.verb == "limit"]
        return [(each.fields["from"], each.fields["to"], each.fields["by"]) for each in entries]
