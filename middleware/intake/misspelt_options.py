"""Refuses message options whose names are nearly those of ours, since Dramatiq would ignore them silently.

In the flow: called before a message of a gated actor is read. An option that any middleware of the broker declares
(``actor_options``) is accepted, whatever its name; so is any name that is far from ours. Pure functions.
"""

from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

from dramatiq import Broker, Message

from ...scheduler.model.errors import SHOWN_CHARS, InvalidRequest, shown
from .message_options import MESSAGE_OPTIONS

OPTIONS: Final = MESSAGE_OPTIONS | {"delay", "max_age"}
"""Ours, and those of Dramatiq whose meaning we change."""
OTHER_WORDS: Final = {
    "priority": "band",
    "uid": "user_id",
    "username": "user_id",
    "jobid": "execution_id",
    "taskid": "execution_id",
    "executeat": "scheduled_at",
    "notbefore": "scheduled_at",
    "runat": "scheduled_at",
    "scheduledfor": "scheduled_at",
    "startat": "scheduled_at",
    "countdown": "delay",
    "delayms": "delay",
}
"""Names of the same options in other libraries."""
_NEARNESS: Final = 0.82
_SHORTEST_BEGINNING: Final = 4


def check_options(broker: Broker, message: "Message[Any]") -> None:
    """Check that no option of a message is a misspelt option of ours.

    Raises:
        InvalidRequest: If one seems to be; the error names the option that is probably meant.
    """
    if not message.options:
        return
    for name in message.options.keys() - OPTIONS - broker.actor_options:
        option = meant_by(name)
        if option is not None:
            raise InvalidRequest(
                shown(name)[1:-1],
                f"no option of a message has this name; {option} is meant, perhaps",
                allowed=f"{', '.join(sorted(OPTIONS))}; an own middleware's, once its actor_options name them",
            )


@lru_cache(maxsize=1024)
def meant_by(name: str) -> str | None:
    """Return the option of ours that a name seems to mean; None if it resembles none."""
    plain = _plain(name[:SHOWN_CHARS])
    if plain in OTHER_WORDS:
        return OTHER_WORDS[plain]
    for known, option in _BY_PLAIN_NAME.items():
        if sorted(plain) == sorted(known) or (len(plain) >= _SHORTEST_BEGINNING and known.startswith(plain)):
            return option
    # The first letter is hardly ever the wrong one.
    near = [known for known in _BY_PLAIN_NAME if plain[:1] == known[0]]
    return next((_BY_PLAIN_NAME[known] for known in get_close_matches(plain, near, 1, _NEARNESS)), None)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


_BY_PLAIN_NAME: Final = {_plain(option): option for option in sorted(OPTIONS)}
