"""A queue whose clock a test turns, its schedules, and what became of their occurrences."""

from typing import Any

import redis
from model.clock import START_MS
from turned_queue import TurnedQueue

from bandmaster.scheduler.events.schedule import Schedule, instant_of
from bandmaster.scheduler.planning import Planner

MINUTE_MS = 60_000
ROUND_MS = 1_000


def schedule(name: str = "tidy", cron: str = "* * * * *", **fields: Any) -> Schedule:
    """One that sends an actor each minute."""
    return Schedule.of({"name": name, "cron": cron, "actor": "tidy_up", "lane": "mails", **fields})


class Played(TurnedQueue):
    """The turned queue, with planners that have the same clock."""

    def __init__(self, client: redis.Redis) -> None:
        super().__init__(client)
        self.planner = self.new_planner()

    def new_planner(self) -> Planner:
        """That of another process."""
        return Planner(self.schedules, now_ms=lambda: self.clock.now_ms)

    def let_run(self, ms: int, *, plans: bool = True, every_ms: int = ROUND_MS) -> None:
        """Turn the clock, with rounds of a leader; with `plans` False nobody plans, but executions are promoted."""
        for _ in range(0, ms, every_ms):
            self.clock.turn(every_ms)
            if plans:
                self.planner.round()
            self.maintenance.promote()

    def waiting_ids(self) -> list[str]:
        return [each for each in self.ids.waiting() if each.startswith("schedule:")]

    def scheduled_ids(self) -> list[str]:
        return list(self.ids.scheduled())


def ids(name: str, *minutes: int) -> list[str]:
    """Those of occurrences so many minutes after the clock's start, which is a full minute."""
    return [f"schedule:{name}:{instant_of(START_MS + each * MINUTE_MS)}" for each in minutes]
