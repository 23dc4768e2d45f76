"""The database's clock leaps far ahead and comes back: triggers go on by the time that it has now."""

import pytest
from trigger_work import Work, instant

from bandmaster.items import leaping
from bandmaster.items.firing import next_of
from bandmaster.items.trigger_rounds import LOOK_FOR_LEAPS_ROUNDS

MINUTE_MS = 60_000
YEAR_MS = 365 * 24 * 60 * MINUTE_MS


def let_rounds_go(work: Work, count: int = LOOK_FOR_LEAPS_ROUNDS) -> None:
    for _ in range(count):
        work.rounds.round()


def let_leap(work: Work, by_ms: int) -> None:
    """Ahead for two rounds, and back."""
    work.later_ms += by_ms
    let_rounds_go(work, 2)
    work.later_ms -= by_ms


@pytest.mark.parametrize("page", [1, 200])
@pytest.mark.parametrize("leader_dies", [False, True])
def test_triggers_go_on_after_the_leap(
    work: Work, leader_dies: bool, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaping, "LOOKED_A_PAGE", page)
    names = ("one", "two")
    for name in names:
        work.trigger(name, cron="* * * * *", max_jobs=100)
    let_leap(work, YEAR_MS)
    assert all((work.found(name).next_fire_ms or 0) > work.now_ms() + YEAR_MS - MINUTE_MS for name in names)
    before = len(work.firings())
    if leader_dies:
        work.rounds = work.another_round(work.items.store)
    let_rounds_go(work, 3 * LOOK_FOR_LEAPS_ROUNDS)
    assert all((work.found(name).next_fire_ms or 0) <= work.now_ms() + MINUTE_MS for name in names)
    for _ in range(3):
        work.later_ms += MINUTE_MS
        let_rounds_go(work, 1)
    assert len(work.firings()) >= before + 2 * len(names)


def test_what_fired_in_the_leap_fires_once_and_its_trigger_goes_on(work: Work) -> None:
    made = work.trigger(cron="0 0 1 1 *", max_jobs=100)
    due_ms = made.next_fire_ms
    assert due_ms is not None
    let_leap(work, due_ms - work.now_ms() + 1_000)
    assert [each.key for each in work.firings()] == [instant(due_ms)]
    let_rounds_go(work)
    assert work.found().next_fire_ms == due_ms
    work.later_ms = due_ms - work.now_ms() + 1_000
    let_rounds_go(work)
    found = work.found()
    assert (found.failures, found.last_error) == (0, None)
    assert found.next_fire_ms == next_of(made.cron, made.tz, due_ms)
    assert [each.key for each in work.firings()] == [instant(due_ms)]


def test_one_that_was_changed_since_it_was_looked_at_stays(work: Work) -> None:
    made = work.trigger(cron="* * * * *")
    work.items.triggers.change("book", {"cron": "0 0 1 1 *"}, by="a test", revision=None)
    changed = work.found()
    work.items.store.write(lambda connection: leaping.put_right(connection, [(made.trigger_id, made.revision, 5)]))
    assert work.found().next_fire_ms == changed.next_fire_ms


def look(work: Work, after_id: int = 0) -> tuple[dict[str, int], int]:
    """Which triggers are to be moved, and to when; and where the next look goes on."""
    at_ms, names = work.now_ms(), {each.trigger_id: each.name for each in work.items.triggers.all()}
    found, last = work.items.store.read(lambda connection: leaping.too_late(connection, after_id, at_ms))
    return {names[trigger_id]: next_ms for trigger_id, _, next_ms in found}, last


def test_only_those_that_would_pass_over_their_next_time_are_moved(work: Work) -> None:
    lines = dict.fromkeys(("right", "due", "late", "never", "off"), "0 0 1 1 *")
    made = {name: work.trigger(name, cron=cron) for name, cron in lines.items()}
    work.trigger("of_queue")
    later_ms = work.now_ms() + 2 * YEAR_MS
    for name, columns in {
        "due": {"next_fire_ms": 1},
        "late": {"next_fire_ms": later_ms},
        "never": {"next_fire_ms": None},
        "off": {"next_fire_ms": later_ms, "enabled": False},
        "of_queue": {"next_fire_ms": later_ms},
    }.items():
        work.set_trigger(name, **columns)
    next_ms = made["right"].next_fire_ms
    assert look(work) == ({"late": next_ms, "never": next_ms}, 0)


def test_pages_are_in_the_order_of_ids_and_the_last_one_says_so(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaping, "LOOKED_A_PAGE", 2)
    ids = [work.trigger(name, cron="* * * * *").trigger_id for name in ("one", "two", "three")]
    for name in ("three", "two", "one"):
        work.set_trigger(name, next_fire_ms=work.now_ms() + YEAR_MS)
    found, last = look(work)
    assert (found.keys(), last) == ({"one", "two"}, ids[1])
    found, last = look(work, last)
    assert (found.keys(), last) == ({"three"}, 0)
