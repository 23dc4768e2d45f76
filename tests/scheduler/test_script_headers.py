"""Every Lua script says in its header what it is, and header, body, includes and wrapper say the same.

A script is called with positions, not with names, so an argument that slipped by one place would be a wrong effect and
no error. These tests read the files; only the keys are compared on a server.
"""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import redis
from lua_text import TOP_LEVEL_LOCAL, body, defined_in, header, kind_of, without_comments

from bandmaster.scheduler.engine.attending import Attending
from bandmaster.scheduler.engine.controls import Controls
from bandmaster.scheduler.engine.erasing import Erasing
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.engine.maintenance import Maintenance
from bandmaster.scheduler.engine.outbox import Outbox
from bandmaster.scheduler.engine.restoring import Restoring
from bandmaster.scheduler.engine.sessions import Sessions
from bandmaster.scheduler.engine.settlements import Release, Retry
from bandmaster.scheduler.engine.shares import Shares
from bandmaster.scheduler.engine.transitions import Transitions
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.process.leadership import Leadership
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.library import INCLUDES, TOKEN_ARGUMENTS, assemble, read_lua, script_names
from bandmaster.scheduler.transport.scripts import Scripts
from bandmaster.scheduler.views import Views

MAX_LINES = 90
KEYS_LINE = "-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)"
GROUPS = {"declare", "declare_rates", "exchange", "park", "plan", "renew", "restore"}
"""Scripts that take a group of arguments many times, and step through them."""
LANES_LAST = {"status"}
"""Scripts whose last arguments are lanes, any number of them."""
KINDS = {"once", "once_if_memory", "transition", "led", "view"}
OF_LUA = {
    *(
        "redis",
        "cjson",
        "cmsgpack",
        "tonumber",
        "tostring",
        "type",
        "pcall",
        "string",
        "math",
        "ipairs",
        "pairs",
        "next",
        "select",
        "table",
    ),
    "unpack",
}
LUA_WORDS = {
    *("and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not"),
    *("or", "repeat", "return", "then", "true", "until", "while"),
}

OF_THE_LIBRARY = ("DIGEST", "given_keys", "given_arguments", "functions", "redis")
"""Variables that are there beside those of the files, where a script is sent alone."""
LUA = Path(str(files("bandmaster.scheduler.lua")))


@pytest.mark.parametrize("name", script_names())
def test_a_header_has_every_part_in_order(name: str) -> None:
    lines = header(name)
    assert lines[0].startswith(f"-- {name}: "), "the first line says the purpose"
    said = " ".join(lines)
    assert "Atomic" in said or "Read only" in said
    marks = ["-- KEYS:", "-- ARGV:", "-- Returns:"]
    found = [next((n for n, line in enumerate(lines) if line.startswith(mark)), -1) for mark in marks]
    assert -1 not in found, f"missing: {marks[found.index(-1)]}"
    assert found == sorted(found)
    assert KEYS_LINE in lines


@pytest.mark.parametrize("name", script_names())
def test_a_script_is_of_the_kind_that_its_header_says(name: str) -> None:
    said, (kind, _) = " ".join(header(name)), kind_of(name)
    assert kind in KINDS
    assert (kind == "view") == ("Read only" in said)
    assert kind.startswith("once") == assemble().scripts[name].takes_token
    if kind in ("transition", "led"):
        assert re.search(r"[Rr]epeating it|A candidate that leads", said)


@pytest.mark.parametrize("name", [name for name in script_names() if name not in GROUPS])
def test_a_body_names_its_arguments_in_the_headers_order(name: str) -> None:
    kind, arguments = kind_of(name)
    listed = assemble().scripts[name].arguments
    if name in LANES_LAST:
        assert (listed[-1], arguments[-1]) == ("lane", "...")
        listed, arguments = listed[:-1], arguments[:-1]
    assert (("epoch",) if kind == "led" else ()) + arguments == listed


def test_park_steps_through_groups_of_its_arguments_in_order() -> None:
    text, arguments = read_lua("include/parking.lua"), assemble().scripts["park"].arguments
    (each,) = re.findall(r"^local parking = {ARGUMENTS_EACH = (\d+)}", text, re.MULTILINE)
    assert int(each) == len(arguments)
    (parameters,) = re.findall(r"^ +function parking.park\((.*)\)$", text, re.MULTILINE)
    assert tuple(parameters.split(", ")) == arguments
    assert "each = {...}, {}, parking.ARGUMENTS_EACH" in body("park")
    assert "for i = 1, #given, each do" in body("park")


def test_plan_steps_through_groups_of_park_s_arguments_behind_an_instant() -> None:
    arguments, of_park = assemble().scripts["plan"].arguments, assemble().scripts["park"].arguments
    assert arguments[-len(of_park) - 1 :] == ("instant", *of_park)
    assert kind_of("plan") == ("once_if_memory", (*arguments[: -len(of_park) - 1], "..."))
    assert "each = schedules.state(name), {...}, {'OK'}, parking.ARGUMENTS_EACH + 1" in body("plan")
    assert "for i = 1, #given, each do" in body("plan")


