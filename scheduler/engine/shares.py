"""Fair lanes: which lanes share their slots fairly between the gates of a kind, and the weights of those gates.

In the flow: applications and operators call these; the scripts that accept executions read the values in Redis. Each
change is effective at once in every process and stands in the journal. Repeating a call does no harm.
"""

from typing import Final

from ..keys import fair_field, fair_kind, fair_lane
from ..model.errors import InvalidRequest, shown
from ..model.identifiers import check_lane
from ..model.limits import OF_KIND, check_gate, check_limited
from ..model.operators import check_by
from ..transport.reading import Reader, repeated
from ..transport.scripts import Scripts

MOST_WEIGHT: Final = 1_000
FAIR_BY: Final = "fair_by"
UNWEIGHED: Final = 1
WEIGHT: Final = "weight:"
"""Before a gate in the journal's name of a change of its weight."""


def check_kind(kind: object) -> str:
    """Return the value if it is a kind of gates, such as `user`; else raise InvalidRequest."""
    if not isinstance(kind, str) or not kind or ":" in kind or kind == "*":
        allowed = "what precedes a gate's first colon, like user"
        raise InvalidRequest(FAIR_BY, f"{shown(kind)} is no kind of gates", allowed=allowed)
    return check_limited(kind + OF_KIND).removesuffix(OF_KIND)


def check_weight(weight: object) -> None:
    """Raise InvalidRequest unless the value may be a weight."""
    if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= MOST_WEIGHT:
        allowed = f"a whole number, 1 to {MOST_WEIGHT}"
        raise InvalidRequest("weight", f"{shown(weight)} is not a weight", allowed=allowed)


class Shares(Reader):
    """Fair lanes and weights on one server."""

    def __init__(self, scripts: Scripts, *, by: str | None = None) -> None:
        """Makes no call. `by`: the name for calls that give none; None: user, host and program of this process."""
        super().__init__(scripts)
        self._by = None if by is None else check_by(by)
        self._share = scripts.script("share", "lane kind only_if_unset by")
        self._weigh = scripts.script("weigh", "gate weight by")

    def share(self, lane: str, kind: str | None, *, by: str | None = None, only_if_unset: bool = False) -> str | None:
        """Let the gates of a kind take turns in a lane, within each band; what waits already goes first.

        Args:
            lane: The lane.
            kind: What precedes the colon of a gate, such as `user`; None: strict order again.
            by: Who makes the change, for the journal.
            only_if_unset: Leave what is chosen already, strict order too. Such a call is no operator's change.

        Returns:
            The kind before.

        Raises:
            InvalidRequest: If the lane or the kind is not allowed.
        """
        wanted = "" if kind is None else check_kind(kind)
        asker = "" if only_if_unset else check_by(self._by if by is None else by)
        before = self._scripts.call(self._share, check_lane(lane), wanted, int(only_if_unset), asker)
        return before.decode() or None

    def weigh(self, gate: str, weight: int | None, *, by: str | None = None) -> int:
        """Set the weight of a gate in fair lanes: of two with work, that of twice the weight starts twice as often.

        Args:
            gate: `user:Y` or any gate key.
            weight: 1 to 1,000; None: 1, as for those that have none. It holds for what is accepted from now on.
            by: Who makes the change, for the journal.

        Returns:
            The weight before.

        Raises:
            InvalidRequest: If the gate or the weight is not allowed.
        """
        if weight is not None:
            check_weight(weight)
        wanted = "" if weight is None else weight
        return self._scripts.call(self._weigh, check_gate(gate), wanted, check_by(self._by if by is None else by))

    @repeated
    def kind_of(self, lane: str) -> str | None:
        """The kind of gates by which a lane is fair; None: it is strict."""
        return fair_kind(self._client.hget(self._scripts.keys.named("settings"), fair_field(lane)))

    @repeated
    def fair(self) -> dict[str, str]:
        """The kind of gates by which each fair lane is so, by lane."""
        settings = self._client.hgetall(self._scripts.keys.named("settings"))
        fields = {field.decode(): kind.decode() for field, kind in settings.items()}
        lanes = {lane: kind for field, kind in fields.items() if kind and (lane := fair_lane(field)) is not None}
        return dict(sorted(lanes.items()))

    @repeated
    def weight_of(self, gate: str) -> int:
        """The weight of a gate; 1 if none was set."""
        return int(self._client.hget(self._scripts.keys.named("weights"), gate) or UNWEIGHED)

    @repeated
    def weights(self) -> dict[str, int]:
        """Every weight that was set, by gate."""
        found = self._client.hgetall(self._scripts.keys.named("weights"))
        return {gate.decode(): int(weight) for gate, weight in sorted(found.items())}
