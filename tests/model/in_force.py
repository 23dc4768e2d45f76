"""Which limits and rates hold for a gate, read from a dump the slow way."""

import math
from collections.abc import Callable

from bandmaster.scheduler.model.auto import Adjusted
from model.dump import Dump


def effective_limits(dump: Dump) -> Callable[[str], tuple[float, str | None]]:
    """From a gate to the limit that holds for it, and to its kind if that one's does."""
    declared: dict[str, int] = {}
    for field, limit in dump["limits:defaults"].hash.items():
        name, _, lane = field.partition("\n")
        if lane and not limit.startswith("auto"):
            declared[name] = min(int(limit), declared.get(name, int(limit)))
    declared |= {gate: each.now for gate, each in adjusted_of(dump).items() if each.is_declared}
    set_ = {
        name: int(limit)
        for key in ("limits", "limits:defaults")
        for name, limit in dump[key].hash.items()
        if not limit.startswith("auto")
    }

    def limit_of(gate: str) -> tuple[float, str | None]:
        kind = gate.split(":")[0] + ":*" if ":" in gate else ""
        for name in (gate, kind):
            limit = set_.get(name, declared.get(name))
            if limit is not None:
                return limit, None if name == gate else kind
        return math.inf, None

    return limit_of


def adjusted_of(dump: Dump) -> dict[str, Adjusted]:
    """The limits that adjust themselves: each is within its bounds, and marked in the settings."""
    found: dict[str, Adjusted] = {}
    assert dump["settings"].hash.get("auto", "").splitlines() == sorted(dump["auto_limits"].hash)
    for gate, text in dump["auto_limits"].hash.items():
        adjusted = Adjusted.from_stored(text)
        assert adjusted is not None, f"the figures of {gate} are damaged"
        found[gate] = adjusted
        assert adjusted.auto.least <= adjusted.now <= adjusted.auto.most, f"{gate} has left its bounds"
        assert adjusted.is_declared or dump["limits"].hash[gate] == str(adjusted.now)
    return found


def effective_rates(dump: Dump) -> Callable[[str], tuple[str | None, bool]]:
    """From a gate to the rate that holds for it, as it is stored, and whether it is that of its kind."""
    stored = dump["rates"].hash

    def rate_of(gate: str) -> tuple[str | None, bool]:
        kind = gate.split(":")[0] + ":*" if ":" in gate else gate
        for name in (gate, gate + "\n", kind, kind + "\n"):
            if name in stored:
                return stored[name], name.startswith(kind) and kind != gate
        return None, False

    return rate_of
