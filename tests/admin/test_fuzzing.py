"""Schemathesis calls every route that the OpenAPI document has, with values that the document allows and with others.

Each answer is checked against the document: its status, type, headers and schema; that wrong values are refused, right
ones accepted, and nothing is answered without a token; that no request makes the server fail. A route that is new is
called like all others. What a finding needs to be seen again stands in its output.

The normal run sends the same requests each time; BANDMASTER_FUZZ_EXAMPLES=200 tries so many on each route, others each
time or those of BANDMASTER_FUZZ_SEED (`make fuzz`).
"""

import json
import os
import random
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from calling import V1, Api, api_on
from sqlalchemy import update

from bandmaster.admin.auth.keeper import Keeper
from bandmaster.admin.auth.making import new_token
from bandmaster.admin.auth.scopes import INCLUDED, Scope
from bandmaster.admin.describing import described
from bandmaster.items.claiming import Claim
from bandmaster.items.model import Queue
from bandmaster.items.trigger import TriggerType
from bandmaster.ledger.schema.tables import notifications, queue_items
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.planning import put

pytestmark = pytest.mark.nightly

HERE: Final = Path(__file__).parent
EXAMPLES: Final = int(os.environ.get("BANDMASTER_FUZZ_EXAMPLES", "0"))
NORMAL_EXAMPLES: Final = 10
MORE_EXAMPLES: Final = 100
"""For routes on which none of the normal ones was right."""
SWEEPING: Final = "/settings/|/bulk$"
"""Routes of which one call may end all that waits, or refuse all that comes: called after the others."""
NORMAL_SEED: Final = 1
OPERATIONS: Final[dict[str, Any]] = {
    f"{method.upper()} {path}": operation
    for path, item in described()["paths"].items()
    for method, operation in item.items()
}
STREAMS: Final = [
    name
    for name, operation in OPERATIONS.items()
    if "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
]
"""They do not end; test_api_events.py and test_following_output.py have them."""


def needed_of(name: str) -> set[Scope]:
    return {Scope(each) for security in OPERATIONS[name].get("security", []) for each in security.get("token", [])}


def fill(api: Api) -> None:
    """Executions and actions of the names in fuzzing.toml."""
    queue = api.queue

    def send(execution_id: str, action: str = "resize") -> None:
        metadata = {"user_id": "ann"}
        queue.enqueue({"execution_id": execution_id, "command": ["true"], "action": action, "metadata": metadata})

    def end(execution_id: str, *, dead: bool = False) -> None:
        queue.try_schedule()
        state = State.FAILED if dead else State.COMPLETED
        queue.transitions.settle(
            Release(execution_id, 1, state, reason="it ended", result=b'{"exit_code": 0}', dead=dead)
        )

    for number in range(40):
        send(f"dead-{number}")
        end(f"dead-{number}", dead=True)
    for number in range(6):
        send(f"of-unused-{number}", f"unused-{number}")
        end(f"of-unused-{number}")
    for number in range(2):
        send(f"ended-{number}")
        end(f"ended-{number}")
    for number in range(2):
        send(f"running-{number}")
        queue.try_schedule()
    for number in range(24):
        send(f"waiting-{number}")
    for name in ("max_queue_size", "max_concurrent_executions", "grace_ms"):
        schedule = Schedule.of({"name": name, "cron": "0 6 * * *", "actor": "report"})
        put(queue.schedules, schedule, paused=True, only_new=False, by="a test")
    items = api.services.items
    # The items of fuzzing.toml are of a queue that is not named there, where a call may delete it with all it has.
    for name, count in {"held": 20, "invoices": 40, **dict.fromkeys((f"spare-{n}" for n in range(12)), 0)}.items():
        made = queue_of(api, name)
        for number in range(count):
            items.adding.add(made, by="a test", payload=number)
            for item in items.claiming.claim(Claim(name, "ann")) if name == "held" else ():
                with api.database.writing() as connection:
                    renamed = update(queue_items).where(queue_items.c.item_id == item.item_id)
                    connection.execute(renamed.values(item_id=f"item-{number}"))
    notify_all(api)
    api.catch_up()


def queue_of(api: Api, name: str, **fields: Any) -> Queue:
    """A queue of work items that takes them at once."""
    of_all = {"description": None, "max_retries": 2, "enforce_unique_reference": False, "is_active": True}
    times = {"lease_seconds": 300, "retry_seconds": 0}
    return api.services.items.queues.create(name, by="a test", **of_all, **times, **fields)


