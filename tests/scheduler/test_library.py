"""The library of scripts: a server loads it whole, each script has a wrapper, and another text is another library.

What the texts of the scripts say to each other, `make lint` compares (`tools/lint`).
"""

from typing import Any

import pytest
import redis

from bandmaster.scheduler.engine.attending import Attending
from bandmaster.scheduler.engine.controls import Controls
from bandmaster.scheduler.engine.erasing import Erasing
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.engine.maintenance import Maintenance
from bandmaster.scheduler.engine.outbox import Outbox
from bandmaster.scheduler.engine.restoring import Restoring
from bandmaster.scheduler.engine.sessions import Sessions
from bandmaster.scheduler.engine.shares import Shares
from bandmaster.scheduler.engine.transitions import Transitions
from bandmaster.scheduler.process.leadership import Leadership
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.library import assemble, read_lua, script_names
from bandmaster.scheduler.transport.scripts import Scripts
from bandmaster.scheduler.views import Views


def test_every_script_has_a_wrapper_that_gives_its_arguments(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()
    original = Scripts.script

    def noting(self: Scripts, name: str, arguments: str) -> object:
        asked.add(name)
        return original(self, name, arguments)

    monkeypatch.setattr(Scripts, "script", noting)
    scripts = Scripts(redis_client)
    for wrapper in (
        Transitions,
        Maintenance,
        Controls,
        Leadership,
        Views,
        Outbox,
        Restoring,
        Erasing,
        Sessions,
        Shares,
        Follower,
        Attending,
    ):
        wrapper(scripts)
    ExecutionQueueService(redis_client)
    assert asked == set(script_names())


def test_the_library_can_be_loaded_and_has_every_script(redis_client: redis.Redis) -> None:
    library = assemble()
    redis_client.function_load(library.text, replace=True)
    (listed,) = redis_client.function_list(library=library.name)
    flat: list[Any] = listed  # type: ignore[assignment]
    functions = flat[flat.index(b"functions") + 1]
    names = {each[each.index(b"name") + 1].decode() for each in functions}
    assert names == {script.function for script in library.scripts.values()}


def test_another_text_is_another_library() -> None:
    other = assemble({"fence": read_lua("include/fence.lua") + "\n-- changed\n"})
    assert other.name != assemble().name
    assert other.scripts["park"].function != assemble().scripts["park"].function
