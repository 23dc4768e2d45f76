"""Every Lua script says in its header what it is, and header, body, includes and wrapper say the same.

A script is called with positions, not with names, so an argument that slipped by one place would be a wrong effect and
no error. These tests read the files; only the keys are compared on a server.
"""

import re
from importlib.resources import files
from pathlib import Path

import pytest
import redis

from bandmaster.configs.areas import LeaseSettings, LimitSettings, RetentionSettings
from bandmaster.scheduler.controls import Controls
from bandmaster.scheduler.keys import FIXED, Keys
from bandmaster.scheduler.leadership import Leadership
from bandmaster.scheduler.maintenance import Maintenance
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.script_source import TOKEN_ARGUMENTS, assemble, read_lua, script_names
from bandmaster.scheduler.scripts import Scripts
from bandmaster.scheduler.transitions import Transitions
from bandmaster.scheduler.views import Views

MAX_LINES = 90
KEYS_LINE = "-- KEYS: all fixed keys, in the order of scheduler/keys.py"
REPEATED = {"park", "renew"}
"""Scripts that take a group of arguments many times; their bodies step through ARGV."""

LUA = Path(str(files("bandmaster.scheduler.lua")))
INCLUDES = sorted(path.stem for path in (LUA / "include").glob("*.lua"))
TOP_LEVEL_LOCAL = re.compile(r"^local (?:function )?([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*)", re.MULTILINE)


def header(name: str) -> list[str]:
    lines = read_lua(f"{name}.lua").splitlines()
    end = next(number for number, line in enumerate(lines) if not line.startswith("--"))
    return lines[:end]


def body(name: str) -> str:
    return "\n".join(read_lua(f"{name}.lua").splitlines()[len(header(name)) :])


def includes_of(name: str) -> list[str]:
    (line,) = [line for line in header(name) if line.startswith("-- include:")]
    return line.removeprefix("-- include:").split()


def without_comments(text: str) -> str:
    return re.sub(r"--.*", "", text)


def defined_in(include: str) -> set[str]:
    """The names that an include gives to what follows it."""
    names: set[str] = set()
    for found in TOP_LEVEL_LOCAL.findall(read_lua(f"include/{include}.lua")):
        names.update(found.split(", "))
    return names


@pytest.mark.parametrize("name", script_names())
def test_a_header_has_every_part_in_order(name: str) -> None:
    lines = header(name)
    assert lines[0].startswith(f"-- {name}: "), "the first line says the purpose"
    said = " ".join(lines)
    assert "Atomic" in said or "Read only" in said
    marks = ["-- KEYS:", "-- ARGV:", "-- Returns:", "-- include:"]
    found = [next((n for n, line in enumerate(lines) if line.startswith(mark)), -1) for mark in marks]
    assert -1 not in found, f"missing: {marks[found.index(-1)]}"
    assert found == sorted(found)
    assert KEYS_LINE in lines
    assert found[-1] == len(lines) - 1


@pytest.mark.parametrize("name", script_names())
def test_a_script_that_is_not_read_only_says_how_it_can_be_repeated(name: str) -> None:
    said = " ".join(header(name))
    assert (
        assemble(name).takes_token or "Read only" in said or re.search(r"[Rr]epeating it|A candidate that leads", said)
    )


@pytest.mark.parametrize("name", [name for name in script_names() if name not in REPEATED])
def test_a_body_binds_its_arguments_in_the_headers_order(name: str) -> None:
    source = assemble(name)
    first = 3 if source.takes_token else 1
    bound: dict[int, str] = {}
    for names, values in re.findall(r"^local (.+?) = (.*\bARGV\[.*)$", body(name), re.MULTILINE):
        positions = [int(position) for position in re.findall(r"ARGV\[(\d+)\]", values)]
        assert len(positions) == len(names.split(", ")), f"{names} = {values}"
        bound.update(zip(positions, names.split(", "), strict=True))
    expected = {first + index: argument for index, argument in enumerate(source.arguments)}
    assert bound == expected


def test_park_steps_through_groups_of_its_arguments_in_order() -> None:
    text, arguments = body("park"), assemble("park").arguments
    (each,) = re.findall(r"^local ARGUMENTS_EACH = (\d+)$", text, re.MULTILINE)
    assert int(each) == len(arguments)
    (parameters,) = re.findall(r"^local function park\((.*)\)$", text, re.MULTILINE)
    assert tuple(parameters.split(", ")) == arguments
    assert "for i = 3, #ARGV, ARGUMENTS_EACH do" in text


def test_renew_steps_through_pairs_of_its_arguments_in_order() -> None:
    assert assemble("renew").arguments == ("lease_ms", "id", "attempt")
    text = body("renew")
    assert "for i = 2, #ARGV, 2 do" in text
    assert "local id, asked = ARGV[i], ARGV[i + 1]" in text


@pytest.mark.parametrize("name", script_names())
def test_a_scripts_token_is_read_by_its_includes_and_by_nothing_else(name: str) -> None:
    assert assemble(name).takes_token == ("reply" in includes_of(name))
    assert assemble(name).takes_token == ("said()" in body(name))
    assert ("answer(" in body(name)) == assemble(name).takes_token
    assert TOKEN_ARGUMENTS == ("caller", "number")


