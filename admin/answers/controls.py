"""Documents about limits, rates, pauses and settings, and who changed them."""

from typing import Literal

from .document import Answer, Read


class LimitAnswer(Answer):
    """The limit that holds for a gate, or for each gate of a kind."""

    gate: str
    limit: int | None
    limited_by: str | None
    declared: bool
    held: int | None
    auto: str | None = None
    """As in `auto(2,50)`, the bounds within which the limit adjusts itself; none: it does not."""


class OneLimit(LimitAnswer, Read):
    """The limit of one gate or kind, as it is now."""


class Limits(Read):
    """All limits."""

    limits: list[LimitAnswer]


class RateAnswer(Answer):
    """The rate that holds for a gate, or for each gate of a kind."""

    gate: str
    rate: str | None
    """As in `100/m burst 5`; none: it has no rate."""
    rated_by: str | None
    """The gate or kind that the rate was set for."""
    declared: bool
    """Whether actors declare it; else an operator set it."""


class OneRate(RateAnswer, Read):
    """The rate of one gate or kind, as it is now."""


class Rates(Read):
    """All rates."""

    rates: list[RateAnswer]


class Pauses(Read):
    """Everything that is paused, by name, with the time since when."""

    paused: dict[str, str]


class Changed(Answer):
    """What a change did."""

    name: str
    changed: bool
    """False: it was so before."""


class SettingAnswer(Answer):
    """A runtime setting."""

    name: str
    lane: str | None
    """The lane whose bound it is; none if it is no lane's."""
    value: float | None
    """None: no bound."""


class OneSetting(SettingAnswer, Read):
    """One setting, as it is now."""


class Settings(Read):
    """All runtime settings in force."""

    settings: list[SettingAnswer]


class AuditEntry(Answer):
    """One change by somebody."""

    at: str
    by: str
    """Who: the owner of a token, its id and its address; or a user and host."""
    who: str
    """The owner of a token, or a user and host."""
    token_id: str | None
    address: str | None
    """From where; none, as is the token: it was not the API."""
    verb: str
    subject: str
    """The gate, lane or setting; the execution, session or token."""
    kind: Literal["control", "execution", "item", "session", "token"]
    before: str | None
    after: str | None
    """The new value; of an execution, its state, or its priority if that was changed; of a token, what it allows."""


class Audit(Read):
    """Who changed what, the latest first."""

    entries: list[AuditEntry]
    next: str | None
