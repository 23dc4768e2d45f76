"""Two worker processes under one rate: never more than its bound in any window, and nobody polls for the next."""

import itertools
import statistics

import pytest
from acceptance.workers import Workers

from bandmaster.scheduler.engine.journal import Verb
from bandmaster.scheduler.model.rates import Rate
from stories.work import Work
from waiting import wait_until

pytestmark = pytest.mark.slow

TENANT = "tenant:a"
JOBS = 40
RATE = Rate.read("10/s burst 3")
ASKS_EACH_MS = 1_000
"""An idle worker that nobody wakes asks so seldom."""


def test_two_processes_keep_to_one_rate_and_are_in_time(work: Work, workers: Workers) -> None:
    work.queue.controls.rates.set(TENANT, RATE)
    for _ in range(2):
        workers.start(threads=4)
    work.send(*(f"job-{number}" for number in range(JOBS)), gates=[TENANT])
    wait_until(lambda: len(work.ended()) == JOBS, timeout_seconds=120, what="all of them")
    assert work.ended() == list(dict.fromkeys(work.ended())), "one ran twice"
    granted = [entry.at_ms for entry in work.queue.journal.entries() if entry.verb == Verb.ADMIT]
    assert len(granted) == JOBS
    for first, last in itertools.combinations(range(JOBS), 2):
        passed_ms = granted[last] - granted[first] + 1
        assert last - first + 1 <= RATE.burst + passed_ms / RATE.interval_ms, "more than its bound in a window"
    gaps = [after - before for before, after in itertools.pairwise(granted[RATE.burst :])]
    assert statistics.median(gaps) < ASKS_EACH_MS / 2, "they poll"
    workers.probe(work.queue)
