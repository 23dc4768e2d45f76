"""Documents about fair lanes: by which kind of gates each is fair, and the weights of gates."""

from .document import Answer, Read


class ShareAnswer(Answer):
    """A lane, and whose turns it gives."""

    lane: str
    kind: str | None
    """What precedes the colon of the gates that take turns, such as `user`; none: strict order."""


class OneShare(ShareAnswer, Read):
    """One lane, as it is now."""


class Shares(Read):
    """All fair lanes."""

    shares: list[ShareAnswer]


class WeightAnswer(Answer):
    """The weight of a gate in fair lanes."""

    gate: str
    weight: int


class OneWeight(WeightAnswer, Read):
    """The weight of one gate, as it is now."""


class Weights(Read):
    """All weights that were set; every other gate has 1."""

    weights: list[WeightAnswer]
