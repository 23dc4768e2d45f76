"""Many executions at once: chosen by filters, asked about first, and dead letters told, tried again and forgotten."""

from collections.abc import Iterator

import dramatiq
import pytest
from cli.driving import COMMAND, Driver
from cli.terminal import terminal

from bandmaster.cli.failures import read_failure, shown_arguments, without_secrets
from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService

pytestmark = pytest.mark.slow

TRACEBACK = (
    "Traceback (most recent call last):\n" + "  frame\n" * 200 + "ValueError: no such month at redis://u:hunter2@h"
)


@pytest.fixture
def waiting(driver: Driver, paused: None) -> Iterator[dict[str, str]]:
    """Three executions that wait, by user and action, cancelled afterwards."""
    ids = {
        name: driver.submit("--user", name[:3], "--action", name[4:], "--", "true")
        for name in ("ann.sum", "ann.sort", "bob.sum")
    }
    yield ids
    driver.run("cancel", *ids.values())


def cancelled(driver: Driver, ids: dict[str, str]) -> set[str]:
    return {name for name, one in ids.items() if driver.state(one) == "CANCELLED"}


def test_filters_choose_what_is_cancelled(driver: Driver, waiting: dict[str, str]) -> None:
    answer = driver.run("cancel", "--user", "ann", "--action", "sum", "--state", "waiting", "--yes", "--json")
    assert (answer.code, [one["execution_id"] for one in answer.json["executions"]]) == (0, [waiting["ann.sum"]])
    assert driver.run("cancel", "--user", "ann", "--state", "running", "--yes").out == "nothing\n"
    assert cancelled(driver, waiting) == {"ann.sum"}
    assert driver.run("cancel", "--all", "--yes").code == 0
    assert cancelled(driver, waiting) == waiting.keys()


def test_filters_choose_what_is_moved(driver: Driver, waiting: dict[str, str]) -> None:
    moved = driver.json("priority", "--action", "sum", "--yes", "low")["executions"]
    assert [one["execution_id"] for one in moved] == [waiting["ann.sum"], waiting["bob.sum"]]
    assert [driver.json("show", one)["priority"] for one in waiting.values()] == ["LOW", "NORMAL", "LOW"]
    both = driver.json("priority", waiting["ann.sum"], waiting["bob.sum"], "high")["executions"]
    assert [one["position"] for one in both] == [0, 1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cancel", "nothing is named"),
        ("priority high", "nothing is named"),
        ("dead retry", "nothing is named"),
        ("dead drop", "nothing is named"),
        ("cancel some-id --user ann", "ids and filters exclude each other"),
        ("cancel --all --user ann", "--all means all"),
        ("cancel --state asleep", "'asleep' is not a state"),
        ("cancel --state failed", "only what is waiting or scheduled or running can be meant here"),
        ("priority --state running high", "only what is waiting or scheduled can be meant here"),
        ("dead drop --older soon", "--older: 'soon' is not a duration"),
    ],
)
def test_what_names_nothing_is_refused(driver: Driver, line: str, said: str) -> None:
    answer = driver.run(*line.split())
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert said in answer.err


def test_it_asks_first_and_does_nothing_where_nobody_can_be_asked(driver: Driver, waiting: dict[str, str]) -> None:
    answer = driver.run("cancel", "--user", "ann")
    assert (answer.code, answer.out) == (2, "")
    assert "this would cancel 2 executions (2 PENDING), and nobody can be asked: add --yes" in answer.err
    assert cancelled(driver, waiting) == set()


@pytest.mark.parametrize(
    ("typed", "code", "gone"),
    [("n\n", 1, set[str]()), ("y\n", 0, {"ann.sum", "ann.sort"})],
)
def test_the_answer_decides(driver: Driver, waiting: dict[str, str], typed: str, code: int, gone: set[str]) -> None:
    command = [*COMMAND, "cancel", "--user", "ann"]
    with terminal(command, columns=80, cwd=driver.folder, environment=driver.environment) as one:
        one.wait_for("cancel 2 executions (2 PENDING)? [y/N]")
        one.type(typed)
        assert one.wait() == code, one.shown
    assert cancelled(driver, waiting) == gone


