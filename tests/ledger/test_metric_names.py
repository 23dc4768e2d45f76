"""The metrics that are served are those that docs/metrics.md names, and no other."""

import re
from pathlib import Path

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.metrics.collecting import FiguresCollector
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_what_is_served_is_named_and_what_is_named_is_served(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    queue.enqueue(ExecutionRequestedEvent(command=("true",)))
    consumer.step()
    named = re.findall(r"`((?:bandmaster(?!_api_)|queue)_[a-z_]+)`", DOCUMENT.read_text(encoding="utf-8"))
    collected = list(FiguresCollector(queue, database, gates=10).collect())
    served = {metric.name for metric in collected}
    assert {re.sub(r"_(total|bucket)$", "", name) for name in named} == served
    assert all(metric.documentation for metric in collected)
