"""``TraceContext``: the span that an execution or a pod belongs to, as W3C Trace Context writes it. Pure.

In the flow: it comes with a request (a header, a field of the event) or from the current span, and goes into the
environment of a pod. What cannot be read is left out, and never a reason to refuse work.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

TRACESTATE_MAX_CHARS: Final = 512
"""All that a tracestate has to be carried for; a longer one is left out."""
_TRACEPARENT_MAX_CHARS: Final = 256
_MEMBERS_MAX: Final = 32
# A later version may have more behind it; of version ff there is none.
_TRACEPARENT: Final = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?P<known>(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(?P<more>-.*)?"
)
_MEMBER: Final = re.compile(
    r"[a-z0-9][a-z0-9_*/@-]{0,255}="
    # Printable ASCII without comma and equals sign, and no space at the end.
    r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)
_IN_ENVIRONMENT: Final = ("TRACEPARENT", "TRACESTATE")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A span to be the parent of others: its trace, its own id, and whether it is sampled."""

    traceparent: str
    tracestate: str = ""
    """What tracing systems add for themselves; empty: nothing."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a program learns of its parent."""
        both = zip(_IN_ENVIRONMENT, (self.traceparent, self.tracestate), strict=True)
        return {name: value for name, value in both if value}


def read_trace(traceparent: object, tracestate: object = None) -> TraceContext | None:
    """Return the context that two texts name.

    Args:
        traceparent: The first; anything but a text in the form of W3C names none.
        tracestate: The second; if it cannot be read, it alone is left out.
    """
    parent = read_traceparent(traceparent)
    return None if parent is None else TraceContext(parent, read_tracestate(tracestate) or "")


def read_environment(environment: Mapping[str, str]) -> TraceContext | None:
    """Return the context in the variables of a program."""
    return read_trace(*(environment.get(name) for name in _IN_ENVIRONMENT))


def read_traceparent(value: object) -> str | None:
    """Return a traceparent in the form of version 00; None if there is none that can be read."""
    if not isinstance(value, str) or len(value) > _TRACEPARENT_MAX_CHARS:
        return None
    found = _TRACEPARENT.fullmatch(value)
    if found is None or (found["version"] == "00" and found["more"]):
        return None
    return f"00-{found['known']}"


def read_tracestate(value: object) -> str | None:
    """Return a tracestate without superfluous spaces; None if there is none that can be read."""
    if not isinstance(value, str) or len(value) > TRACESTATE_MAX_CHARS:
        return None
    members = [member for part in value.split(",") if (member := part.strip(" \t"))]
    if not members or len(members) > _MEMBERS_MAX or not all(_MEMBER.fullmatch(member) for member in members):
        return None
    return ",".join(members)
