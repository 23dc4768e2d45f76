"""``Subject``: what has an address that is told things. Needs nothing, so that commands know it, too."""

from enum import StrEnum


class Subject(StrEnum):
    """Whose address is told."""

    QUEUE = "queue"
    TRIGGER = "trigger"
