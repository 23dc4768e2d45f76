"""The client of the admin API (extra `client`).

`Client`, `AsyncClient`, the calls that both send, and the streams that both follow; `verify_notification` for programs
that are notified, which needs no extra.
::

    from bandmaster.client import Client, calls

    with Client("https://bandmaster.example", token) as client:
        accepted = client.submit(command=["make", "all"], priority="HIGH")
        print(client.send(calls.show(accepted.execution_id)).state)

A name is imported when it is first used, so that the error names the extra if it is not installed.
"""

from bandmaster.configs.extras import import_extra

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bandmaster.admin.client import calls, streams
    from bandmaster.admin.client.awaiting import AsyncClient
    from bandmaster.admin.client.blocking import Client
    from bandmaster.admin.client.errors import (
        ApiError,
        ApiProblem,
        ApiUnavailable,
        BusinessException,
        ChangedMeanwhile,
        Invalid,
        LinesRefused,
        NotAllowed,
        NotFound,
        PartUnavailable,
        TooMany,
        WrongState,
    )
    from bandmaster.admin.client.execution_items import ExecutionItem, ExecutionItems, items_of_execution
    from bandmaster.admin.client.streams import Event, Reset
    from bandmaster.items.notifying.signature import BadSignature, verify_notification

__all__ = [
    "ApiError",
    "ApiProblem",
    "ApiUnavailable",
    "AsyncClient",
    "BadSignature",
    "BusinessException",
    "ChangedMeanwhile",
    "Client",
    "Event",
    "ExecutionItem",
    "ExecutionItems",
    "Invalid",
    "LinesRefused",
    "NotAllowed",
    "NotFound",
    "PartUnavailable",
    "Reset",
    "TooMany",
    "WrongState",
    "calls",
    "items_of_execution",
    "streams",
    "verify_notification",
]

_ROOM = "bandmaster.admin.client"
_OF_SIGNATURES = "bandmaster.items.notifying.signature"
_MODULE_OF = {
    "AsyncClient": f"{_ROOM}.awaiting",
    "Client": f"{_ROOM}.blocking",
    "Event": f"{_ROOM}.streams",
    "Reset": f"{_ROOM}.streams",
    "ExecutionItem": f"{_ROOM}.execution_items",
    "ExecutionItems": f"{_ROOM}.execution_items",
    "items_of_execution": f"{_ROOM}.execution_items",
    "ApiError": f"{_ROOM}.errors",
    "ApiProblem": f"{_ROOM}.errors",
    "ApiUnavailable": f"{_ROOM}.errors",
    "BusinessException": f"{_ROOM}.errors",
    "ChangedMeanwhile": f"{_ROOM}.errors",
    "Invalid": f"{_ROOM}.errors",
    "LinesRefused": f"{_ROOM}.errors",
    "NotAllowed": f"{_ROOM}.errors",
    "NotFound": f"{_ROOM}.errors",
    "PartUnavailable": f"{_ROOM}.errors",
    "TooMany": f"{_ROOM}.errors",
    "WrongState": f"{_ROOM}.errors",
    "BadSignature": _OF_SIGNATURES,
    "verify_notification": _OF_SIGNATURES,
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object
    if name in _MODULE_OF:
        value = getattr(import_extra(_MODULE_OF[name], "client"), name)
    else:
        value = import_extra(f"{_ROOM}.{name}", "client")
    globals()[name] = value
    return value
