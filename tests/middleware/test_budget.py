"""`Budget`: permits for threads, shared fairly."""

import threading
from collections.abc import Sequence

import pytest
from dramatiq.threading import raise_thread_exception  # pyright: ignore[reportUnknownVariableType]

from bandmaster.middleware.grants.permits import Budget
from waiting import wait_until


def waiting(budget: Budget, party: str, most: int = 1, *, seconds: float = 10.0) -> tuple[threading.Thread, list[int]]:
    """A thread that waits for permits; what it got is put into the list."""
    got: list[int] = []
    thread = threading.Thread(target=lambda: got.append(budget.take(party, most, seconds)), daemon=True)
    before = len(waiters(budget))
    thread.start()
    wait_until(lambda: len(waiters(budget)) > before or got, what="the thread waits")
    return thread, got


def waiters(budget: Budget) -> Sequence[object]:
    return budget._waiters  # pyright: ignore[reportPrivateUsage]  # nothing else says who waits


@pytest.fixture
def budget() -> Budget:
    budget = Budget()
    budget.open(4)
    return budget


def test_nothing_can_be_taken_before_a_worker_has_started() -> None:
    assert Budget().take("a", 1, 0.0) == 0


def test_what_is_free_is_taken_up_to_what_was_asked_for(budget: Budget) -> None:
    assert budget.take("a", 3, 0.0) == 3
    assert budget.take("b", 3, 0.0) == 1
    assert budget.take("c", 1, 0.0) == 0
    assert (budget.free, budget.held("a"), budget.held("b")) == (0, 3, 1)


def test_a_permit_that_comes_free_goes_to_who_waits(budget: Budget) -> None:
    budget.take("a", 4, 0.0)
    thread, got = waiting(budget, "b")
    budget.give("a")
    thread.join(10)
    assert got == [1]
    assert (budget.held("a"), budget.held("b"), budget.free) == (3, 1, 0)


def test_who_waited_takes_the_rest_too(budget: Budget) -> None:
    budget.take("a", 4, 0.0)
    thread, got = waiting(budget, "b", most=4)
    budget.give("a", 3)
    thread.join(10)
    wait_until(lambda: got, what="it was given permits")
    # It is woken by the first; how many more are free by then is its luck.
    assert got[0] >= 1
    assert budget.held("a") + budget.held("b") + budget.free == 4


def test_the_party_that_holds_the_fewest_comes_first(budget: Budget) -> None:
    budget.take("a", 3, 0.0)
    budget.take("b", 1, 0.0)
    first, got_by_b = waiting(budget, "b")
    second, got_by_c = waiting(budget, "c")
    budget.give("a")
    second.join(10)
    assert (got_by_b, got_by_c) == ([], [1])
    budget.give("a")
    first.join(10)
    assert got_by_b == [1]


def test_a_saturated_party_passes_its_permit_on_until_the_shares_are_even(budget: Budget) -> None:
    budget.take("a", 4, 0.0)
    shares: list[tuple[int, int]] = []
    for _ in range(2):
        thread, _ = waiting(budget, "b")
        assert budget.passed_on("a", 1) == 1
        budget.give("a")
        thread.join(10)
        shares.append((budget.held("a"), budget.held("b")))
    waiting(budget, "b")
    assert shares == [(3, 1), (2, 2)]
    assert not budget.passed_on("a", 1), "they hold as many each"
    assert not budget.passed_on("b", 1), "its own consumer waits, nobody else"


def test_who_gave_up_waiting_is_given_nothing(budget: Budget) -> None:
    budget.take("a", 4, 0.0)
    assert budget.take("b", 1, 0.0) == 0
    budget.give("a")
    assert (budget.free, budget.held("b")) == (1, 0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("given_first", [False, True])
def test_who_dies_while_it_waits_takes_no_permit_along(budget: Budget, given_first: bool) -> None:
    budget.take("a", 4, 0.0)
    thread, got = waiting(budget, "b", seconds=0.5)
    raise_thread_exception(thread.ident, SystemExit)  # it comes when the wait is over
    if given_first:
        budget.give("a")
    thread.join(10)
    if not given_first:
        budget.give("a")
    assert got == []
    assert (budget.free, budget.held("b"), len(waiters(budget))) == (1, 0, 0)


def test_who_waits_until_a_permit_is_free_is_told_of_those_that_no_party_waits_for(budget: Budget) -> None:
    budget.take("a", 4, 0.0)
    told: list[bool] = []
    looking = threading.Thread(target=lambda: told.append(budget.wait_until_free(10.0)), daemon=True)
    looking.start()
    thread, got = waiting(budget, "b")
    budget.give("a")
    thread.join(10)
    assert (got, told) == ([1], [])
    budget.give("a")
    looking.join(10)
    assert told == [True]
    assert budget.free == 1, "it was not taken"
    assert not Budget().wait_until_free(0.0)


def test_more_cannot_be_given_back_than_is_held(budget: Budget) -> None:
    budget.take("a", 1, 0.0)
    budget.give("a", 3)
    budget.give("nobody")
    assert budget.free == 4


def test_a_new_worker_starts_with_all_of_its_threads(budget: Budget) -> None:
    budget.take("a", 4, 0.0)
    budget.open(2)
    assert (budget.total, budget.free) == (2, 2)


def test_no_permit_is_lost_or_made_when_many_threads_take_and_give(budget: Budget) -> None:
    most = 0
    held = 0
    lock = threading.Lock()

    def hammer(party: str) -> None:
        nonlocal most, held
        for _ in range(300):
            taken = budget.take(party, 2, 0.01)
            with lock:
                held += taken
                most = max(most, held)
            with lock:
                held -= taken
            budget.give(party, taken)

    threads = [threading.Thread(target=hammer, args=(f"party {number % 3}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most <= 4
    assert budget.free == 4


def test_a_party_that_waits_with_many_gets_no_more_than_one_that_waits_with_one() -> None:
    budget = Budget()
    budget.open(1)
    budget.take("lanes", 1, 0.0)
    turns: list[str] = []
    holder = "lanes"
    for _ in range(3):
        waiting(budget, "lists")
    for _ in range(4):
        if holder != "lanes":
            waiting(budget, "lanes")
        else:
            waiting(budget, "lists")
        budget.give(holder)
        (holder,) = (party for party in ("lanes", "lists") if budget.held(party))
        turns.append(holder)
    assert turns == ["lists", "lanes", "lists", "lanes"]
