"""Each example does what its first lines say, and is as short as a reader hopes for."""

import ast
import re
from pathlib import Path

import pytest

from bandmaster import ExecutionQueueService
from examples.running import EXAMPLES, Running, most_at_once
from waiting import wait_until

pytestmark = pytest.mark.slow

FILES = sorted(path for path in EXAMPLES.rglob("*.py") if path.name != "conftest.py")


def test_tenants_have_limits_of_their_own(running: Running, queue: ExecutionQueueService) -> None:
    queue.controls.set_limit("tenant:acme", 0)
    running.run("tenants.py")
    running.start_worker("tenants")
    running.wait_until_said(r"zeta \d is done", 2)
    assert running.said("acme") == [], "an operator's limit goes before the code's"
    queue.controls.set_limit("tenant:acme", None)
    running.wait_until_said(r"acme \d is done", 6)
    of_acme = running.said(r"acme \d (?:begins|is done)")
    assert most_at_once(("acme", said.endswith("begins")) for said in of_acme) == {"acme": 2}


@pytest.mark.nightly
def test_later_comes_later_and_tries_are_one_execution(running: Running, queue: ExecutionQueueService) -> None:
    assert running.run("later.py") == "the tea is SCHEDULED\n"
    running.start_worker("later")
    running.wait_until_said("remember the (?:tea|cake)", 2)
    running.wait_until_said("the parcel goes back after 2 retries", 1)
    running.wait_until_said("the letter: delivered", 1)
    assert sorted(running.said(r"remember the (tea|cake)")) == ["cake", "tea"]
    assert running.said(r"try (\d) with the (?:letter|parcel): delivered") == ["3"]
    assert sorted(running.said(r"ConnectionError: (try \d with the \w+)")) == [
        *("try 1 with the letter", "try 1 with the parcel"),
        *("try 2 with the letter", "try 2 with the parcel"),
        "try 3 with the parcel",
    ]
    assert len(queue.views.dead()) == 1


@pytest.mark.nightly
def test_results_are_told_whether_it_ran_or_not(running: Running) -> None:
    running.start_worker("results")
    assert running.run("results.py").splitlines() == [
        "one text: 4",
        "several: [1, 2, 3]",
        "it failed: ValueError there is no text",
        "it never ran: ExecutionCancelled",
    ]


def test_the_steps_of_pipelines_wait_under_their_own_limits(running: Running) -> None:
    running.start_worker("pipelines")
    assert running.run("pipelines.py").splitlines() == [
        f"album/{site}/{name}, small" for site in ("north", "south") for name in ("lake", "hill", "wood")
    ]
    said = [re.findall(r"\[(.+)\] (begins|is done)", line)[0] for line in running.said(r"\[.+?\] (?:begins|is done)")]
    assert len(said) == 36
    most = most_at_once((step, word == "begins") for step, word in said)
    assert most["shrink"] == 1
    assert most["fetch from north"] <= 2
    assert most["fetch from south"] <= 2


@pytest.mark.nightly
def test_coroutines_are_bodies_under_limits_too(running: Running) -> None:
    first, second = running.run("asyncio_actor.py").splitlines()
    assert first == "5 accepted, 0 refused"
    assert second.startswith("and ")
    running.start_worker("asyncio_actor")
    running.wait_until_said(r"example\.\w+ \d is done", 6)
    visits = running.said(r"example\.org \d (?:begins|is done)")
    assert most_at_once(("visit", said.endswith("begins")) for said in visits) == {"visit": 2}
    for number in range(1, 6):
        pages = running.said(rf"example\.org {number} (opens|closes)")
        assert pages == ["opens", "opens", "closes", "closes"], "its pages are read at the same time"


def test_a_web_application_accepts_refuses_and_tells(running: Running) -> None:
    month = {"month": "2026-11"}
    with running.serving("web_api:app") as client:
        first = client.post("/tenants/acme/reports", json=month, headers={"Idempotency-Key": "order-1"})
        assert (first.status_code, first.json()) == (202, {"execution_id": "order-1"})
        again = client.post("/tenants/acme/reports", json=month, headers={"Idempotency-Key": "order-1"})
        assert again.status_code == 409
        several = [client.post("/tenants/acme/reports", json=month).status_code for _ in range(3)]
        assert several == [202, 202, 429], "three of a tenant may wait"
        assert client.post("/tenants/zeta/reports", json=month).status_code == 202
        assert client.post("/tenants/zeta/reports", json={"month": "x" * 2_000_000}).status_code == 422
        assert client.get("/reports/order-2").status_code == 404
        waits = client.get("/reports/order-1").json()
        assert waits["state"] == "PENDING"
        assert "no worker has asked for lane reports yet" in waits["waits_because"]
        running.start_worker("web_api")
        wait_until(lambda: client.get("/reports/order-1").json()["state"] == "COMPLETED", what="the report")
    running.wait_until_said(r"the report of (?:acme|zeta) for 2026-11", 4)


@pytest.mark.nightly
def test_executions_are_followed_to_their_end(running: Running) -> None:
    running.start_worker("bandmaster.actors")
    printed = running.run("executions.py").splitlines()
    counting = printed[0].split()[0]
    assert printed[:4] == [*(f"{counting} counts {number}" for number in (1, 2, 3)), f"{counting} has ended: COMPLETED"]
    assert printed[4] == "this one fails"
    assert [line.rpartition(" ")[2] for line in printed[5:]] == ["FAILED", "CANCELLED"]


@pytest.mark.nightly
def test_the_tests_of_an_application_need_no_server(running: Running) -> None:
    arguments = ("-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "-p", "no:valkey")
    nowhere = Running("unix:///nowhere/redis.sock", EXAMPLES)
    assert "5 passed" in nowhere.run(*arguments, "--rootdir", ".", "-c", "/dev/null", folder=EXAMPLES / "tested")


def test_the_readme_lists_every_example() -> None:
    listed = set(re.findall(r"^\| \[[\w./]+\]\((\w+)", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    assert listed == {path.stem for path in EXAMPLES.iterdir() if path.suffix == ".py"} | {"tested"}
    assert len(listed) == 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_is_short_and_uses_public_names_only(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert len(path.read_text().splitlines()) <= 120
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert {name for name in modules if name.startswith("bandmaster")} <= {
        "bandmaster",
        "bandmaster.client",
        "bandmaster.testing",
    }
