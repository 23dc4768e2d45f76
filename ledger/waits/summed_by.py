"""What waits are summed by. Pure: clients name it, too, which know no database."""

from enum import StrEnum


class By(StrEnum):
    """What waits are summed by."""

    ACTION = "action"
    USER = "user"
    GATE = "gate"
    """What they waited behind: gates, lanes (`lane:NAME`) and the limit or pause of everything (`*`)."""
