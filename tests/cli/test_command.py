"""The command line as such: help, versions, terminals, and what is typed and shown."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta

import pytest
from cli.driving import Driver
from rich.console import Console

from bandmaster.cli import screen
from bandmaster.cli.commands import COMMANDS, Named
from bandmaster.cli.exits import MEANINGS, WrongUsage
from bandmaster.cli.named_group import function_of
from bandmaster.cli.notes import escaped, escaped_lines
from bandmaster.cli.requests import file_name_of
from bandmaster.cli.screen import Column, fitted
from bandmaster.cli.times import read_duration, read_when, show_duration
from bandmaster.cli.typed import take_command
from bandmaster.scheduler.model.times import iso_of

SHOWN = (
    *("up", "submit", "status", "list", "show", "logs", "cancel", "priority", "pause", "resume", "limit", "rate"),
    *("share", "weight", "setting", "top", "gates", "workers", "actions", "waits", "changes", "dead", "demo"),
)

HEAVY = {
    *("asyncio", "dramatiq", "httpx", "kubernetes", "multiprocessing", "pydantic_settings", "redis", "rich"),
    *("sqlalchemy", "structlog"),
}
"""What one command or another needs, and costs more to import than the whole of the help."""


def test_help_lists_every_command_and_every_exit_code_and_needs_no_right_settings(idle: Driver) -> None:
    answer = idle.run_fresh("--help", BANDMASTER_REDIS__URLL="x")
    assert (answer.code, answer.err) == (0, "")
    assert all(re.search(rf"^  {name} +[A-Z].*\.$", answer.out, re.MULTILINE) for name in SHOWN)
    assert all(
        re.search(rf"^ +{code:d}  {re.escape(meaning)}$", answer.out, re.M) for code, meaning in MEANINGS.items()
    )
    assert max(map(len, answer.out.splitlines())) <= 80


def test_every_command_has_help_with_examples(idle: Driver) -> None:
    for name in SHOWN:
        answer = idle.run(name, "--help")
        assert answer.code == 0
        assert name == "demo" or "\n  Examples:\n    bandmaster " in answer.out or "| bandmaster" in answer.out, name


def test_the_help_and_a_wrong_command_import_nothing_that_only_a_command_needs() -> None:
    """Each start of the command would pay for it, and whoever waits for a completion."""
    assert not packages_imported_by(["--help"]) & {*HEAVY, "pydantic"}
    # Typer itself reads values by pydantic.
    for typed in (["--no-such-option"], ["no-such-command"]):
        assert not packages_imported_by(typed) & HEAVY, typed


def packages_imported_by(typed: list[str]) -> set[str]:
    return {each.partition(".")[0] for each in imported_by(typed)}


def test_a_command_beside_redis_imports_nothing_of_the_api() -> None:
    imported = imported_by(["status", "--help"])
    assert "bandmaster.cli.desk.queue_executions" in imported
    assert not [each for each in imported if each.startswith(("bandmaster.admin.answers", "bandmaster.cli.desk.api_"))]


def imported_by(typed: list[str]) -> list[str]:
    """The modules that a start of the command with these arguments has imported at its end."""
    asked = (
        "import contextlib, sys; from bandmaster.cli import main\n"
        "with contextlib.suppress(SystemExit): main()\n"
        "print('imported', *sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", asked, *typed], capture_output=True, text=True, check=True)
    *_, imported = told.stdout.splitlines()
    return imported.split()[1:]


def test_the_table_of_commands_has_the_first_line_of_each_ones_help() -> None:
    def told(table: Mapping[str, Named]) -> Iterator[tuple[str, str, str]]:
        for each in table.values():
            yield each.function, each.sentence, (function_of(each).__doc__ or "").splitlines()[0]
            yield from told(each.family)

    assert not [(function, listed, line) for function, listed, line in told(COMMANDS) if listed != line]


def test_the_version_is_that_of_the_package(idle: Driver) -> None:
    assert re.fullmatch(r"bandmaster \d+\.\d+\.\d+\S*\n", idle.run("--version").out)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – café", "plain – café"),
        ("\x1b[2J\x07\r", r"\x1b[2J\x07\r"),
        ("a\u202eb\u2028c\x9b", r"a\u202eb\u2028c\x9b"),
        ("\ud800", r"\ud800"),
        ("a\nb\tc", r"a\nb\tc"),
    ],
)
def test_what_does_something_in_a_terminal_is_written_out(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_lines_of_output_keep_newlines_and_tabs() -> None:
    assert escaped_lines("a\n\tb\x1b") == "a\n\tb\\x1b"


TABLE = [
    Column("#", right=True),
    Column("EXECUTION", folds=True),
    Column("STATE"),
    Column("USER", gives=True, drops=True),
    Column("ACTION", gives=True, drops=True),
]


def test_a_table_gives_up_columns_before_it_folds_an_id() -> None:
    natural = [1, 36, 9, 30, 20]
    assert fitted(TABLE, natural, 1000) == dict(enumerate(natural))
    assert fitted(TABLE, natural, 80) == {0: 1, 1: 36, 2: 9, 3: 13, 4: 13}
    assert fitted(TABLE, natural, 62) == {0: 1, 1: 36, 2: 9, 3: 10}
    assert fitted(TABLE, natural, 30) == {0: 1, 1: 36, 2: 9}
    assert fitted(TABLE, [1, 128, 9, 3, 3], 80) == {0: 1, 1: 66, 2: 9}


def test_no_color_leaves_no_escape_sequence_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    screen.output.cache_clear()
    console: Console = screen.output()
    screen.output.cache_clear()
    with console.capture() as captured:
        console.print("bold and red", style="bold red")
    assert captured.get() == "bold and red\n"


@pytest.mark.parametrize(
    ("text", "seconds"), [("300", 300), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("1d", 86_400), ("0", 0)]
)
def test_durations_are_read(text: str, seconds: int) -> None:
    assert read_duration(text, "--timeout") == seconds


@pytest.mark.parametrize("text", ["", "-1", "1.5", "5x", "m", "1m1h", "٣"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(WrongUsage, match="is not a duration"):
        read_duration(text, "--timeout")


def test_times_are_read_from_now_or_as_iso_8601() -> None:
    assert read_when("+1h30m") == timedelta(minutes=90)
    fixed = read_when("2030-01-31T12:00:00+01:00")
    assert str(fixed) == "2030-01-31 11:00:00+00:00"


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (12_345, "12.3 s"),
        (250_000, "4m 10s"),
        (7_380_000, "2h 03m"),
        (273_600_000, "3d 04h"),
        (-5000, "-5.0 s"),
    ],
)
def test_durations_are_shown_with_their_two_largest_units(milliseconds: int, shown: str) -> None:
    assert show_duration(milliseconds) == shown


def test_times_in_json_are_iso_8601_in_utc() -> None:
    assert iso_of(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert iso_of(None) is None


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/a/b/report.py", "report.py"),
        ("my résumé.sh", "my_r_sum_.sh"),
        ("-rf.py", "rf.py"),
        (".hidden", "hidden"),
        ("日本.js", "__.js"),
        ("...", "script"),
        (f"{'x' * 300}.py", f"{'x' * 125}.py"),
    ],
)
def test_a_script_keeps_its_name_as_far_as_a_file_name_may(path: str, name: str) -> None:
    assert file_name_of(path) == name


def test_what_stands_behind_two_dashes_is_the_command_of_submit_only() -> None:
    assert take_command(["submit", "-w", "--", "a", "--", "-b"]) == (["submit", "-w"], ["a", "--", "-b"])
    assert take_command(["cancel", "--", "-x"]) == (["cancel", "--", "-x"], None)
    assert take_command(["submit", "a.py"]) == (["submit", "a.py"], None)
