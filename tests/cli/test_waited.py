"""What an execution waited for, in a sentence."""

import pytest

from bandmaster.cli.desk.told import Wait, Waits
from bandmaster.cli.waited import SHOWN, sentences, wait_as_json
from bandmaster.ledger.waits.attributing import Cause, Held, Part
from bandmaster.ledger.waits.spans import Span


def gate(ms: int, names: tuple[str, ...], count: int) -> Part:
    return Part(Cause.GATE, "tenant:acme", ms, 2, tuple(Held(name, ms) for name in names), count, None, (Span(0, ms),))


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (gate(230_000, ("a", "b"), 2), "3m 50s behind tenant:acme, held by a and b"),
        (gate(230_000, ("a", "b", "c", "d"), 9), "3m 50s behind tenant:acme, held by a, b, c and 6 others"),
        (gate(230_000, (), 1), "3m 50s behind tenant:acme, held by 1 other"),
        (Part(Cause.GATE, "tenant:acme", 230_000, 0), "3m 50s behind tenant:acme, whose limit was 0"),
        (Part(Cause.DELAY, "", 230_000), "3m 50s until it was due"),
        (Part(Cause.PAUSE, "*", 230_000), "3m 50s while everything was paused"),
        (Part(Cause.PAUSE, "lane:mail", 230_000), "3m 50s while lane:mail was paused"),
        (Part(Cause.RATE, "tenant:acme", 230_000), "3m 50s for the rate of tenant:acme"),
        (Part(Cause.LANE, "mail", 230_000, 1, (Held("a", 5),), 1), "3m 50s for a slot of lane mail, held by a"),
        (Part(Cause.EVERYTHING, "", 230_000, 0), "3m 50s for a slot of any lane, whose limit was 0"),
        (Part(Cause.THREAD, "", 230_000), "3m 50s for a thread"),
        (Part(Cause.THREAD, "", 230_000, started_ahead=14), "3m 50s for a thread, 14 began before it"),
    ],
)
def test_each_cause_is_said(part: Part, said: str) -> None:
    wait = Wait(1, 252_000, [part, Part(Cause.THREAD, "", 22_000)], sampled=False)
    assert sentences(Waits([wait], complete=True)) == [f"4m 12s: {said}; 22.0 s for a thread"]


def test_of_several_waits_each_names_its_attempt_and_none_is_told_that_took_no_time() -> None:
    waits = [Wait(number, number - 1, [Part(Cause.THREAD, "", number - 1)], number == 9) for number in range(1, 10)]
    said = sentences(Waits(waits, complete=True))
    assert said[SHOWN - 1 :] == [
        "for attempt 9: 8 ms: 8 ms for a thread (estimated from a sample)",
        "and 3 before, which --json has",
    ]
    assert sentences(Waits([waits[0]], complete=True)) == []


def test_that_not_all_waits_are_known_is_said_after_those_that_are() -> None:
    not_all = "there were earlier waits, or the ledger has not read of all of them yet"
    wait = Wait(2, 5, [Part(Cause.THREAD, "", 5)], sampled=False)
    assert sentences(Waits([wait], complete=False)) == ["5 ms: 5 ms for a thread", not_all]
    assert sentences(Waits([], complete=False)) == [not_all]


def test_a_document_has_what_the_api_tells() -> None:
    told = wait_as_json(Wait(1, 5, [gate(5, ("a",), 1)], sampled=False))
    part = {"cause": "gate", "name": "tenant:acme", "ms": 5, "limit": 2, "holder_count": 1, "started_ahead": None}
    holders = ({"execution_id": "a", "ms": 5},)
    assert told == {"attempt": 1, "ms": 5, "sampled": False, "parts": [part | {"holders": holders}]}
