"""Notes on standard error, and the escapes without which no text of others is shown.

In the flow: `screen`, which shows results, builds on it. The output of programs and the input of callers are untrusted:
an escape sequence in them must not move the cursor, forge a line or change the title (F27).
"""

import contextlib
import sys
import unicodedata
from typing import Final

from bandmaster.cli.streams import StreamLost

_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that have an effect instead of a shape: controls, direction marks, line ends."""


def escaped(text: str, *, keep: str = "") -> str:
    r"""The text with every unsafe character escaped, like ``\x1b``, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode() if c not in keep and unicodedata.category(c) in _UNSAFE else c for c in text
    )


def escaped_lines(text: str) -> str:
    """The same for a text of several lines: newlines and tabs are kept."""
    return escaped(text, keep="\n\t")


def note(text: str) -> None:
    """Write one line to standard error, with the common prefix; if the stream is lost, the command goes on."""
    sys.stdout.flush()
    with contextlib.suppress(StreamLost):
        sys.stderr.write(f"bandmaster: {escaped(text)}\n")
