"""Every Lua script lists in its header the includes that it uses, so that a reader knows where to look."""

import re

import pytest
from lua_text import body, defined_in, header, without_comments

from bandmaster.scheduler.transport.library import INCLUDES, script_names

NAMED_IN_BODY = re.compile(r"\blocal (?:function )?([\w, ]+)|\bfor ([\w, ]+) (?:in|=)|\bfunction(?: \w+)?\(([\w, ]*)")


def uses_of(name: str) -> list[str]:
    """The includes some name of which stands in a script, and is not its own."""
    text = re.sub(r"'[^']*'", "''", without_comments(body(name)))
    own = {each for found in NAMED_IN_BODY.findall(text) for names in found for each in names.split(", ")}
    words = set(re.findall(r"(?<![.\w:])[A-Za-z_]\w*", text)) - own
    return [include for include in INCLUDES if defined_in(include) & words]


@pytest.mark.parametrize("name", script_names())
def test_a_header_lists_the_includes_that_the_script_uses(name: str) -> None:
    said = " ".join(line.removeprefix("--").strip() for line in header(name))
    _, _, listed = said.rpartition("Uses: ")
    assert listed.split(", ") == uses_of(name)
