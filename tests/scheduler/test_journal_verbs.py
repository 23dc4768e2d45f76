"""The verbs of the journal: Python names exactly those that the scripts write."""

import re

from bandmaster.scheduler.engine.journal import Verb
from bandmaster.scheduler.transport.library import INCLUDES, read_lua, script_names

WRITES = re.compile(
    r"\b(?:journal|note_change|note_session)\((?!verb)([^,]+),|\b(?:finish|wait_again)\(id, m, (?!verb)([^,]+),"
)
"""The argument that is the verb; functions that pass one on name it `verb`."""


def written() -> set[str]:
    texts = [read_lua(f"include/{name}.lua") for name in INCLUDES] + [
        read_lua(f"{name}.lua") for name in script_names()
    ]
    arguments = [first or second for text in texts for first, second in WRITES.findall(text)]
    return {verb for argument in arguments for verb in re.findall(r"'(\w+)'", argument)}


def test_each_verb_that_a_script_writes_is_named_and_no_other() -> None:
    assert written() == {verb.value for verb in Verb}
