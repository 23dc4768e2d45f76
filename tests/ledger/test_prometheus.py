"""A real Prometheus scrapes the ledger's process, which is killed in between: its answers are the journal's counts."""

import signal
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import pytest
from asked_prometheus import Ask, free_port, scraping
from metrics_process import Start

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.metrics.buckets import BOUNDARIES_MS
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def target_port() -> int:
    return free_port()


@pytest.fixture
def ask(tmp_path: Path, target_port: int) -> Iterator[Ask]:
    """Asks a Prometheus that scrapes the port."""
    with scraping(tmp_path, {"ledger": [target_port]}) as ask:
        yield ask


def test_the_queries_are_right_though_the_process_was_killed(
    queue: ExecutionQueueService, start_serving: Start, ask: Ask, target_port: int
) -> None:
    def work(name: str, sent: int, granted: int) -> None:
        for number in range(sent):
            queue.enqueue(ExecutionRequestedEvent(execution_id=f"{name}-{number}", command=("true",)))
        for _ in range(granted):
            found = queue.try_schedule()
            assert found
            queue.release(found[0])

    def one(query: str) -> float | None:
        answers = ask(query)
        return answers[0][1] if answers else None

    process, _ = start_serving(str(target_port))
    wait_until(lambda: one("queue_schedule_total") == 0, what="the first scrape")
    work("before", 40, 25)
    wait_until(lambda: one("queue_schedule_total") == 25, what="the counts before it dies")
    process.send_signal(signal.SIGKILL)
    process.wait()
    work("meanwhile", 20, 20)
    start_serving(str(target_port))
    work("after", 10, 10)
    wait_until(lambda: one("queue_schedule_total") == 55, what="all grants")
    wait_until(lambda: one("queue_depth") == 15, what="the depth")

    entries = list(queue.journal.entries())
    assert one("queue_enqueue_total") == sum(entry.verb == "park" for entry in entries) == 70
    assert one("queue_schedule_total - min_over_time(queue_schedule_total[5m])") == 55
    assert one("resets(queue_schedule_total[5m])") == 0
    rate = one("rate(queue_schedule_total[5m])")
    assert rate is not None
    assert rate > 0
    waits = sorted(int(entry.fields["waited_ms"]) for entry in entries if entry.verb == "admit")
    counts = {labels["priority"]: count for labels, count in ask("queue_wait_time_count")}
    assert (counts["NORMAL"], sum(counts.values())) == (len(waits), 55)
    assert one('queue_wait_time_sum{priority="NORMAL"}') == pytest.approx(sum(waits) / 1000)
    quantiles = {
        labels["priority"]: found for labels, found in ask("histogram_quantile(0.95, rate(queue_wait_time_bucket[5m]))")
    }
    bucket = bisect_left(BOUNDARIES_MS, waits[52])  # the 53rd of 55 is the first with 95 % at or before it
    lower_ms = BOUNDARIES_MS[bucket - 1] if bucket else 0
    assert lower_ms <= 1000 * quantiles["NORMAL"] <= BOUNDARIES_MS[bucket]
