"""Triggers whose firings cannot be sent, or that can start nothing: each backs off alone, and says why."""

from trigger_work import Work


def test_a_full_queue_puts_the_firing_off_and_the_trigger_says_why(work: Work) -> None:
    work.queue.controls.change_setting("max_queue_size", 1)
    work.queue.enqueue({"command": ("true",)})
    work.trigger()
    work.add()
    assert work.rounds.round() == 0
    found = work.found()
    assert (found.failures, found.live_jobs) == (1, 1)
    assert "full" in (found.last_error or "")
    assert (found.backoff_ms or 0) > work.now_ms()
    assert work.rounds.round() == 0
    work.run_all()
    work.set_firings(again_ms=1)
    assert work.rounds.round() == 1
    found = work.found()
    assert (found.failures, found.backoff_ms, found.last_error) == (0, None, None)
    assert len(work.firings()) == 1


def test_a_trigger_that_can_start_nothing_backs_off_and_claims_nothing(work: Work) -> None:
    work.trigger()
    work.add()
    work.set_trigger(timeout_seconds=-1)
    assert work.rounds.round() == 0
    found = work.found()
    assert found.failures == 1
    assert "timeout_seconds" in (found.last_error or "")
    assert work.statuses() == ["NEW"]
    work.set_trigger(timeout_seconds=5)
    assert work.rounds.round() == 0
    work.later_ms = 6_000
    assert work.rounds.round() == 1
