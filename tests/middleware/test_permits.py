"""`Permits`: permits for threads, shared fairly."""

import threading
from collections.abc import Sequence

import pytest
from dramatiq.threading import raise_thread_exception  # pyright: ignore[reportUnknownVariableType]

from bandmaster.middleware.grants.permits import Permits
from waiting import GENEROUS_SECONDS, wait_until


def waiting(
    permits: Permits, party: str, most: int = 1, *, seconds: float = 10.0
) -> tuple[threading.Thread, list[int]]:
    """A thread that waits for permits; what it got is put into the list."""
    got: list[int] = []
    thread = threading.Thread(target=lambda: got.append(permits.take(party, most, seconds)), daemon=True)
    before = len(waiters(permits))
    thread.start()
    wait_until(lambda: len(waiters(permits)) > before or got, what="the thread waits")
    return thread, got


def waiters(permits: Permits) -> Sequence[object]:
    return permits._waiters  # pyright: ignore[reportPrivateUsage]  # nothing else says who waits


@pytest.fixture
def permits() -> Permits:
    permits = Permits()
    permits.open(4)
    return permits


def test_nothing_can_be_taken_before_a_worker_has_started() -> None:
    assert Permits().take("a", 1, 0.0) == 0


def test_what_is_free_is_taken_up_to_what_was_asked_for(permits: Permits) -> None:
    assert permits.take("a", 3, 0.0) == 3
    assert permits.take("b", 3, 0.0) == 1
    assert permits.take("c", 1, 0.0) == 0
    assert (permits.free, permits.held("a"), permits.held("b")) == (0, 3, 1)


def test_a_permit_that_comes_free_goes_to_who_waits(permits: Permits) -> None:
    permits.take("a", 4, 0.0)
    thread, got = waiting(permits, "b")
    permits.give("a")
    thread.join(GENEROUS_SECONDS)
    assert got == [1]
    assert (permits.held("a"), permits.held("b"), permits.free) == (3, 1, 0)


def test_who_waited_takes_the_rest_too(permits: Permits) -> None:
    permits.take("a", 4, 0.0)
    thread, got = waiting(permits, "b", most=4)
    permits.give("a", 3)
    thread.join(GENEROUS_SECONDS)
    wait_until(lambda: got, what="it was given permits")
    # It is woken by the first; how many more are free by then is its luck.
    assert got[0] >= 1
    assert permits.held("a") + permits.held("b") + permits.free == 4


def test_the_party_that_holds_the_fewest_comes_first(permits: Permits) -> None:
    permits.take("a", 3, 0.0)
    permits.take("b", 1, 0.0)
    first, got_by_b = waiting(permits, "b")
    second, got_by_c = waiting(permits, "c")
    permits.give("a")
    second.join(GENEROUS_SECONDS)
    assert (got_by_b, got_by_c) == ([], [1])
    permits.give("a")
    first.join(GENEROUS_SECONDS)
    assert got_by_b == [1]


def test_a_saturated_party_passes_its_permit_on_until_the_shares_are_even(permits: Permits) -> None:
    permits.take("a", 4, 0.0)
    shares: list[tuple[int, int]] = []
    for _ in range(2):
        thread, _ = waiting(permits, "b")
        assert permits.passed_on("a", 1) == 1
        permits.give("a")
        thread.join(GENEROUS_SECONDS)
        shares.append((permits.held("a"), permits.held("b")))
    waiting(permits, "b")
    assert shares == [(3, 1), (2, 2)]
    assert not permits.passed_on("a", 1), "they hold as many each"
    assert not permits.passed_on("b", 1), "its own consumer waits, nobody else"


def test_who_gave_up_waiting_is_given_nothing(permits: Permits) -> None:
    permits.take("a", 4, 0.0)
    assert permits.take("b", 1, 0.0) == 0
    permits.give("a")
    assert (permits.free, permits.held("b")) == (1, 0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("given_first", [False, True])
def test_who_dies_while_it_waits_takes_no_permit_along(permits: Permits, given_first: bool) -> None:
    permits.take("a", 4, 0.0)
    thread, got = waiting(permits, "b", seconds=0.5)
    raise_thread_exception(thread.ident, SystemExit)  # it comes when the wait is over
    if given_first:
        permits.give("a")
    thread.join(GENEROUS_SECONDS)
    if not given_first:
        permits.give("a")
    assert got == []
    assert (permits.free, permits.held("b"), len(waiters(permits))) == (1, 0, 0)


def test_who_waits_until_a_permit_is_free_is_told_of_those_that_no_party_waits_for(permits: Permits) -> None:
    permits.take("a", 4, 0.0)
    told: list[bool] = []
    looking = threading.Thread(target=lambda: told.append(permits.wait_until_free(10.0)), daemon=True)
    looking.start()
    thread, got = waiting(permits, "b")
    permits.give("a")
    thread.join(GENEROUS_SECONDS)
    assert (got, told) == ([1], [])
    permits.give("a")
    looking.join(GENEROUS_SECONDS)
    assert told == [True]
    assert permits.free == 1, "it was not taken"
    assert not Permits().wait_until_free(0.0)


def test_more_cannot_be_given_back_than_is_held(permits: Permits) -> None:
    permits.take("a", 1, 0.0)
    permits.give("a", 3)
    permits.give("nobody")
    assert permits.free == 4


def test_a_new_worker_starts_with_all_of_its_threads(permits: Permits) -> None:
    permits.take("a", 4, 0.0)
    permits.open(2)
    assert (permits.total, permits.free) == (2, 2)


def test_no_permit_is_lost_or_made_when_many_threads_take_and_give(permits: Permits) -> None:
    most = 0
    held = 0
    lock = threading.Lock()

    def hammer(party: str) -> None:
        nonlocal most, held
        for _ in range(300):
            taken = permits.take(party, 2, 0.01)
            with lock:
                held += taken
                most = max(most, held)
            with lock:
                held -= taken
            permits.give(party, taken)

    threads = [threading.Thread(target=hammer, args=(f"party {number % 3}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most <= 4
    assert permits.free == 4


def test_a_party_that_waits_with_many_gets_no_more_than_one_that_waits_with_one() -> None:
    permits = Permits()
    permits.open(1)
    permits.take("lanes", 1, 0.0)
    turns: list[str] = []
    holder = "lanes"
    for _ in range(3):
        waiting(permits, "lists")
    for _ in range(4):
        if holder != "lanes":
            waiting(permits, "lanes")
        else:
            waiting(permits, "lists")
        permits.give(holder)
        (holder,) = (party for party in ("lanes", "lists") if permits.held(party))
        turns.append(holder)
    assert turns == ["lists", "lanes", "lists", "lanes"]