@pytest.mark.parametrize("name", script_names())
def test_every_include_exists_and_is_used(name: str) -> None:
    names = includes_of(name)
    assert set(names) <= set(INCLUDES)
    assert len(names) == len(set(names))
    for position, include in enumerate(names):
        after = [read_lua(f"include/{later}.lua") for later in names[position + 1 :]]
        rest = without_comments("\n".join([*after, body(name)]))
        used = [word for word in defined_in(include) if re.search(rf"\b{word}\b", rest)]
        assert used, f"{name} includes {include} and uses nothing of it"


@pytest.mark.parametrize("name", script_names())
def test_nothing_is_used_that_is_not_included(name: str) -> None:
    """Lua would find out only on the path that uses it, perhaps in the middle of a transition."""
    before: set[str] = set()
    for text, include in [*((read_lua(f"include/{i}.lua"), i) for i in includes_of(name)), (body(name), None)]:
        bare = re.sub(r"'[^'\n]*'", "", without_comments(text))
        own = set(re.findall(r"(?:local (?:function )?|function |for |[(,] ?)(\w+)", bare))
        foreign = {word for other in INCLUDES if other != include for word in defined_in(other)} - before - own
        assert not {word for word in foreign if re.search(rf"(?<![.\w]){word}\b(?! =[^=])", bare)}, include or name
        before |= defined_in(include) if include else set()


def test_every_include_is_included_and_says_what_it_is() -> None:
    assert {include for name in script_names() for include in includes_of(name)} == set(INCLUDES)
    for include in INCLUDES:
        assert read_lua(f"include/{include}.lua").startswith("-- ")


@pytest.mark.parametrize("path", sorted(str(path.relative_to(LUA)) for path in LUA.rglob("*.lua")))
def test_a_file_is_short(path: str) -> None:
    assert len(read_lua(path).splitlines()) <= MAX_LINES


def test_every_script_has_a_wrapper_that_gives_its_arguments(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()
    original = Scripts.source

    def noting(self: Scripts, name: str, arguments: str) -> object:
        asked.add(name)
        return original(self, name, arguments)

    monkeypatch.setattr(Scripts, "source", noting)
    scripts = Scripts(redis_client)
    for wrapper in (Transitions, Maintenance, Controls, Leadership, Views):
        wrapper(scripts)
    ExecutionQueueService(redis_client)
    assert asked == set(script_names())


def test_lua_and_python_spell_every_key_alike(redis_client: redis.Redis) -> None:
    keys = Keys("some{prefix}")
    derived = {
        "event": ("id",),
        "message": ("id",),
        "meta": ("id",),
        "result": ("id",),
        "reply": ("caller",),
        "ready": ("lane",),
        "open": ("lane",),
        "wake": ("lane",),
        "members": ("lane",),
        "held": ("tenant:1",),
        "gate_lanes": ("tenant:1",),
        "waiting": ("tenant:1", "lane"),
        "action_pending": ("action",),
        "action_stats": ("action",),
    }
    spelled = read_lua("include/keys.lua")
    assert set(re.findall(r"^ {4}(\w+) = function", spelled, re.MULTILINE)) == set(derived)
    calls = ", ".join(f"D.{name}({', '.join(map(repr, given))})" for name, given in derived.items())
    raw = redis_client.eval(f"{spelled}\nreturn {{{calls}}}", len(keys.fixed), *keys.fixed)
    assert [key.decode() for key in raw] == [getattr(keys, name)(*given) for name, given in derived.items()]


def test_lua_names_the_fixed_keys_in_pythons_order() -> None:
    pairs = re.findall(r"(\w+) = KEYS\[(\d+)\]", read_lua("include/keys.lua"))
    in_order = [name for name, _ in sorted(pairs, key=lambda pair: int(pair[1]))]
    assert [int(number) for _, number in pairs] == list(range(1, len(FIXED) + 1))
    assert ["lease:pods" if name == "pod_lease" else name for name in in_order] == list(FIXED)


def test_the_defaults_in_lua_are_those_of_the_settings() -> None:
    pairs = re.findall(r"^ {4}(\w+) = (\d+),$", read_lua("include/settings.lua"), re.MULTILINE)
    in_lua = {name: int(value) for name, value in pairs}
    configured: dict[str, object] = {}
    for area in (LimitSettings, LeaseSettings, RetentionSettings):
        configured.update({name: field.default for name, field in area.model_fields.items()})
    shared = set(in_lua) & set(configured)
    assert set(in_lua) - shared == {"max_infrastructure_retries"}
    assert set(configured) - shared == {"heartbeat_interval_ms"}
    assert {name: in_lua[name] for name in shared} == {name: configured[name] for name in shared}


def test_a_script_is_sent_without_what_it_does_not_use() -> None:
    release, admit = assemble("release").text, assemble("admit").text
    assert "function promote_due" in admit
    assert "function promote_due" not in release
    assert "action_pending = function" in admit
    assert not any(line.lstrip().startswith("--") for line in release.splitlines())


@pytest.mark.parametrize("name", script_names())
def test_a_script_as_it_is_sent_can_be_loaded(redis_client: redis.Redis, name: str) -> None:
    source = assemble(name)
    assert redis_client.script_load(source.text) in (source.sha, source.sha.encode())
