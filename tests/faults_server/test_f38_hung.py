"""F38: the server hangs. Each call ends within its one deadline, whatever the client's own timeouts and retries are.

The server is stopped, so the kernel still takes connections and bytes for it. When it goes on, the same objects work,
and what was sent meanwhile has taken effect once.
"""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import dramatiq
import pytest
import redis
from defects.contrast import event
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.engine.transitions import Candidate, Next
from bandmaster.scheduler.model.errors import DuplicateExecution, QueueUnavailable
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of
from faults_server.own_server import OwnServer
from waiting import GENEROUS_SECONDS

pytestmark = pytest.mark.slow

DEADLINE_SECONDS: Final = 0.5
NEVER_SECONDS: Final = 600.0
"""How long a client would wait by itself: longer than any test does."""
PAGES: Final = 3

CLIENTS: Final[dict[str, Callable[[str], redis.Redis]]] = {
    "ours": lambda url: client_of(url, socket_timeout_seconds=NEVER_SECONDS),
    "from_url": lambda url: redis.Redis.from_url(url, socket_timeout=NEVER_SECONDS),
    "with retries of its own": lambda url: redis.Redis.from_url(
        url, retry=Retry(NoBackoff(), 3), socket_timeout=NEVER_SECONDS
    ),
    "as redis-py has it, patient": lambda url: redis.Redis(
        unix_socket_path=url.removeprefix("unix://"), socket_timeout=NEVER_SECONDS
    ),
}


class Application:
    """A queue and a broker on one client."""

    def __init__(self, client: redis.Redis, deadline_seconds: float) -> None:
        self.client = client
        self.deadline_seconds = deadline_seconds
        self.queue = ExecutionQueueService(client, deadline_seconds=deadline_seconds)
        self.broker = BandedRedisBroker(client=client, middleware=[], deadline_seconds=deadline_seconds)

        @dramatiq.actor(broker=self.broker, band="HIGH")
        def gated() -> None:
            """Never run here."""

        self.gated = gated
        self.calls: dict[str, Callable[[], object]] = {
            "enqueue": lambda: self.queue.enqueue(event("one")),
            "enqueue_many": lambda: self.queue.enqueue_many([event(f"many-{n}") for n in range(PAGES * 100)]),
            "try_schedule": self.queue.try_schedule,
            "a view by a script": self.queue.get_queue_status,
            "a view by a command": lambda: self.queue.views.meta("one"),
            "a view by many commands": lambda: self.queue.views.metas(["one", "two"]),
            "controls": self.queue.controls.limits,
            "send": self.gated.send,
            "send with a delay": lambda: self.gated.send_with_options(delay=60_000),
            "send_many": lambda: self.broker.send_many([self.gated.message() for _ in range(PAGES * 100)]),
        }

    def waits(self, call: Callable[[], object]) -> float:
        """Seconds until a call says that the server does not answer."""
        began = time.monotonic()
        with pytest.raises(QueueUnavailable, match="did not answer"):
            call()
        return time.monotonic() - began

    def close(self) -> None:
        """Everything."""
        self.queue.close()
        self.broker.close()
        self.client.close()


@pytest.fixture(params=list(CLIENTS))
def application(request: pytest.FixtureRequest, server: OwnServer) -> Iterator[Application]:
    """On a client of each kind, with a short deadline."""
    application = Application(CLIENTS[request.param](server.url), DEADLINE_SECONDS)
    application.queue.controls.change_setting("max_executions_per_user", 10_000)
    yield application
    application.close()


def test_f38_each_call_ends_within_its_deadline_and_has_one_effect(application: Application, server: OwnServer) -> None:
    queue = application.queue
    queue.enqueue(event("before"))
    server.signal(signal.SIGSTOP)
    waited = {name: application.waits(call) for name, call in application.calls.items()}
    server.signal(signal.SIGCONT)
    assert max(waited.values()) < GENEROUS_SECONDS, waited
    # What was sent meanwhile is taken now; its callers do not know that, and send it again.
    for name in ("one", *(f"many-{n}" for n in range(PAGES * 100))):
        try:
            queue.enqueue(event(name))
        except DuplicateExecution:
            continue
    for name, call in application.calls.items():
        if not name.startswith("enqueue"):
            call()
    parked = [entry.execution_id for entry in queue.journal.entries() if entry.verb == "park"]
    assert len(parked) == len(set(parked))
    assert {"before", "one", *(f"many-{n}" for n in range(PAGES * 100))} <= set(parked)


def test_f38_a_deadline_that_is_set_is_obeyed(server: OwnServer) -> None:
    short = Application(redis.Redis.from_url(server.url, socket_timeout=NEVER_SECONDS), DEADLINE_SECONDS)
    long = Application(redis.Redis.from_url(server.url, socket_timeout=NEVER_SECONDS), NEVER_SECONDS)
    server.signal(signal.SIGSTOP)
    with ThreadPoolExecutor() as pool:
        try:
            waiting = [
                pool.submit(long.queue.enqueue, event("another")),
                pool.submit(long.calls["a view by a command"]),
            ]
            for name in ("enqueue", "a view by a command"):
                short.waits(short.calls[name])
            assert not any(each.done() for each in waiting), "a server may take its time"
        finally:
            server.signal(signal.SIGCONT)
    for each in waiting:
        each.result()  # it came
    short.close()
    long.close()


def test_f38_a_server_that_hangs_between_pages_costs_one_deadline(server: OwnServer) -> None:
    """Pages too large for a socket's buffer, so that sending waits too."""
    application = Application(redis.Redis.from_url(server.url), DEADLINE_SECONDS)
    queue, payload = application.queue, b"x" * 20_000
    queue.controls.change_setting("max_executions_per_user", 10_000)
    candidates = [Candidate(f"e{n}", queue.lane, 2, "pod", event=payload) for n in range(PAGES * 100)]

    def park() -> None:
        with queue.transitions.parking() as parking:
            for number, candidate in enumerate(candidates):
                if number == 150:
                    server.signal(signal.SIGSTOP)
                parking.append(candidate)
            parking.finish()

    assert application.waits(park) < GENEROUS_SECONDS
    server.signal(signal.SIGCONT)
    queue.transitions.park_many(candidates)
    assert queue.get_queue_status()["queue_depth"] == len(candidates)
    application.close()


def test_f38_who_is_called_again_before_the_server_goes_on_gets_its_answer(server: OwnServer) -> None:
    """A call that was given up is still to be answered: run again, it finds out."""
    application = Application(redis.Redis.from_url(server.url), DEADLINE_SECONDS)
    queue = application.queue
    queue.enqueue(event("x"))
    call = queue.transitions.prepare_exchange((), Next((queue.lane,), 1))
    server.signal(signal.SIGSTOP)
    application.waits(call.run)
    application.waits(call.run)
    server.signal(signal.SIGCONT)
    assert call.run() == call.run()
    assert queue.views.meta("x")["attempt"] == "1"
    application.close()
