"""What an operator turns: limits of gates, pauses, runtime settings. All take effect at once, on every process.

In the flow: the command line and applications call these; admission reads what they write, in Redis, in the script
that admits (D14). Repeating a call does no harm.
"""

from .answering import answered
from .errors import InvalidRequest, shown
from .identifiers import check_action, check_gate_key, check_lane, check_user_id
from .scripts import Scripts

SETTING_MAX = 10**10
EVERYTHING = "*"
"""The name to pause the whole queue by."""


def check_limited(gate: object) -> str:
    """The value, if it names a gate: `action:X`, `user:Y` or any key; else InvalidRequest."""
    if gate == EVERYTHING:
        raise InvalidRequest(
            "gate", "'*' is no gate", allowed="the setting max_concurrent_executions limits everything"
        )
    if isinstance(gate, str):
        kind, _, rest = gate.partition(":")
        if kind == "action":
            return f"action:{check_action(rest)}"
        if kind == "user":
            return f"user:{check_user_id(rest)}"
    return check_gate_key(gate)


def check_pausable(name: object) -> str:
    """The value, if it names what can be paused: a gate, `lane:NAME` or `*`; else InvalidRequest."""
    if name == EVERYTHING:
        return EVERYTHING
    if isinstance(name, str) and name.startswith("lane:"):
        return f"lane:{check_lane(name.removeprefix('lane:'))}"
    return check_limited(name)


def check_limit(name: str, value: object) -> None:
    """Raise InvalidRequest unless the value may be a limit."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequest(name, f"{shown(value)} is not a limit", allowed="a whole number, 0 or more")


def _whole(value: object) -> int:
    """The value, if it is a whole number, else one that no setting may have."""
    return value if isinstance(value, int) else -1


class Controls:
    """Limits, pauses and runtime settings on one server."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._limit = scripts.script("limit", "gate limit")
        self._set = scripts.script("set", "name value only_if_unset")
        self._pause = scripts.script("pause", "gate")
        self._resume = scripts.script("resume", "gate")

    def set_limit(self, gate: str, limit: int | None) -> int:
        """Let at most `limit` executions hold a gate at once; None lifts the limit.

        Args:
            gate: `action:X`, `user:Y` or any gate key.
            limit: 0 or more; a lowered one takes effect as running executions end.

        Returns:
            How many hold the gate now.

        Raises:
            InvalidRequest: If the gate or the limit is not allowed.
        """
        check_limited(gate)
        if limit is not None:
            check_limit("limit", limit)
        return int(self._scripts.call(self._limit, gate, "" if limit is None else limit))

    @answered()
    def limits(self) -> dict[str, int]:
        """Every gate's limit."""
        raw = self._scripts.client.hgetall(self._scripts.keys.named("limits"))
        return {gate.decode(): int(limit) for gate, limit in sorted(raw.items())}

    def pause(self, name: str = EVERYTHING) -> bool:
        """Let nothing pass a gate, a lane (`lane:NAME`) or, with `*`, anything. What runs goes on.

        Returns:
            Whether it was not paused before.
        """
        return self._scripts.call(self._pause, check_pausable(name)) == 1

    def resume(self, name: str = EVERYTHING) -> bool:
        """End a pause. The time paused does not count as waiting.

        Returns:
            Whether it was paused.
        """
        return self._scripts.call(self._resume, check_pausable(name)) == 1

    @answered()
    def paused(self) -> dict[str, int]:
        """What is paused, and since when in unix milliseconds."""
        raw = self._scripts.client.hgetall(self._scripts.keys.named("paused"))
        stamps = {name.decode(): int(since) for name, since in sorted(raw.items())}
        return {name: since for name, since in stamps.items() if "\n" not in name}

    def change_setting(self, name: str, value: int | None, *, only_if_unset: bool = False) -> float:
        """Change a runtime setting for every process at once.

        Args:
            name: One of those that `status` lists, such as max_concurrent_executions.
            value: 0 or more (a time to live: 1 or more); None for the default.
            only_if_unset: Leave what somebody has set already.

        Returns:
            The value in force.

        Raises:
            InvalidRequest: If there is no such setting, or the value is not allowed.
        """
        # Redis refuses to expire a key in 0 s or beyond its calendar, and a script would fail in its middle.
        least = 1 if "_ttl_" in name else 0
        if value is not None and (isinstance(value, bool) or not least <= _whole(value) <= SETTING_MAX):
            allowed = f"a whole number, {least} to {SETTING_MAX}"
            raise InvalidRequest(name, f"{shown(value)} is not a setting's value", allowed=allowed)
        code, in_force = self._scripts.call(self._set, name, "" if value is None else value, int(only_if_unset))
        if code == b"UNKNOWN":
            raise InvalidRequest("setting", f"{shown(name)} is not a setting", allowed="those that `status` lists")
        return float(in_force)