def test_restore_steps_through_groups_of_its_arguments_in_order() -> None:
    text, arguments = body("restore"), assemble().scripts["restore"].arguments
    (each,) = re.findall(r"^local ARGUMENTS_EACH = (\d+)$", text, re.MULTILINE)
    assert int(each) == len(arguments)
    (parameters,) = re.findall(r"^local function restore\((.*)\)$", text, re.MULTILINE)
    assert tuple(parameters.split(", ")) == arguments
    assert "for i = 1, #given, ARGUMENTS_EACH do" in text


def test_exchange_steps_through_settlements_of_so_many_arguments_in_order() -> None:
    text, arguments = body("exchange"), assemble().scripts["exchange"].arguments
    (each,) = re.findall(r"^local ARGUMENTS_EACH = (\d+)$", text, re.MULTILINE)
    (parameters,) = re.findall(r"^local function settle\((.*)\)$", text, re.MULTILINE)
    settled = tuple(parameters.split(", "))
    assert (
        len(settled)
        == int(each)
        == len(Release("x", 1, State.FAILED).arguments)
        == len(Retry("x", 1, "retry").arguments)
    )
    assert kind_of("exchange") == ("once", (*arguments[: -len(settled)], "..."))
    assert arguments[-len(settled) :] == settled
    assert "for i = 1, #settlements, ARGUMENTS_EACH do" in text


def test_renew_steps_through_groups_of_its_arguments_in_order() -> None:
    assert assemble().scripts["renew"].arguments == ("lease_ms", "id", "attempt", "holder")
    assert kind_of("renew") == ("transition", ("lease_ms", "..."))
    text = body("renew")
    assert "local GRANT_ARGUMENTS = 3" in text
    assert "for i = 1, #grants, GRANT_ARGUMENTS do" in text
    assert "local id, attempt, holder = unpack(grants, i, i + GRANT_ARGUMENTS - 1)" in text


def test_declare_steps_through_groups_of_its_arguments_in_order() -> None:
    assert assemble().scripts["declare"].arguments == ("lanes", "lane", "name", "limit")
    assert kind_of("declare") == ("transition", ("lanes", "..."))
    text = body("declare")
    assert "local DECLARED_ARGUMENTS = 3" in text
    assert "for i = 1, #declared, DECLARED_ARGUMENTS do" in text
    assert "local lane, name, limit = unpack(declared, i, i + DECLARED_ARGUMENTS - 1)" in text


def test_the_token_is_the_callers_name_and_its_number() -> None:
    assert TOKEN_ARGUMENTS == ("caller", "number")
    assert "function(caller, number, ...)" in read_lua("include/transitions.lua")


def test_no_two_includes_define_the_same_name() -> None:
    names = [name for include in INCLUDES for name in defined_in(include)]
    assert len(names) == len(set(names))
    of_a_script = max(len(found) for found in map(TOP_LEVEL_LOCAL.findall, map(body, script_names())))
    assert len(names) + len(OF_THE_LIBRARY) + of_a_script <= 200, (
        "Lua takes no more local variables: put some into blocks"
    )


@pytest.mark.parametrize(
    "path", [*(f"include/{include}.lua" for include in INCLUDES), *(f"{n}.lua" for n in script_names())]
)
def test_nothing_is_used_that_was_not_defined_before(path: str) -> None:
    """Lua would find out only on the path that uses it, perhaps in the middle of a transition."""
    bare = re.sub(r"'[^'\n]*'", "''", without_comments(read_lua(path)))
    place = INCLUDES.index(Path(path).stem) if path.startswith("include/") else len(INCLUDES)
    before = {name for include in INCLUDES[:place] for name in defined_in(include)} | OF_LUA | {"DIGEST"}
    parameters = {word for found in re.findall(r"\bfunction[ \w.]*\(([^)]*)\)", bare) for word in found.split(", ")}
    locals_ = {
        word
        for found in re.findall(r"\b(?:local function|local|for) (\w+(?:, \w+)*)", bare)
        for word in found.split(", ")
    }
    used = set(re.findall(r"(?<![.\w])([A-Za-z_]\w*)(?! *=[^=])(?!\w)", bare))
    assert used - before - parameters - locals_ - LUA_WORDS == set()


def test_every_include_is_included_is_used_and_says_what_it_is() -> None:
    assert {path.stem for path in (LUA / "include").glob("*.lua")} == set(INCLUDES)
    for place, include in enumerate(INCLUDES):
        after = [read_lua(f"include/{later}.lua") for later in INCLUDES[place + 1 :]] + [
            body(n) for n in script_names()
        ]
        rest = without_comments("\n".join(after))
        assert any(re.search(rf"\b{word}\b", rest) for word in defined_in(include)), f"{include} is not used"
        assert read_lua(f"include/{include}.lua").startswith("-- ")


@pytest.mark.parametrize("path", sorted(str(path.relative_to(LUA)) for path in LUA.rglob("*.lua")))
def test_a_file_is_short(path: str) -> None:
    assert len(read_lua(path).splitlines()) <= MAX_LINES


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
