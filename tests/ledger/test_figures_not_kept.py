"""`queue.enable_metrics = false`: the ledger writes no figures of queues; when it does again, they are right."""

from ledger_reading import catch_up

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.queue_stats import QueueStatsRepository
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

ACTION = "core.http.get"


def _enqueue(queue: ExecutionQueueService, *names: str) -> None:
    for name in names:
        queue.enqueue(ExecutionRequestedEvent(execution_id=name, action=ACTION, command=("true",)))


def _consumer(queue: ExecutionQueueService, database: Database, *, keep_figures: bool) -> Consumer:
    made = Consumer(queue, Book(database, queue="exec_queue", holder="this test", keep_figures=keep_figures))
    assert made.begin()
    return made


def test_figures_are_kept_only_if_they_are_wanted_and_are_right_when_they_are_again(
    queue: ExecutionQueueService, database: Database
) -> None:
    figures = QueueStatsRepository(database)
    _enqueue(queue, "one")
    catch_up(_consumer(queue, database, keep_figures=False))
    assert figures.find_by_action(ACTION) is None
    _enqueue(queue, "two")
    catch_up(_consumer(queue, database, keep_figures=True))
    found = figures.find_by_action(ACTION)
    assert found is not None
    assert found.queue_length == 2
    _enqueue(queue, "three")
    catch_up(_consumer(queue, database, keep_figures=False))
    assert figures.find_by_action(ACTION) == found
    _enqueue(queue, "four")
    catch_up(_consumer(queue, database, keep_figures=True))
    found = figures.find_by_action(ACTION)
    assert found is not None
    assert found.queue_length == 4
