"""The reference has every public name, every command, every exit code."""

import re
from typing import Final

import bandmaster
import bandmaster.testing
from bandmaster.cli.app import build
from bandmaster.cli.exits import MEANINGS
from docs.documents import ROOT, text_of

NAMES: Final = text_of(ROOT / "docs" / "reference" / "api.md")
COMMANDS: Final = text_of(ROOT / "docs" / "reference" / "commands.md")


def test_every_public_name_is_in_the_reference_and_no_other() -> None:
    listed = set(re.findall(r"^\.\. auto\w+:: bandmaster\.(\w+)$", NAMES, re.MULTILINE))
    assert listed == set(bandmaster.__all__)
    listed = set(re.findall(r"^\.\. auto\w+:: bandmaster\.testing\.(\w+)$", NAMES, re.MULTILINE))
    assert listed == set(bandmaster.testing.__all__)


def test_every_field_of_a_request_is_in_the_reference() -> None:
    _, table = NAMES.split("| field | default | |", 1)
    fields = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    assert sorted(fields) == sorted(bandmaster.ExecutionRequestedEvent.model_fields)


def test_every_command_is_in_the_reference_with_the_sentence_of_its_help() -> None:
    def described(command: object, name: str) -> dict[str, str]:
        found = {name.strip(): getattr(command, "help", "").strip().splitlines()[0]} if name else {}
        for child, below in getattr(command, "commands", {}).items():
            found |= described(below, f"{name} {child}")
        return found

    listed = dict(re.findall(r"^\| `([a-z -]+)` \| (.+) \|$", COMMANDS, re.MULTILINE))
    assert listed == described(build(), "")


def test_every_exit_code_is_in_the_reference() -> None:
    listed = {int(code): meaning for code, meaning in re.findall(r"^\| (\d+) \| (.+) \|$", COMMANDS, re.MULTILINE)}
    assert set(listed) == {int(code) for code in MEANINGS}
