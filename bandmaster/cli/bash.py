"""Completes names with colons in bash: bash splits `tenant:acme` into three words, and completes only the last one.

In the flow: `main` calls this before Typer's completion, in a process that bash started to complete a line. The words
are joined again, so that the completion sees `tenant:ac`; of its answers, only the part that bash lacks is printed:
`acme`. Without this, `limit tenant:ac` would be read as a gate `tenant` with the limit `:`.
"""

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable
from typing import Final

WORDS: Final = "COMP_WORDS"
WORD: Final = "COMP_CWORD"
_ASKED: Final = ("_BANDMASTER_COMPLETE", "complete_bash")
_BREAKS: Final = (":", "=")
"""The characters at which bash breaks words (COMP_WORDBREAKS) and that our names and options may contain."""
_UNQUOTED: Final = re.compile(r"[^\w@%+=:,./*~^-]")


def asked_by_bash() -> bool:
    """Whether bash started this process to complete a line; bash passes the words as lines."""
    name, value = _ASKED
    return os.environ.get(name) == value and "\n" in os.environ.get(WORDS, "") and os.environ.get(WORD, "").isdecimal()


def complete(run: Callable[[], int]) -> int:
    """Run the completion on joined words, and print of each answer the part that bash does not have yet."""
    words, had = joined(os.environ[WORDS].split("\n")[: int(os.environ[WORD]) + 1])
    os.environ[WORDS], os.environ[WORD] = "\n".join(words), str(len(words) - 1)
    # Typer exits when it has printed its answers.
    with contextlib.redirect_stdout(io.StringIO()) as answered, contextlib.suppress(SystemExit):
        run()
    for answer in answered.getvalue().splitlines():
        sys.stdout.write(_UNQUOTED.sub(r"\\\g<0>", answer[had:]) + "\n")
    sys.stdout.flush()
    return 0


def joined(typed: list[str]) -> tuple[list[str], int]:
    """The words up to the cursor as they were typed, and the number of an answer's characters that bash has already."""
    words: list[str] = []
    for word in typed:
        if words and (words[-1].endswith(_BREAKS) or word.startswith(_BREAKS)):
            words[-1] += word
        else:
            words.append(word)
    # For bash a word does not begin with a break: after `tenant:` it completes an empty word.
    had = len(words[-1]) - len(typed[-1].lstrip("".join(_BREAKS)))
    option, equals, _ = words[-1].partition("=")
    return words, had - len(option + equals) if equals and option.startswith("-") else had
