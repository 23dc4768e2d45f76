"""Sums of what executions waited for, as the command says them."""

import pytest

from bandmaster.cli.desk.told import SumPart, WaitSum, WaitSums
from bandmaster.cli.waits import coverage_of, row_of
from bandmaster.ledger.waits.attributing import Cause

HOUR_MS = 3_600_000


def test_a_row_says_how_long_and_for_what_the_longest_first_and_the_rest_together() -> None:
    parts = [
        SumPart(Cause.GATE, "tenant:acme", 30 * HOUR_MS, 9),
        SumPart(Cause.THREAD, None, 8 * HOUR_MS, 12),
        SumPart(Cause.PAUSE, "action:pod", 3 * HOUR_MS, 2),
        SumPart(Cause.DELAY, None, 60_000, 2),
        *(SumPart(cause, "*", 500, 1) for cause in (Cause.EVERYTHING, Cause.PAUSE)),
    ]
    assert row_of(WaitSum("pod", 41 * HOUR_MS + 61_000, 14, 14, parts)) == (
        "pod",
        "1d 17h",
        "14",
        "1d 06h behind tenant:acme; 8h 00m for a thread; 3h 00m while action:pod was paused; 1m 00s until due; "
        "1.0 s for other causes",
    )


@pytest.mark.parametrize(
    ("cause", "behind", "said"),
    [
        (Cause.PAUSE, "*", "while everything was paused"),
        (Cause.PAUSE, None, "paused"),
        (Cause.RATE, "tenant:acme", "for the rate of tenant:acme"),
        (Cause.RATE, None, "for the rate of a gate"),
        (Cause.GATE, None, "for a full gate"),
        (Cause.LANE, "lane:mail", "for a slot of lane:mail"),
        (Cause.LANE, None, "for a slot of a lane"),
        (Cause.EVERYTHING, "*", "for a slot of any lane"),
    ],
)
def test_each_cause_is_said_whether_its_name_is_told_or_not(cause: Cause, behind: str | None, said: str) -> None:
    assert row_of(WaitSum(None, 5, 1, 1, [SumPart(cause, behind, 5, 1)])) == ("(others)", "5 ms", "1", f"5 ms {said}")


def test_how_much_the_sums_cover_is_said_unless_it_is_all() -> None:
    assert coverage_of(WaitSums(8, 8, 0, 0, [])) == []
    assert coverage_of(WaitSums(8, 5, 2, 1, [])) == [
        "the sums are those of 5 of 8 waits (62.5 %)",
        "too little is known of 1 of them",
        "2 waits were estimated from a sample",
    ]
