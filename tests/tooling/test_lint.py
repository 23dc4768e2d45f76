"""What `make lint` holds the Lua scripts to: each kind of failure, planted in a copy of them, is found at its line."""

import re
import shutil
from pathlib import Path

import pytest

from tools.lint.__main__ import main

LUA = Path(__file__).parents[2] / "scheduler" / "lua"
REPEATING = "Repeating it does no harm, so it takes no request token."
TOO_MANY = f"local {', '.join(f'v{number}' for number in range(200))}\n--"
PLANTED = (
    # file, what is there, what is planted, the line, what is said
    ("renew", "-- renew: renew", "-- To renew", 1, "begin with `-- renew: ` and the purpose"),
    ("renew", "Atomic:", "Safe:", 1, "say in the header what is `Atomic`, or that it is `Read only`"),
    ("renew", "-- Returns:", "-- Gives:", 9, "add the part `-- Returns:` to the header"),
    ("renew", "-- ARGV:", "-- Takes:", 9, "add the part `-- ARGV:` to the header"),
    ("wake", "-- KEYS:", "-- Returns: nothing\n-- KEYS:", None, "put the parts of the header into their order"),
    ("renew", "prefix all others have", "prefix is shared", 3, "say of the keys what all scripts say"),
    ("renew", "transition('renew'", "transition('renewed'", 1, "register one function by the file's name"),
    ("renew", "transition('renew'", "once_more('renew'", 25, "register it as one of once, once_if_memory, "),
    ("renew", "transition('renew'", "view('renew'", 25, "a `view`, and nothing else, says `Read only`"),
    ("renew", "transition('renew'", "once('renew'", 25, "a `once`, and nothing else, lists the request token"),
    ("renew", REPEATING, "", 25, "say that repeating it does no harm, or register it as `once`"),
    ("cancel", "function(id, ", "function(name, ", None, "let both name the same in one order: the header lists id, "),
    ("elect", "-- ARGV: ", "-- ARGV: first, ", None, "let both name the same in one order: the header lists first, "),
    ("status", "function(...)", "function(lane)", 1, "its last arguments are lanes"),
    ("renew", "journal, leases", "leases", 9, "end the header with the includes that it uses: `-- Uses: call, "),
    (
        "renew",
        "-- ARGV: lease_ms, (id, attempt",
        "-- ARGV: lease_ms, (attempt, id",
        4,
        "let the header end its",
    ),
    ("renew", "GRANT_ARGUMENTS = 3", "GRANT_ARGUMENTS = 4", 10, "a group has 3 arguments, and not 4"),
    (
        "renew",
        "for i = 1, #grants, GRANT",
        "for i = 2, #grants, GRANT",
        1,
        "step through the groups of arguments by",
    ),
    (
        "renew",
        "local id, attempt, holder = unpack",
        "local id, attempt, holder = taken",
        1,
        "say once how many",
    ),
    ("renew", "'renew', function(lease_ms, ...)", "'renew', function(...)", 1, "take what stands before the groups"),
    ("declare_rates", "local lane, name, rate", "local name, lane, rate", 5, "let the header end its arguments with"),
    ("include/parking", "ARGUMENTS_EACH = 14", "ARGUMENTS_EACH = 13", None, "a group has 14 arguments, and not 13"),
    ("plan", "parking.ARGUMENTS_EACH + 1", "parking.ARGUMENTS_EACH", 1, "step through the groups of arguments by"),
    (
        "exchange",
        "ARGUMENTS_EACH = 11",
        "ARGUMENTS_EACH = 12",
        1,
        "take as many arguments as a settlement has: Rel",
    ),
    ("exchange", "ARGUMENTS_EACH = 11", "ARGUMENTS_EACH = 12", 1, "take as many arguments as a settlement has: Retry"),
    (
        "include/transitions",
        "(caller, number, ...)",
        "(number, caller, ...)",
        None,
        "let `once` take the request",
    ),
    ("include/fence", "K.leader", "L.leader", 4, "define L before it is used, or list its include earlier"),
    ("renew", "load_holder(id)", "loaded_holder(id)", 13, "define loaded_holder before it is used"),
    ("renew", "local GRANT", "\n" * 60 + "local GRANT", 91, "split it: 94 lines are more than 90"),
    ("include/fence", "-- A leader's", "local x -- A leader's", 1, "begin with `-- ` and what it is"),
    (
        "include/fence",
        "local function is_holder",
        "local now\nlocal function is_holder",
        None,
        "give another name to",
    ),
    ("include/later", "local later", "local much_later", None, "nothing that comes after this include uses"),
    (
        "include/fence",
        "-- A leader's",
        TOO_MANY,
        None,
        "Lua takes no more",
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(LUA, tmp_path / "lua")


def said(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the program prints of a folder; it ends with 1 if that is something."""
    code = main([str(folder)])
    lines = capsys.readouterr().out.splitlines()
    assert code == (1 if lines else 0)
    return lines


def test_the_scripts_are_as_they_have_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(LUA, capsys) == []


def test_whatever_is_planted_is_found_at_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missed: list[str] = []
    for name, there, planted, line, advice in PLANTED:
        path = folder / f"{name}.lua"
        text = path.read_text(encoding="utf-8")
        assert there in text, f"{name} has no longer {there!r}"
        path.write_text(text.replace(there, planted, 1), encoding="utf-8")
        wanted = re.compile(rf"{re.escape(str(path.parent))}.*\.lua:{line or '[0-9]+'}: {re.escape(advice)}")
        found = said(folder, capsys)
        if not any(map(wanted.match, found)):
            missed.append(f"{name}, {planted!r}: {found}")
        path.write_text(text, encoding="utf-8")
    assert not missed, "\n".join(missed)


def test_an_include_is_a_file_and_is_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "include" / "fence.lua").rename(folder / "include" / "fences.lua")
    found = "\n".join(said(folder, capsys))
    assert "INCLUDES of scheduler/transport/library.py lists fence, which is no file here" in found
    assert "fences.lua:1: list it in INCLUDES of scheduler/transport/library.py, after what it uses" in found
