"""What each route needs, written down by hand: the authorisation matrix compares the API with it, not with itself.

A route that is not here fails. Below ``/api/v1/admin``, the scope admin is needed as well.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bandmaster.admin.auth.scopes import Scope

_OPERATIONS: Final[Mapping[Scope, tuple[str, ...]]] = MappingProxyType(
    {
        Scope.READ: (
            # Who changes an execution needs submit or operate beyond it, by whose it is: the matrix asks for that, too.
            "cancel",
            "change_bulk",
            "drop",
            "follow_events",
            "follow_logs",
            "list_actions",
            "list_dead",
            "list_executions",
            "list_gates",
            "list_lanes",
            "list_living",
            "list_pauses",
            "list_settings",
            "list_shards",
            "list_waits",
            "list_workers",
            "move",
            "plan_bulk",
            "retry",
            "show",
            "show_demand",
            "show_logs",
            "show_payload",
            "show_queue",
            "show_queue_stats",
            "show_result",
            "show_session",
            "show_timeline",
            "show_waits",
            "sign_out",
            "whoami",
        ),
        Scope.SUBMIT: (
            "add_item",
            "submit",
            "upload",
        ),
        Scope.OPERATE: (
            "delete_item",
            "drop_action",
            "edit_item",
            "list_item_queues",
            "list_notifications",
            "list_triggers",
            "send_queue_test",
            "send_trigger_test",
            "show_notification",
            "show_trigger",
            "list_items",
            "show_item",
            "show_item_queue",
            "show_item_stats",
            "lift_limit",
            "lift_rate",
            "lift_weight",
            "list_shares",
            "list_weights",
            "list_schedules",
            "pause_schedule",
            "resume_schedule",
            "run_schedule",
            "set_weight",
            "show_next_times",
            "show_schedule",
            "show_share",
            "show_weight",
            "list_limits",
            "list_rates",
            "list_users",
            "pause",
            "resume",
            "set_limit",
            "set_rate",
            "show_limit",
            "show_rate",
            "show_setting",
        ),
        Scope.ROBOT: (
            "add_item_by_name",
            "claim_item",
            "claim_items",
        ),
        Scope.SETTLE: (
            "settle_item",
            "show_held_item",
        ),
        Scope.ADMIN: (
            "change_item_queue",
            "change_setting",
            "change_trigger",
            "create_trigger",
            "delete_trigger",
            "create_item_queue",
            "delete_item_queue",
            "create_token",
            "end_share",
            "export_items",
            "remove_schedule",
            "set_schedule",
            "set_share",
            "list_changes",
            "list_tokens",
            "reset_setting",
            "revoke_token",
            "upload_items",
        ),
    }
)
NEEDED: Final[Mapping[str, Scope]] = MappingProxyType(
    {operation: scope for scope, operations in _OPERATIONS.items() for operation in operations}
)
"""Operation → the scope without which it answers 403."""
