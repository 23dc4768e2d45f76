"""Gives each body and each answer of the OpenAPI document an example, made of its schema and of one table of values.

In the flow: `application` calls it when the document is made. A new field has an example by its type, until the table
has a better one; a test compares all of them with their schemas.
"""

from typing import Any, Final, cast

_AT: Final = "2026-11-25T03:30:00.000Z"
_ID: Final = "0f8e2c1a-5b7d-4c3e-9a61-2d4f6b8c0e13"
_VALUES: Final[dict[str, Any]] = {
    "execution_id": _ID,
    "new_execution_id": "7c1d9e52-3a4b-4f60-8e27-91b5d3f0a648",
    "owner": "ann",
    "user_id": "ann",
    "user": "ann",
    "by": "ann (token 3f2a9c0d11e7, 10.0.0.9)",
    "created_by": "ann (token 3f2a9c0d11e7, 10.0.0.9)",
    "leader": "worker-1",
    "token_id": "3f2a9c0d11e7",
    "token": "bm_3f2a9c0d11e7_…",
    "csrf_token": "…",
    "ticket": "…",
    "max_band": "NORMAL",
    "lane": "executions",
    "shard": "high",
    "band": "HIGH",
    "url": "redis://second:6379/0",
    "away_because": "Redis did not answer within 5 s",
    "action": "pod",
    "gate": "tenant:acme",
    "limited_by": "tenant:*",
    "rate": "100/m burst 5",
    "rated_by": "tenant:*",
    "weight": 10,
    "fair_by": "user",
    "priority": "HIGH",
    "state": "PENDING",
    "status": "ok",
    "verb": "park",
    "reason": "no longer needed",
    "as_of": _AT,
    "at": _AT,
    "ends_at": _AT,
    "name": "max_concurrent",
    "value": 20,
    "subject": "tenant:acme",
    "by_priority": {"HIGH": 3, "NORMAL": 12},
    "bounds": {"max_concurrent": 20},
    "paused": {"tenant:acme": _AT},
    "event": {"execution_id": _ID, "command": ["echo", "hello"]},
    "details": {},
    "output": "hello\n",
    "output_tail": "hello\n",
    "waits_for": ["20 of 20 run in lane executions"],
    "severity": "info",
    "sentence": "Action pod has waited for 4 min: limit 10 reached, 3 executions wait",
    "before": "4",
    "after": "8",
    "exit_code": 0,
    "pod": f"bm-{_ID}-1",
    "script": "echo hello\n",
    "submission": "{}",
    "robot_id": "desk-7",
    "locked_by_robot_id": "desk-7",
    "queue_name": "invoices",
    "payload": {"invoice": 17},
    "result": {"booked": True},
    "reference": "invoice-17",
    "counts": {"NEW": 3, "IN_PROGRESS": 1, "POSTPONED": 0, "DONE": 12, "FAILED": 1, "ABANDONED": 0},
}
_OF_TYPE: Final[dict[str, Any]] = {"string": "…", "integer": 3, "number": 1.5, "boolean": False, "null": None}
_TYPES_OF: Final[dict[type, tuple[str, ...]]] = {
    str: ("string",),
    int: ("integer", "number"),
    dict: ("object",),
    list: ("array",),
}
_STREAM: Final = 'id: a1b2c3.1764041400000-0.17\nevent: park\ndata: {"verb":"park","at":"' + _AT + '"}\n\n'
_EVENTS: Final = "text/event-stream"
_SUCCESS: Final = "2"


def add_examples(document: dict[str, Any]) -> None:
    """Add to a document the examples of what is sent and what comes back."""
    for path in document["paths"].values():
        for operation in path.values():
            answers = [each for status, each in operation["responses"].items() if status.startswith(_SUCCESS)]
            for part in (*answers, *filter(None, [operation.get("requestBody")])):
                for kind, content in part.get("content", {}).items():
                    value = _STREAM if kind == _EVENTS else example_of(document, content["schema"])
                    content["examples"] = {"one": {"value": value}}


def example_of(document: dict[str, Any], schema: dict[str, Any], name: str = "") -> Any:
    """Return an example of what a schema describes.

    Args:
        document: In which its references are.
        schema: The schema.
        name: The name of the field that it is of; empty for none.
    """
    while "$ref" in schema:
        schema = cast("dict[str, Any]", document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "examples" in schema:
        return schema["examples"][0]
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return _VALUES[name] if _VALUES.get(name) in schema["enum"] else schema["enum"][0]
    if "properties" in schema:
        return {field: example_of(document, each, field) for field, each in schema["properties"].items()}
    if name in _VALUES and schema.get("type") in _TYPES_OF[type(_VALUES[name])]:
        return _VALUES[name]
    for choices in ("anyOf", "oneOf", "allOf"):
        if choices in schema:
            return example_of(document, schema[choices][0], name)
    if name.endswith("_at"):
        return _AT
    if schema.get("type") == "array":
        return [example_of(document, schema["items"], name.removesuffix("s"))]
    return {} if schema.get("type") == "object" else _OF_TYPE[schema.get("type", "string")]