def notify_all(api: Api) -> None:
    """A queue and a trigger with addresses, and a notification, each of the name in fuzzing.toml."""
    items, url = api.services.items, "https://hooks.example/"
    heard = queue_of(api, "heard", notify_url=url)
    trigger = {"cron": "0 6 1 1 *", "notify_url": url}
    items.triggers.create("heard", type=TriggerType.TIME, command=("true",), by="a test", **trigger)
    test_id = items.testing.of_queue(heard, by="a test")
    with api.database.writing() as connection:
        renamed = update(notifications).where(notifications.c.delivery_id == test_id)
        connection.execute(renamed.values(delivery_id="heard"))


def fuzz(
    api: Api, scope: Scope, folder: Path, *selected: str, examples: int = EXAMPLES or NORMAL_EXAMPLES
) -> dict[str, dict[str, int]]:
    """Call the selected routes with a token of a scope; return how often each answered with which status."""
    seed = int(os.environ.get("BANDMASTER_FUZZ_SEED", "0")) or (random.getrandbits(32) if EXAMPLES else NORMAL_SEED)
    # In no table, where one of the calls would revoke it.
    token, secret = new_token(
        owner="ann", scopes=frozenset({scope}), max_band=Priority.CRITICAL, gates=None, expires_ms=None, created_by=""
    )
    services = replace(api.services, keeper=Keeper(local=token, table=api.table), closing=threading.Event())
    answers = folder / "answers.json"
    with api_on(services) as url:
        ran = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "fuzzing.toml"), "run"),
                *(f"{url}{V1}/openapi.json", "--url", url, "--header", f"Authorization: Bearer {secret.text}"),
                *("--max-examples", str(examples), "--seed", str(seed)),
                *("--continue-on-failure", "--generation-database", "none", "--no-color"),
                *(part for name in STREAMS for part in ("--exclude-name", name)),
                *selected,
            ],
            cwd=folder,
            env=os.environ
            | {"SCHEMATHESIS_HOOKS": "fuzzing_hooks", "PYTHONPATH": str(HERE), "FUZZING_ANSWERS": str(answers)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, f"seed {seed}\n{ran.stdout}"
    return json.loads(answers.read_text())


def fuzz_all(api: Api, scope: Scope, folder: Path, allowed: set[str]) -> dict[str, dict[str, int]]:
    """The same for every route; those that have to succeed and did not are called more often."""
    fill(api)
    answers = fuzz(api, scope, folder, "--exclude-path-regex", SWEEPING)
    answers |= fuzz(api, scope, folder, "--include-path-regex", f"{SWEEPING}|/bulk/plan$")
    missing = certain(allowed) - succeeded(answers)
    if missing and not EXAMPLES:
        selected = [part for name in sorted(missing) for part in ("--include-name", name)]
        answers |= fuzz(api, scope, folder, *selected, examples=MORE_EXAMPLES)
    return answers


def succeeded(answers: dict[str, dict[str, int]]) -> set[str]:
    return {name for name, counted in answers.items() if any(status.startswith("2") for status in counted)}


def certain(names: set[str]) -> set[str]:
    """Of some routes those on which a call has to succeed."""
    # That a ticket of another answer is found for it is left to chance, as is a file that is UTF-8.
    by_chance = {name for name in names if name.endswith(("/bulk", "/upload"))}
    # Who sends a token has no session, and no text that is drawn is somebody's token: test_sessions.py.
    by_chance |= {name for name in names if name.endswith("/session")}
    # Signing in with a provider needs one: test_oidc.py.
    by_chance |= {name for name in names if "/session/oidc" in name}
    return names - set(STREAMS) - by_chance


def check_succeeded(answers: dict[str, dict[str, int]], names: set[str]) -> None:
    """Else the checks had nothing to check. In a long run, a few calls may use up what others need."""
    if not EXAMPLES:
        assert certain(names) - succeeded(answers) == set()


def test_every_route_answers_as_the_document_says(api: Api, tmp_path: Path) -> None:
    allowed = set(OPERATIONS)
    answers = fuzz_all(api, Scope.ADMIN, tmp_path, allowed)
    check_succeeded(answers, allowed)


@pytest.mark.nightly
def test_every_route_answers_as_the_document_says_to_who_may_less(api: Api, tmp_path: Path) -> None:
    allowed = {name for name in OPERATIONS if needed_of(name) <= INCLUDED[Scope.SUBMIT]}
    answers = fuzz_all(api, Scope.SUBMIT, tmp_path, allowed)
    check_succeeded(answers, allowed)
    assert succeeded(answers) - allowed == set()
