"""A verdict is given just above its number and not at it, and says in words what is so."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from bandmaster.scheduler.ages import LaneAges
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.verdicts import (
    SEVERITY,
    LateNotifications,
    Severity,
    Unwritten,
    Verdict,
    VerdictCode,
    lasting,
    on_action,
    on_installation,
    on_lane,
    on_ledger,
    on_loss,
    on_notifications,
    on_triggers,
    ordered,
)
from bandmaster.scheduler.views import ActionStatistics, QueueStatus

QUIET = QueueStatus("mails", 0, 0, 0, 0, {}, {"max_queue_size": 100.0, "max_concurrent_executions": 10.0})
NO_AGES = LaneAges(0, 0, 0)
POD = ActionStatistics(0, 0, 10, None, 0, 0)
MINUTE_MS = 60_000
NOW_MS = 1_800_000_000_000


def said(verdicts: Iterable[Verdict]) -> dict[str, str]:
    """Sentences by code."""
    return {each.code: each.sentence for each in verdicts}


def lane(
    waiting: int = 0, running: int = 0, ages: LaneAges = NO_AGES, *paused: str, scheduled: int = 0
) -> dict[str, str]:
    figures = replace(QUIET, queue_depth=waiting, active_count=running, scheduled_count=scheduled)
    return said(on_lane(figures, ages, paused))


def action(
    waiting: int,
    running: int,
    oldest_minutes: float,
    *paused: str,
    limit: int | None = 10,
    rate: Rate | None = None,
) -> dict[str, str]:
    oldest = NOW_MS - oldest_minutes * MINUTE_MS
    figures = replace(POD, queue_length=waiting, active_count=running, max_concurrent=limit, oldest_enqueued_at=oldest)
    return said(on_action("pod", figures, NOW_MS, paused, rate))


def test_a_quiet_lane_gets_no_verdict() -> None:
    assert lane() == {}


def test_a_queue_that_fills_up_is_told_of_once_the_worse_way() -> None:
    assert lane(waiting=50) == {}
    assert lane(waiting=51) == {
        "queue_half_full": "Lane mails: 51 of 100 places are taken by what waits or is scheduled; when it is full, it "
        "refuses what is sent"
    }
    assert lane(waiting=90).keys() == {"queue_half_full"}
    assert lane(waiting=91).keys() == {"queue_nearly_full"}
    assert "; when it is full, it" in lane(waiting=99)["queue_nearly_full"]
    assert "; it is full, and refuses what is sent" in lane(waiting=100)["queue_nearly_full"]


def test_what_is_scheduled_fills_a_queue_too() -> None:
    assert lane(waiting=20, scheduled=30) == {}
    assert lane(waiting=20, scheduled=31).keys() == {"queue_half_full"}
    assert lane(scheduled=91).keys() == {"queue_nearly_full"}


def test_without_bounds_nothing_is_full() -> None:
    unbounded = replace(QUIET, queue_depth=5_000, active_count=500, settings={"max_queue_size": None})
    ages = LaneAges(oldest_ms=10 * MINUTE_MS, startable_ms=0, standstill_ms=0)
    assert said(on_lane(unbounded, ages)) == {"queue_long": "Lane mails: 5,000 executions wait"}


def test_many_that_wait_are_told_of() -> None:
    wide = replace(QUIET, settings={"max_queue_size": None})
    assert said(on_lane(replace(wide, queue_depth=100), NO_AGES)) == {}
    assert said(on_lane(replace(wide, queue_depth=101), NO_AGES)).keys() == {"queue_long"}


def test_a_long_wait_is_told_of() -> None:
    assert lane(1, 0, LaneAges(30 * MINUTE_MS, 0, 0)) == {}
    found = lane(1, 0, LaneAges(125 * MINUTE_MS, 0, 0))
    assert found == {"oldest_wait_long": "Lane mails: the oldest one has waited for 2 h 5 min"}


def test_a_limit_that_holds_work_back_for_minutes_is_told_of() -> None:
    assert lane(2, 10, LaneAges(3 * MINUTE_MS, 0, 0)) == {}
    assert lane(2, 9, LaneAges(4 * MINUTE_MS, 0, 0)) == {}
    found = lane(2, 10, LaneAges(4 * MINUTE_MS, 0, 0))
    assert found == {"limit_reached": "Lane mails has waited for 4 min: limit 10 reached, 2 executions wait"}


def test_work_that_nobody_takes_though_slots_are_free_is_told_of() -> None:
    assert lane(1, 3, LaneAges(0, 5 * MINUTE_MS, 0)) == {}
    (sentence,) = lane(1, 3, LaneAges(0, 6 * MINUTE_MS, 0)).values()
    expected = "3 of 10 slots are taken, nothing holds the next one back, and nobody took it for 6 min"
    assert sentence == f"Lane mails: {expected}"


@pytest.mark.parametrize(
    ("paused", "why"), [((), ""), (("*",), "it is paused, and "), (("lane:mails",), "it is paused, and "), (("x",), "")]
)
def test_a_standstill_is_told_of_with_a_pause_of_the_whole_lane(paused: tuple[str, ...], why: str) -> None:
    assert lane(1, 2, LaneAges(0, 0, 10 * MINUTE_MS), *paused) == {}
    found = lane(1, 2, LaneAges(0, 0, 11 * MINUTE_MS), *paused)
    sentence = f"Lane mails: 1 wait, 2 run; {why}no slot was granted or given back for 11 min"
    assert found == {"no_progress": sentence}


def test_an_action_is_told_of_like_a_lane() -> None:
    assert action(1, 10, 3) == {}
    assert action(1, 10, 40, limit=None).keys() == {"oldest_wait_long"}
    assert action(1, 10, 4) == {"limit_reached": "Action pod has waited for 4 min: limit 10 reached, 1 execution waits"}
    assert action(1, 9, 5) == {}
    assert action(1, 9, 6).keys() == {"slots_free_while_work_waits"}
    assert action(1, 9, 6, "action:other", "user:ann").keys() == {"slots_free_while_work_waits"}
    assert action(1, 9, 6, "action:pod") == action(1, 9, 6, "*") == {}, "it is paused"
    assert action(101, 10, 31).keys() == {"oldest_wait_long", "limit_reached", "queue_long"}
    assert said(on_action("pod", POD, NOW_MS, ())) == {}


def test_an_action_that_its_rate_holds_back_is_told_of_and_does_not_count_as_free() -> None:
    rate = Rate.read("100/m")
    sentence = "Action pod has waited for 4 min: rate 100/m reached, 2 executions wait"
    assert action(2, 3, 4, limit=None, rate=rate) == {"limit_reached": sentence}
    assert action(2, 3, 3, limit=None, rate=rate) == {}
    assert action(2, 3, 6, rate=rate).keys() == {"limit_reached"}, "slots are free, and the rate holds it back"
    assert "limit 10 reached" in action(2, 10, 4, rate=rate)["limit_reached"]


def test_the_installation_is_told_of() -> None:
    assert said(on_installation(leads=True, dead_lettered=0)) == {}
    assert said(on_installation(leads=False, dead_lettered=3)).keys() == {"no_leader", "dead_letters_grow"}


def ledger(*, is_written: bool = True, behind: int | None = None, unwritten: Unwritten | None = None) -> dict[str, str]:
    return said(on_ledger(is_read=True, is_written=is_written, behind=behind, unwritten=unwritten))


def test_the_ledger_is_told_of() -> None:
    assert ledger(behind=10_000) == {}
    assert ledger(is_written=False) == {}
    away = on_ledger(is_read=False, is_written=False, behind=None, unwritten=Unwritten(5 * MINUTE_MS, "it is full"))
    assert said(away).keys() == {"ledger_away"}
    assert ledger(is_written=False, behind=10_001) == {
        "ledger_behind": "The ledger is 10,001 entries of the journal behind, and nobody writes it"
    }


def test_a_ledger_that_takes_no_writes_is_told_of_with_the_reason_however_little_it_is_behind() -> None:
    assert ledger(behind=3, unwritten=Unwritten(MINUTE_MS, "it is full")) == {}
    assert ledger(behind=3, unwritten=Unwritten(5 * MINUTE_MS, "it is full")) == {
        "ledger_not_written": "The ledger could not be written for 5 min: it is full; work goes on, and the history "
        "stands still"
    }
    both = ledger(behind=10_001, unwritten=Unwritten(5 * MINUTE_MS, "it is full"))
    assert both.keys() == {"ledger_not_written", "ledger_behind"}


def test_triggers_that_fail_are_told_of_by_name_the_first_few_of_them() -> None:
    assert said(on_triggers(())) == {}
    assert said(on_triggers(["book"])) == {"triggers_fail": "Triggers cannot start executions, and try again: book"}
    many = said(on_triggers([f"t{number}" for number in range(1_005)]))
    assert many["triggers_fail"].endswith(": t0, t1, t2 and 1,002 others")


def test_what_is_not_delivered_is_told_of_with_whose_it_is_and_for_how_long() -> None:
    assert said(on_notifications(())) == {}
    late = [LateNotifications("queue invoices", 34 * MINUTE_MS), LateNotifications("trigger book", 12 * MINUTE_MS)]
    assert said(on_notifications(late)) == {
        "notifications_fail": "Notifications have not been delivered for 34 min, and are tried again: queue invoices, "
        "trigger book"
    }
    many = said(on_notifications([LateNotifications(f"queue q{number}", MINUTE_MS) for number in range(5)]))
    assert many["notifications_fail"].endswith(": queue q0, queue q1, queue q2 and 2 others")


def test_the_worst_comes_first() -> None:
    given = [Verdict(code, SEVERITY[code], "", "") for code in reversed(VerdictCode)]
    assert [each.code for each in ordered(given)] == list(VerdictCode)
    assert [each.severity for each in ordered(given)] == sorted(SEVERITY.values(), key=list(Severity).index)


def test_durations_in_words() -> None:
    assert [lasting(ms) for ms in (59_999, 60_000, 3_599_999, 3_600_000, 90_000_000)] == [
        *("59 s", "1 min", "59 min", "1 h", "25 h"),
    ]


def test_a_redis_that_began_anew_is_told_of_with_what_the_ledger_knows() -> None:
    begun = "Redis came back 12 min ago without all that it had: "
    end = "; `bandmaster ledger rebuild --merge` restores what can be"
    assert said(on_loss(720_000, executions=1_034, changes=0)) == {
        "redis_not_restored": f"{begun}1,034 executions are missing{end}"
    }
    some = "0 executions are missing, and maybe some of the 5 limits, pauses, schedules and settings of operators"
    assert said(on_loss(720_000, executions=0, changes=5)) == {"redis_not_restored": f"{begun}{some}{end}"}
    goes_on = "; one has begun, and has not ended"
    assert said(on_loss(720_000, executions=0, changes=5, is_begun=True)) == {
        "redis_not_restored": f"{begun}{some}{end}{goes_on}"
    }
    again = "0 executions are missing; 1,003 executions that had ended came back to life, and {} of them still live"
    assert said(on_loss(720_000, executions=0, changes=0, revived=1_003, living_again=2)) == {
        "redis_not_restored": f"{begun}{again.format(2)}{end}, and ends those that had ended"
    }
    assert said(on_loss(720_000, executions=0, changes=0, revived=1_003)) == {
        "redis_not_restored": f"{begun}{again.format(0)}{end}"
    }
