"""Queues of items, and triggers: what waits for robots and for executions, and how it ends."""

from typing import Final

from .dashboards import Dashboard, Row, Variable
from .expressions import INSTALLATION, now, per_second, total
from .panels import Query, Unit, figure, lines, table

_QUEUE: Final = 'queue=~"$queue"'
_NEW: Final = now("bandmaster_items", _QUEUE, 'status="NEW"')
_LIVING: Final = now("bandmaster_items", _QUEUE)
_OLDEST: Final = now("bandmaster_items_oldest_seconds", _QUEUE)
_ENDED: Final = now("bandmaster_items_ended_last_hour", _QUEUE)
_FOREMOST: Final = "Only the queues with the most that is new have series (metrics.gates)."

_NOW: Final = Row(
    "Now",
    (
        figure(
            *("New", "items", Unit.NUMBER),
            f"Sum of bandmaster_items with status NEW over queues: ready to be handed out. {_FOREMOST}",
            total(_NEW),
        ),
        figure(
            *("Oldest", "seconds", Unit.SECONDS),
            f"Greatest bandmaster_items_oldest_seconds of the queues; 0: none waits. {_FOREMOST}",
            f"max({_OLDEST})",
        ),
        figure(
            *("Ended in the last hour", "items", Unit.NUMBER),
            f"Sum of bandmaster_items_ended_last_hour over queues and ends. {_FOREMOST}",
            total(_ENDED),
        ),
        figure(
            *("Triggers that fail", "triggers", Unit.NUMBER),
            "bandmaster_triggers_failing: those that are enabled, and whose last firing was not accepted.",
            now("bandmaster_triggers_failing"),
        ),
        figure(
            *("Firings to be sent", "firings", Unit.NUMBER),
            "bandmaster_firings_unsent: they have claimed their items, and Redis has not accepted them yet.",
            now("bandmaster_firings_unsent"),
        ),
    ),
)
_QUEUES: Final = Row(
    "Queues",
    (
        lines(
            *("New items", "items", Unit.NUMBER, f"bandmaster_items with status NEW, by queue. {_FOREMOST}"),
            Query(_NEW, "{{queue}}"),
        ),
        lines(
            *("Items by status", "items", Unit.NUMBER),
            f"Sum of bandmaster_items over queues, by status: what lives. {_FOREMOST}",
            Query(total(_LIVING, "status"), "{{status}}"),
            stacked=True,
        ),
        lines(
            *("Oldest item", "seconds", Unit.SECONDS, f"bandmaster_items_oldest_seconds, by queue. {_FOREMOST}"),
            Query(_OLDEST, "{{queue}}"),
        ),
        lines(
            *("Ends of the last hour", "items", Unit.NUMBER),
            f"Sum of bandmaster_items_ended_last_hour over queues, by status, at each moment. {_FOREMOST}",
            Query(total(_ENDED, "status"), "{{status}}"),
            stacked=True,
        ),
        table(
            *("Queues now", "items", Unit.NUMBER),
            "bandmaster_items by status, bandmaster_items_ended_last_hour and bandmaster_items_oldest_seconds, by "
            f"queue. {_FOREMOST}",
            Query(total(_NEW, "queue"), "new"),
            Query(total(now("bandmaster_items", _QUEUE, 'status="POSTPONED"'), "queue"), "postponed"),
            Query(total(now("bandmaster_items", _QUEUE, 'status="IN_PROGRESS"'), "queue"), "held"),
            Query(total(_ENDED, "queue"), "ended"),
            Query(total(_OLDEST, "queue"), "oldest", Unit.SECONDS),
        ),
    ),
)
_NOTIFICATIONS: Final = Row(
    "Notifications",
    (
        lines(
            *("Ends of notifications", "notifications a second", Unit.PER_SECOND),
            "rate of bandmaster_notified_total, by outcome: sent (a receiver took it), or failed (it was given up).",
            Query(total(per_second("bandmaster_notified_total"), "outcome"), "{{outcome}}"),
        ),
        lines(
            *("Notifications that wait", "notifications", Unit.NUMBER),
            "bandmaster_notifications_waiting: no receiver has taken them yet.",
            Query(now("bandmaster_notifications_waiting"), "waiting"),
        ),
        lines(
            *("Oldest notification", "seconds", Unit.SECONDS),
            "bandmaster_notifications_oldest_seconds: how long the one that waits longest has; 0: none waits.",
            Query(now("bandmaster_notifications_oldest_seconds"), "oldest"),
        ),
    ),
)
DASHBOARD: Final = Dashboard(
    *("queues", "Queues", "Queues of items for robots and executions, triggers, and notifications."),
    variables=(Variable("queue", "Queue", f"label_values(bandmaster_items{{{INSTALLATION}}}, queue)", several=True),),
    rows=(_NOW, _QUEUES, _NOTIFICATIONS),
)
