"""Says in a sentence what an execution waited for. Pure.

In the flow: ``bandmaster show`` prints one for each wait, from what its desk told.
"""

from dataclasses import asdict
from typing import Final

from bandmaster.cli.desk.told import Wait, Waits
from bandmaster.cli.times import show_duration
from bandmaster.ledger.waits.attributing import Cause, Part

SHOWN: Final = 5
"""So many waits are shown, the latest."""
_NAMED: Final = 3
"""So many holders are named."""
_EVERYTHING: Final = "*"
_NOT_COMPLETE: Final = "there were earlier waits, or the ledger has not read of all of them yet"


def sentences(waits: Waits) -> list[str]:
    """One for each wait that took any time, of several each with its attempt; and what is left out."""
    told = [each for each in waits.each if each.ms]
    several = len(waits.each) > 1
    found = [(f"for attempt {each.attempt}: " if several else "") + _sentence(each) for each in told[-SHOWN:]]
    if before := len(told) - len(found):
        found.append(f"and {before} before, which --json has")
    return found if waits.complete else [*found, _NOT_COMPLETE]


def wait_as_json(wait: Wait) -> dict[str, object]:
    """A wait for JSON, as the API tells it."""
    parts = [{name: value for name, value in asdict(part).items() if name != "spans"} for part in wait.parts]
    return {"attempt": wait.attempt, "ms": wait.ms, "sampled": wait.sampled, "parts": parts}


def _sentence(wait: Wait) -> str:
    parts = "; ".join(f"{show_duration(part.ms)} {_why(part)}" for part in wait.parts)
    return f"{show_duration(wait.ms)}: {parts}{' (estimated from a sample)' if wait.sampled else ''}"


def _why(part: Part) -> str:
    match part.cause:
        case Cause.DELAY:
            return "until it was due"
        case Cause.PAUSE:
            return f"while {'everything' if part.name == _EVERYTHING else part.name} was paused"
        case Cause.RATE:
            return f"for the rate of {part.name}"
        case Cause.GATE:
            return f"behind {part.name}{_held(part)}"
        case Cause.LANE:
            return f"for a slot of lane {part.name}{_held(part)}"
        case Cause.EVERYTHING:
            return f"for a slot of any lane{_held(part)}"
        case Cause.THREAD:
            return "for a thread" + (f", {part.started_ahead} began before it" if part.started_ahead else "")


def _held(part: Part) -> str:
    if not part.holder_count:
        return f", whose limit was {part.limit}"
    names = [each.execution_id for each in part.holders[:_NAMED]]
    if others := part.holder_count - len(names):
        names.append(f"{others} {'other' if others == 1 else 'others'}")
    return f", held by {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"
