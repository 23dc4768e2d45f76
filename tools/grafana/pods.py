"""Executions that run as pods: how many, how they end, and what the cluster costs them.

All are in the lane of events.
"""

from typing import Final

from .dashboards import Dashboard, Row
from .expressions import EVENTS, in_range, now, per_second, quantile, total
from .panels import Query, Unit, figure, lines, table

REASONS: Final = (
    *(
        "Completed",
        "DeadlineExceeded",
        "Error",
        "StartError",
        "OOMKilled",
        "Deleted",
        "Evicted",
        "Preempted",
        "NodeLost",
    ),
    *("ImagePull", "Unschedulable", "CreateContainerConfigError", "PodRejected", "PodAbsent", "infrastructure"),
)
"""Of ends that a pod has told, as ledger/totals.py counts them; a test compares."""
_OF_PODS: Final = f'reason=~"{"|".join(REASONS)}"'
_ENDED: Final = in_range("bandmaster_ended_total", EVENTS, _OF_PODS)
_COMPLETED: Final = in_range("bandmaster_ended_total", EVENTS, 'state="COMPLETED"', _OF_PODS)
_RETRIED: Final = in_range("bandmaster_retried_total", EVENTS)
_GRANTED: Final = in_range("bandmaster_granted_total", EVENTS)

_NOW: Final = Row(
    "Now",
    (
        figure(
            *("Pods", "executions", Unit.NUMBER, "bandmaster_pods: were handed over to a pod and have not ended."),
            now("bandmaster_pods"),
        ),
        figure(
            *("Active, lane executions", "executions", Unit.NUMBER),
            "bandmaster_active of the lane: hold a slot, their pods not yet created included.",
            now("bandmaster_active", EVENTS),
        ),
        figure(
            *(
                "Waiting, lane executions",
                "executions",
                Unit.NUMBER,
                "Sum of bandmaster_waiting of the lane, over the bands.",
            ),
            total(now("bandmaster_waiting", EVENTS)),
        ),
        figure(
            *("Handed over in this time", "attempts", Unit.NUMBER),
            "increase of bandmaster_handed_over_total over the time shown. Prometheus extrapolates: it may be a "
            "fraction.",
            in_range("bandmaster_handed_over_total", EVENTS),
        ),
        figure(
            *("Completed in this time", "of ended", Unit.RATIO),
            "Of the ends with a pod's reason in the time shown (increase of bandmaster_ended_total), the share of "
            "state COMPLETED.",
            f"{total(_COMPLETED)} / {total(_ENDED)}",
        ),
        figure(
            *("Tried again in this time", "of attempts", Unit.RATIO),
            "increase of bandmaster_retried_total of the lane over the time shown, divided by that of "
            "bandmaster_granted_total.",
            f"{total(_RETRIED)} / {total(_GRANTED)}",
        ),
    ),
)
_FLOW: Final = Row(
    "Over time",
    (
        lines(
            *("Pods and slots", "executions", Unit.NUMBER),
            "bandmaster_pods, and bandmaster_active of the lane. Between them: those whose pod is not yet created. "
            "Dashed: "
            "bandmaster_active_limit, if there is one.",
            Query(now("bandmaster_pods"), "pods"),
            Query(now("bandmaster_active", EVENTS), "active"),
            Query(now("bandmaster_active_limit", EVENTS), "limit"),
        ),
        lines(
            *(
                "Handed over",
                "attempts/s",
                Unit.PER_SECOND,
                "rate of bandmaster_handed_over_total: attempts that a pod took.",
            ),
            Query(per_second("bandmaster_handed_over_total", EVENTS), "handed over"),
        ),
        lines(
            *("How long a slot is held", "seconds", Unit.SECONDS),
            "Quantiles 0.5 and 0.95 of bandmaster_run_seconds of the lane: the creation of the pod and its life.",
            Query(quantile(0.5, "bandmaster_run_seconds", EVENTS), "p50"),
            Query(quantile(0.95, "bandmaster_run_seconds", EVENTS), "p95"),
        ),
        lines(
            *("Ends by reason", "executions/s", Unit.PER_SECOND),
            "rate of bandmaster_ended_total of the lane, of reasons that a pod gives, summed by reason.",
            Query(total(per_second("bandmaster_ended_total", EVENTS, _OF_PODS), "reason"), "{{reason}}"),
            stacked=True,
        ),
        lines(
            *("Tried again by reason", "attempts/s", Unit.PER_SECOND),
            "rate of bandmaster_retried_total of the lane, by reason: Evicted, NodeLost and the like are the "
            "cluster's doing.",
            Query(total(per_second("bandmaster_retried_total", EVENTS), "reason"), "{{reason}}"),
            stacked=True,
        ),
        lines(
            *("Leases that ran out", "leases/s", Unit.PER_SECOND),
            "rate of bandmaster_reaped_total of the lane: whoever held the slot crashed, hung or was cut off.",
            Query(per_second("bandmaster_reaped_total", EVENTS), "reaped"),
        ),
        table(
            *("Ends in this time", "executions", Unit.NUMBER),
            "increase of bandmaster_ended_total of the lane over the time shown, by state and reason, where there is "
            "any; and "
            "its share of all ends with a pod's reason. Prometheus extrapolates: it may be a fraction.",
            Query(f"{total(_ENDED, 'state', 'reason')} > 0", "ended"),
            Query(f"{total(_ENDED, 'state', 'reason')} / on () group_left {total(_ENDED)} > 0", "share", Unit.RATIO),
        ),
    ),
)
DASHBOARD: Final = Dashboard(
    *("pods", "Pods", "Executions that run as pods: how many, how they end, and what the cluster costs them."),
    variables=(),
    rows=(_NOW, _FLOW),
)