@pytest.fixture
def letters(driver: Driver) -> Iterator[ExecutionQueueService]:
    """Dead letters of an application's actor, of a lane that no worker here consumes."""
    with driver.connect() as client:
        queue = ExecutionQueueService(client, lane="reports")
        for name, user in (("mail-1", "ann"), ("mail-2", "ann"), ("mail-3", "bob")):
            message: dramatiq.Message[None] = dramatiq.Message(
                queue_name="reports",
                actor_name="report",
                args=("acme", "x" * 500),
                kwargs={"api_key": "hunter2", "to": {"password": "hunter2", "url": "redis://u:hunter2@h/0"}},
                options={"traceback": TRACEBACK, "retries": 3},
            )
            queue.transitions.bury(
                Candidate(name, "reports", 2, "report", user, message=message.encode()), "ValueError"
            )
        yield queue
        for one in ("mail-1", "mail-2", "mail-3"):
            queue.drop(one)
            client.delete(f"exec_queue:meta:{one}", f"exec_queue:end:{one}")


def test_a_dead_letter_tells_its_arguments_exception_and_traceback(
    driver: Driver, letters: ExecutionQueueService
) -> None:
    shown = driver.json("show", "mail-1")["failure"]
    assert shown["actor"] == "report"
    assert shown["arguments"].startswith("'acme', 'xxx")
    assert "api_key=***" in shown["arguments"]
    assert shown["exception"] == "ValueError: no such month at redis://u:***@h"
    assert shown["traceback"].splitlines()[-1] == shown["exception"]
    listed = driver.json("dead")["executions"]
    assert {one["execution_id"]: one["failure"] for one in listed}["mail-1"] == shown
    for command in (("show", "mail-1"), ("show", "mail-1", "--json"), ("dead",), ("dead", "--json")):
        out = driver.run(*command).out
        assert "hunter2" not in out
        assert "ValueError: no such month" in out
        assert len(out) < 12_000
    assert read_failure(letters, "nobody") is None


def test_dead_letters_are_tried_again_and_forgotten_by_filter(driver: Driver, letters: ExecutionQueueService) -> None:
    (retried,) = driver.json("dead", "retry", "--user", "bob", "--yes")["retried"]
    assert retried["execution_id"] == "mail-3"
    driver.run("cancel", retried["new_execution_id"])
    assert driver.json("dead", "drop", "--older", "1h", "--yes") == {"dropped": []}
    assert "nobody can be asked" in driver.run("dead", "drop", "--all").err
    assert driver.json("dead", "drop", "--older", "0s", "--user", "nobody", "--yes") == {"dropped": []}
    letters.scripts.client.delete("exec_queue:meta:mail-1")  # its record is gone, as after its time to live
    assert sorted(driver.json("dead", "drop", "--all", "--yes")["dropped"]) == ["mail-1", "mail-2"]
    assert letters.views.dead() == []


def test_a_dropped_letter_is_listed_with_its_end_and_not_with_the_drop(
    driver: Driver, letters: ExecutionQueueService
) -> None:
    def listed() -> dict[str, object]:
        ended = driver.json("list", "--state", "ended", "--action", "report")["executions"]
        return next(one for one in ended if one["execution_id"] == "mail-1")

    before = listed()
    assert before["reason"] == "ValueError"
    letters.outbox.empty("reports")
    assert letters.drop("mail-1")
    assert (listed()["reason"], listed()["ended_at"]) == (before["reason"], before["ended_at"])


def test_arguments_are_bounded_and_without_secrets() -> None:
    assert shown_arguments((1, "a"), {"b": None}) == "1, 'a', b=None"
    assert shown_arguments((), {"Authorization": "x", "db_password": "y"}) == "Authorization=***, db_password=***"
    assert shown_arguments(({"token": {"a": 1}},), {}) == "{'token': '***'}"
    assert len(shown_arguments(("x" * 10**7,) * 50, {})) < 450
    deep: object = "secret"
    for _ in range(50):
        deep = [deep]
    assert "secret" not in shown_arguments((deep,), {})
    assert without_secrets("at postgres://u:p@h/d and https://h/?a") == "at postgres://u:***@h/d and https://h/?a"
