"""The cluster's time, as its answers tell it."""

import email.utils
import time

import pytest

from bandmaster.k8s.cluster.clock import ClusterClock


@pytest.mark.parametrize("ahead_seconds", [-600, 600])
def test_the_time_is_that_of_the_last_answer(ahead_seconds: int) -> None:
    clock = ClusterClock()
    before = time.time()
    clock.note(email.utils.formatdate(before + ahead_seconds, usegmt=True))
    assert before - 1 <= clock.now() - ahead_seconds <= time.time()
    clock.note(email.utils.formatdate(time.time() + 1, usegmt=True))  # so that it is no older than an answer's is
    before = time.time()
    assert before <= clock.now() <= time.time(), "whole seconds are no difference"


@pytest.mark.parametrize("date", [None, "", "yesterday"])
def test_an_answer_without_a_date_says_nothing(date: str | None) -> None:
    clock = ClusterClock()
    clock.note(email.utils.formatdate(time.time() + 600, usegmt=True))
    clock.note(date)
    assert clock.now() - time.time() > 500
