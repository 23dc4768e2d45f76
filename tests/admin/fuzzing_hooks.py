"""What Schemathesis is told beside its checks, in its own process: what a JSON schema cannot say, and what to count.

A finding is dropped only where the document cannot tell the rule that the API keeps; each stands here with its reason.
"""

import atexit
import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

import schemathesis
from schemathesis import Case, HookContext, Response, SerializationContext
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import AllowHeaderMismatch, RejectedPositiveData, UseAfterFree

_PRINTABLE: Final = "printable, not all blank: which characters are is said by Unicode and by no regular expression"
UNSAID: Final = {
    **dict.fromkeys(("gate", "gates", "name", "user", "user_id", "owner", "metadata", "reason"), _PRINTABLE),
    "script": "not all blank, and without NUL",
    "command": "its first text names a program; without NUL",
    "script, command": "exactly one of the two, where null stands for none",
    "token, code": "likewise",
    "priority": "of a change of many: given if its action is move, and only then",
    "submission": "a JSON object, as a text",
    "file_name": "of an upload: the file's",
    "cursor": "that of an earlier answer, and those are opaque",
    **dict.fromkeys(("cpu_request", "cpu_limit", "memory_request", "memory_limit"), "a Kubernetes quantity in bounds"),
    "auto": "from 1 to 1,000,000, the least below the most; and of a gate, not of a kind",
    "rate": "at most 1,000,000 in 1 ms to 366 d, with a burst of 1 to 1,000,000",
    "kind": "printable, without a colon or what no gate's key has",
    "runtime": "one that runs scripts",
    "cron": "five fields, each with what may stand there, and times that come",
    "tz": "a zone of the IANA's database",
    "jitter_ms": "shorter than the interval",
    "end": "after the start",
    "args": "of an actor, and not of a command; what JSON holds",
    "kwargs": "likewise",
    "lane": "likewise",
    "image": "of a command, and not of an actor",
    "timeout_seconds": "likewise",
    "actor": "printable",
    "actor, command": "one of the two",
    "schedule": "at most 8192 bytes in all",
    "If-None-Match": "nothing but *",
    **dict.fromkeys(("scheduled_at", "start_at", "end_at"), "the years 2000 to 2099"),
    **dict.fromkeys(("from", "to"), "the years 1970 to 9999"),
    "expires_at": "a time that is not over yet, up to the year 9999",
    **dict.fromkeys(("queue_id", "batch_size", "polling_interval"), "with the type QUEUE, and only with it"),
    "queue_id, queue_name": "exactly one of the two, where null stands for none",
    "payload_schema": "a JSON Schema without look-around, references to elsewhere, and bounded",
    **dict.fromkeys(("payload", "result"), "without NUL, bounded in bytes and depth"),
    "deadline_at": "the years 1970 to 9999",
    "postpone_until": "with the status POSTPONED, and only with it",
    "failure": "with the status FAILED only",
    "robot_id": "with the scopes robot and settle, and only with them; or who speaks is a robot",
    "queues": "with the scopes robot and settle only",
    "notify_url": "of a receiver, and only where there is a secret to sign with",
    "status": "not with postpone_until",
    "setting": "with a lane: one that each lane has",
    "the first line": "of a CSV: it names fields of items",
}
"""The first part of the name of a refused field, with the rule that its schema leaves unsaid."""
OF_ITEMS: Final = ("/queue-items/add", "/queue-items/next")
_SIGNING_IN: Final = "/api/v1/session"
"""Any text may be a token's; whether it is one is not said by the document."""
_answers: defaultdict[str, Counter[int]] = defaultdict(Counter)


_STAYS: Final = tuple(f"/api/v1/{each}/" for each in ("limits", "rates", "settings", "shares", "tokens", "weights"))
"""What is deleted of these has its default again, and a token that was revoked is told of: none is gone."""


@schemathesis.serializer("application/x-ndjson")
def file_of_items(context: SerializationContext, value: Any) -> bytes:
    """A line that is one, a line that is none, or whatever was drawn instead of a text."""
    return b"{}\n" if value == "" else str(value).encode(errors="replace")


@schemathesis.hook
def filter_failure(context: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    """Whether a finding is one."""
    if isinstance(failure, RejectedPositiveData) and response.status_code == 422:
        return not _is_unsaid(response.json(), case)
    if isinstance(failure, RejectedPositiveData) and case.path == _SIGNING_IN:
        return response.status_code != 401
    if isinstance(failure, UseAfterFree):
        return not case.path.startswith(_STAYS)
    # An execution may be named so, too, and be shown: GET is allowed there, as the document says of {execution_id}.
    words = (*OF_ITEMS, "/executions/bulk", "/upload")
    return not (isinstance(failure, AllowHeaderMismatch) and case.path.endswith(words))


def _is_unsaid(problem: dict[str, Any], case: Case[Any]) -> bool:
    if problem["code"] in ("idempotency_key_reused", "lines_refused"):
        # It was sent with another body before, whatever its form; or a line of a file is not what a line has to be.
        return True
    field = str(problem.get("field"))
    # Of a value of a setting, the setting is named: each has a least of its own.
    return field.partition(".")[0] in UNSAID or field == case.path_parameters.get("name")


@schemathesis.hook
def after_call(context: HookContext, case: Case[Any], response: Response) -> None:
    """Count the answers of each operation."""
    if response.request.method == case.operation.method.upper():
        _answers[case.operation.label][response.status_code] += 1


@atexit.register
def _tell() -> None:
    Path(os.environ["FUZZING_ANSWERS"]).write_text(json.dumps(_answers))
