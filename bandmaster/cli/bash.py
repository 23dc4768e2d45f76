"""Bash's completion of names with colons: bash takes `tenant:acme` for three words, and completes the last of them.

In the flow: `main` asks here before Typer does, in a process that bash started to complete a line. The words are put
together again, so that what completes sees `tenant:ac`, and of its answers what bash still wants is written: `acme`.
Without this, `limit tenant:ac` would be a gate `tenant` with the limit `:`.
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
"""What bash breaks words at (COMP_WORDBREAKS), of what a name or an option of ours may have."""
_UNQUOTED: Final = re.compile(r"[^\w@%+=:,./*~^-]")


def asked_by_bash() -> bool:
    """Whether this process is to complete a line of bash, whose words come in lines."""
    name, value = _ASKED
    return os.environ.get(name) == value and "\n" in os.environ.get(WORDS, "") and os.environ.get(WORD, "").isdecimal()


def complete(run: Callable[[], int]) -> int:
    """Run the completion on words that are whole, and write of each answer what bash does not have yet."""
    words, had = joined(os.environ[WORDS].split("\n")[: int(os.environ[WORD]) + 1])
    os.environ[WORDS], os.environ[WORD] = "\n".join(words), str(len(words) - 1)
    # Typer ends the process when it has answered.
    with contextlib.redirect_stdout(io.StringIO()) as answered, contextlib.suppress(SystemExit):
        run()
    for answer in answered.getvalue().splitlines():
        sys.stdout.write(_UNQUOTED.sub(r"\\\g<0>", answer[had:]) + "\n")
    sys.stdout.flush()
    return 0


def joined(typed: list[str]) -> tuple[list[str], int]:
    """The words up to the cursor as they were typed, and how many characters of an answer bash has already."""
    words: list[str] = []
    for word in typed:
        if words and (words[-1].endswith(_BREAKS) or word.startswith(_BREAKS)):
            words[-1] += word
        else:
            words.append(word)
    # A break is no beginning of a word for bash: behind `tenant:` it completes an empty one.
    had = len(words[-1]) - len(typed[-1].lstrip("".join(_BREAKS)))
    option, equals, _ = words[-1].partition("=")
    return words, had - len(option + equals) if equals and option.startswith("-") else had
