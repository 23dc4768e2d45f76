"""F32: the server is killed under load and comes back with an older snapshot. Nobody is told; the workers find out.

What was granted since the snapshot waits again in it, so its attempt is given a second time while the first holder's
body still runs; what runs in it has ended meanwhile. A holder of the one must not settle the other, no thread may be
lost over it, and each execution that the snapshot has ends once. What was accepted since is lost with the server.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from acceptance.workers import Workers
from faults_server.restoring import RestoringServer, restoring_server
from history import History

from bandmaster.scheduler.model.states import TERMINAL
from bandmaster.scheduler.queue import ExecutionQueueService
from stories.conftest import APPLICATION
from stories.work import Work
from waiting import wait_until

pytestmark = pytest.mark.slow

WORKERS, THREADS = 2, 4
LONG_SECONDS = 2.5
SHORT_SECONDS = 0.1
ROUNDS = 2
LIMIT = 50


@pytest.fixture
def server() -> Iterator[RestoringServer]:
    """Runs."""
    with restoring_server() as running:
        yield running


@pytest.fixture
def restored(server: RestoringServer, redis_client: redis.Redis) -> Iterator[Work]:
    """A queue on that server; what the bodies say goes to the test's own, which forgets nothing."""
    with redis.Redis.from_url(server.url) as client:
        queue = ExecutionQueueService(client, lane="default")
        queue.controls.change_setting("max_concurrent_executions", LIMIT)
        yield Work(queue, redis_client)


@pytest.fixture
def crew(server: RestoringServer, redis_url: str, tmp_path: Path) -> Iterator[Workers]:
    """The workers; all are ended."""
    made = Workers(server.url, tmp_path, module=APPLICATION, said_url=redis_url)
    yield made
    made.end()


def test_after_a_restore_under_load_all_threads_work_and_each_execution_ends_once(
    server: RestoringServer, restored: Work, crew: Workers
) -> None:
    names = [f"job-{number}" for number in range(160)]
    restored.send(*names[::4], seconds=LONG_SECONDS)
    restored.send(*(name for name in names if name not in names[::4]), seconds=SHORT_SECONDS)
    for _ in range(WORKERS):
        crew.start(threads=THREADS)
    for number in range(1, ROUNDS + 1):
        done = len(restored.ended())
        wait_until(lambda done=done: len(restored.ended()) >= done + 4, what="some work")
        server.remember()
        restored.send(f"lost-{number}", seconds=SHORT_SECONDS)
        # Every thread is now in a body that the snapshot knows nothing of.
        running = {*restored.queue.views.active()}
        wait_until(lambda running=running: not running & {*restored.queue.views.active()}, what="grants since")
        server.restore()
    wait_until(lambda: restored.left() == 0, timeout_seconds=120, what="the end of the backlog")

    metas = restored.queue.views.metas(names)
    assert {meta["state"] for meta in metas} <= TERMINAL
    journal = list(restored.queue.journal.entries())
    assert History(LIMIT, {}).read(journal).living() == []
    ends = Counter(entry.execution_id for entry in journal if entry.fields.get("state") in TERMINAL)
    assert ends == Counter(names)
    assert {*names} <= {*restored.ended()}
    assert restored.queue.get_queue_status() == {"queue_depth": 0, "active_count": 0}
    assert restored.queue.views.dead() == []
    crew.probe(restored.queue)
