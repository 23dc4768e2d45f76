"""periodiq: it sends ``scheduled_at`` to actors of any kind, and skips what is outdated."""

import sys
import time

from periodiq import PeriodiqMiddleware, cron  # pyright: ignore[reportUnknownVariableType]

from bandmaster import BandedRedisBroker
from swap.companions.working import GATED, JOIN_MS, declare, running


def main(url: str) -> None:
    """Send as its scheduler does."""
    broker = BandedRedisBroker(url=url)
    broker.add_middleware(PeriodiqMiddleware(skip_delay=30))
    ran: list[str] = []
    each_minute = cron("* * * * *")
    actors = [
        declare(lambda: ran.append("gated"), broker=broker, actor_name="gated", periodic=each_minute, **GATED),
        declare(lambda: ran.append("ungated"), broker=broker, actor_name="ungated", periodic=each_minute),
    ]
    now = time.time()
    with running(broker):
        for actor in actors:
            for at in (now, now - 3600):
                actor.send_with_options(scheduled_at=time.strftime("%Y-%m-%d %H:%M:%S+00:00", time.gmtime(at)))
        broker.join("default", timeout=JOIN_MS)
    assert sorted(ran) == ["gated", "ungated"], ran


if __name__ == "__main__":
    main(sys.argv[1])
