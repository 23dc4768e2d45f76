"""Every command works through the API, or says that it works beside Redis or the database only."""

import shlex
from typing import Any, Final

import pytest
from cli.test_items_through_api import OF_ITEMS
from cli.test_through_api import CHANGING, READING
from cli.through_api import Sides

from bandmaster.cli.app import build

pytestmark = pytest.mark.slow

BESIDE_REDIS_ONLY: Final = {
    "demo": "demo",
    "up": "up",
    "ledger": "ledger",
    "ledger upgrade": "ledger upgrade",
    "ledger rebuild": "ledger rebuild",
    "ledger forget": "ledger forget --user ann --yes",
    "token": "token",
    "token create": "token create --owner ann --scope read",
    "token revoke": "token revoke 3f2a9c0d11e7",
    "token login": "token login",
}
"""Command → a line that would do something, and has to say that it does not work through the API."""


def test_every_command_is_decided_upon() -> None:
    def names(command: Any, name: str) -> set[str]:
        below = getattr(command, "commands", {})
        found = {name} if name else set[str]()
        return found.union(*(names(each, f"{name} {child}".strip()) for child, each in below.items()))

    assert names(build(), "") == {*READING, *CHANGING, *OF_ITEMS, *BESIDE_REDIS_ONLY}


@pytest.mark.parametrize("command", BESIDE_REDIS_ONLY)
def test_a_command_that_works_beside_redis_only_says_so(sides: Sides, command: str) -> None:
    answer = sides.through(*shlex.split(BESIDE_REDIS_ONLY[command]))
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "works beside Redis or the database only, and not through the API" in answer.err
