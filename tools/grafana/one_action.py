"""One action: how much of it comes and ends, and whether its own limit holds it back."""

from typing import Final

from .dashboards import Dashboard, Row, Variable
from .expressions import INSTALLATION, in_range, now, per_second, total
from .panels import Query, Unit, figure, lines

_ACTION: Final = 'action="$action"'
_GATE: Final = 'gate="action:$action"'
_ACCEPTED: Final = now("bandmaster_action_enqueued_total", _ACTION)
_ENDED: Final = now("bandmaster_action_completed_total", _ACTION)
_FOREMOST: Final = "It has series while the action's gate is among the fullest (metrics.gates)."

_NOW: Final = Row(
    "Now",
    (
        figure(
            *("Not ended", "executions", Unit.NUMBER),
            "bandmaster_action_enqueued_total minus bandmaster_action_completed_total: wait, are scheduled or run.",
            f"{_ACCEPTED} - {_ENDED}",
        ),
        figure(
            *("Active", "executions", Unit.NUMBER, f"bandmaster_gate_held of the gate action:NAME. {_FOREMOST}"),
            now("bandmaster_gate_held", _GATE),
        ),
        figure(
            *("Limit", "executions", Unit.NUMBER),
            f"bandmaster_gate_limit of the gate action:NAME; nothing: there is none. {_FOREMOST}",
            now("bandmaster_gate_limit", _GATE),
        ),
        figure(
            *("Paused", "yes or no", Unit.YES_OR_NO, f"bandmaster_paused of the gate action:NAME. {_FOREMOST}"),
            now("bandmaster_paused", _GATE),
        ),
        figure(
            *("Accepted in this time", "executions", Unit.NUMBER),
            "increase of bandmaster_action_enqueued_total over the time shown. Prometheus extrapolates: it may be a "
            "fraction.",
            in_range("bandmaster_action_enqueued_total", _ACTION),
        ),
        figure(
            *("Ended in this time", "executions", Unit.NUMBER),
            "increase of bandmaster_action_completed_total over the time shown, in whatever state; a fraction, "
            "likewise.",
            in_range("bandmaster_action_completed_total", _ACTION),
        ),
    ),
)
_FLOW: Final = Row(
    "Over time",
    (
        lines(
            *("Accepted and ended", "executions/s", Unit.PER_SECOND),
            "rate of bandmaster_action_enqueued_total and of bandmaster_action_completed_total, which counts any "
            "state.",
            Query(per_second("bandmaster_action_enqueued_total", _ACTION), "accepted"),
            Query(per_second("bandmaster_action_completed_total", _ACTION), "ended"),
            width=12,
        ),
        lines(
            *("Not ended", "executions", Unit.NUMBER),
            "bandmaster_action_enqueued_total minus bandmaster_action_completed_total: wait, are scheduled or run. It "
            "grows "
            "while more is sent than is done.",
            Query(f"{_ACCEPTED} - {_ENDED}", "not ended"),
            width=12,
        ),
        lines(
            *("Active and its limit", "executions", Unit.NUMBER),
            "bandmaster_gate_held of the gate action:NAME. Dashed: bandmaster_gate_limit, if there is one. "
            f"{_FOREMOST}",
            Query(now("bandmaster_gate_held", _GATE), "active"),
            Query(now("bandmaster_gate_limit", _GATE), "limit"),
        ),
        lines(
            *("Waiting behind its limit", "executions", Unit.NUMBER),
            f"bandmaster_gate_waiting of the gate action:NAME: found it closed. {_FOREMOST}",
            Query(now("bandmaster_gate_waiting", _GATE), "waiting"),
        ),
        lines(
            *("Share of all work", "of what was accepted", Unit.RATIO),
            "rate of bandmaster_action_enqueued_total, divided by the sum of the rates of bandmaster_accepted_total.",
            Query(
                f"{total(per_second('bandmaster_action_enqueued_total', _ACTION))} / "
                f"{total(per_second('bandmaster_accepted_total'))}",
                "share",
            ),
        ),
    ),
)
DASHBOARD: Final = Dashboard(
    *("one-action", "One action", "How much of an action comes and ends, and whether its own limit holds it back."),
    variables=(
        Variable("action", "Action", f"label_values(bandmaster_action_enqueued_total{{{INSTALLATION}}}, action)"),
    ),
    rows=(_NOW, _FLOW),
)
