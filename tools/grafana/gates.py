"""Gates, limits, rates and pauses: what holds work back; and fair lanes, ageing."""

from typing import Final

from .dashboards import Dashboard, Row, Variable
from .expressions import INSTALLATION, now, per_second, total
from .panels import Query, Unit, figure, lines, table

_GATE: Final = 'gate=~"$gate"'
_HELD: Final = now("bandmaster_gate_held", _GATE)
_LIMIT: Final = now("bandmaster_gate_limit", _GATE)
_BEHIND: Final = now("bandmaster_gate_waiting", _GATE)
_FOREMOST: Final = "Only the fullest gates have series, and those behind which most wait (metrics.gates)."

_NOW: Final = Row(
    "Now",
    (
        figure(
            *("Full gates", "gates", Unit.NUMBER),
            f"How many have bandmaster_gate_held at bandmaster_gate_limit or above. {_FOREMOST}",
            f"sum({_HELD} >= bool {_LIMIT})",
        ),
        figure(
            *("Fullest gate", "of its limit", Unit.RATIO),
            f"Greatest bandmaster_gate_held / bandmaster_gate_limit. {_FOREMOST}",
            f"max({_HELD} / ({_LIMIT} > 0))",
        ),
        figure(
            *("Most behind one gate", "executions", Unit.NUMBER),
            f"Greatest bandmaster_gate_waiting; one execution may wait behind several. {_FOREMOST}",
            f"max({_BEHIND})",
        ),
        figure(
            *("Pauses", "pauses", Unit.NUMBER),
            "Sum of bandmaster_paused: everything, lanes, gates and kinds that are paused.",
            total(now("bandmaster_paused")),
        ),
        figure(
            *("Active in all lanes", "executions", Unit.NUMBER, "Sum of bandmaster_active over all lanes."),
            total(now("bandmaster_active")),
        ),
        figure(
            *("Limit over all lanes", "executions", Unit.NUMBER),
            "bandmaster_limit (max_concurrent); nothing: any number may be active.",
            now("bandmaster_limit"),
        ),
    ),
)
_GATES: Final = Row(
    "Gates",
    (
        lines(
            *("Fullness", "of the limit", Unit.RATIO),
            "bandmaster_gate_held / bandmaster_gate_limit; gates without a limit, or of limit 0, are not here. "
            f"{_FOREMOST}",
            Query(f"{_HELD} / ({_LIMIT} > 0)", "{{gate}}"),
        ),
        lines(
            *("Held", "executions", Unit.NUMBER, f"bandmaster_gate_held. Dashed: bandmaster_gate_limit. {_FOREMOST}"),
            Query(_HELD, "{{gate}}"),
            Query(_LIMIT, "{{gate}}: limit"),
        ),
        lines(
            *(
                "Waiting behind",
                "executions",
                Unit.NUMBER,
                f"bandmaster_gate_waiting: found the gate closed. {_FOREMOST}",
            ),
            Query(_BEHIND, "{{gate}}"),
        ),
        table(
            *("Gates now", "executions", Unit.NUMBER),
            "bandmaster_gate_held, bandmaster_gate_limit, held / limit, bandmaster_gate_waiting and "
            "bandmaster_paused, by "
            f"gate. {_FOREMOST}",
            Query(total(_HELD, "gate"), "held"),
            Query(total(_LIMIT, "gate"), "limit"),
            Query(f"{total(_HELD, 'gate')} / ({total(_LIMIT, 'gate')} > 0)", "full", Unit.RATIO),
            Query(total(_BEHIND, "gate"), "waiting"),
            Query(total(now("bandmaster_paused", _GATE), "gate"), "paused", Unit.YES_OR_NO),
        ),
    ),
)
_LANES: Final = Row(
    "Lanes",
    (
        lines(
            *("Fullness of lanes", "of the limit", Unit.RATIO),
            "bandmaster_active / bandmaster_active_limit, by lane; lanes without a limit, or of limit 0, are not here.",
            Query(f"{now('bandmaster_active')} / ({now('bandmaster_active_limit')} > 0)", "{{lane}}"),
        ),
        lines(
            *("All lanes together", "executions", Unit.NUMBER),
            "Sum of bandmaster_active over all lanes. Dashed: bandmaster_limit (max_concurrent), if there is one.",
            Query(total(now("bandmaster_active")), "active"),
            Query(now("bandmaster_limit"), "limit"),
        ),
        lines(
            *("Closed by their rate", "gates", Unit.NUMBER),
            "bandmaster_gates_closed_by_rate: gates whose rate keeps back something that waits in the lane.",
            Query(now("bandmaster_gates_closed_by_rate"), "{{lane}}"),
        ),
        lines(
            *("Keys of fair lanes", "users or gates", Unit.NUMBER),
            "Sum of bandmaster_fair_keys over the bands: users, or gates of the lane's kind, that have something "
            "waiting there and take turns; lanes that are not fair are not here.",
            Query(total(now("bandmaster_fair_keys"), "lane"), "{{lane}}"),
        ),
        lines(
            *("Risen by age", "moves/s", Unit.PER_SECOND),
            "rate of bandmaster_risen_total: moves up by one band of what had waited for ageing_seconds.",
            Query(per_second("bandmaster_risen_total"), "{{lane}}"),
        ),
        lines(
            *("Paused", "yes or no", Unit.YES_OR_NO),
            "bandmaster_paused: everything (*), lanes (lane:NAME), gates, and kinds (tenant:*) that are paused.",
            Query(f"{now('bandmaster_paused')} > 0", "{{gate}}"),
        ),
    ),
)
DASHBOARD: Final = Dashboard(
    *("gates", "Gates", "What holds work back: gates, limits, rates and pauses."),
    variables=(Variable("gate", "Gate", f"label_values(bandmaster_gate_held{{{INSTALLATION}}}, gate)", several=True),),
    rows=(_NOW, _GATES, _LANES),
)
