"""How the OpenAPI document tells of refusals: each once, among its components, and every operation refers to them.

In the flow: `application` gives every route these references, and the document what they refer to.
"""

from collections.abc import Mapping
from typing import Any, Final

from .problems import MEDIA_TYPE

_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "title": "Problem",
    "description": "Why a request was refused, or failed.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable; for programs."},
        "detail": {"type": "string", "description": "A sentence for people."},
        "field": {"type": "string", "description": "What was wrong, if one field was."},
        "shard": {"type": "string", "description": "Of an execution that is not here: the shard that it is on."},
        "shards_away": {
            "type": "array",
            "description": "Of an execution that is not here: the shards that may know it, and did not answer.",
            "items": {"type": "string"},
        },
        "refused": {
            "type": "integer",
            "description": "Of a file of which nothing was added: how many lines are wrong.",
        },
        "lines": {
            "type": "array",
            "description": "The first of these lines.",
            "items": {
                "type": "object",
                "required": ["line", "field", "problem"],
                "properties": {
                    "line": {"type": "integer"},
                    "field": {"type": "string"},
                    "problem": {"type": "string"},
                },
            },
        },
        "errors": {
            "type": "array",
            "description": "All fields that were wrong, if several may have been.",
            "items": {
                "type": "object",
                "required": ["field", "problem"],
                "properties": {"field": {"type": "string"}, "problem": {"type": "string"}},
            },
        },
    },
}
_REFUSALS: Final = {
    400: ("BadRequest", "The request, or the JSON of its body, is not as it should be."),
    401: ("Unauthorized", "No token, or none that is valid."),
    403: ("Forbidden", "The token does not allow it."),
    404: ("NotFound", "There is no such thing, or the caller may not know of it."),
    408: ("TooSlow", "The body did not arrive in time."),
    409: ("Conflict", "It is not in a state in which this can be done."),
    412: ("ChangedMeanwhile", "It has changed meanwhile."),
    413: ("TooLarge", "The body is too long."),
    421: ("Misdirected", "The API may not be called by this name."),
    422: ("Invalid", "A value is not allowed."),
    428: ("IfMatchNeeded", "The request has to say which value it is about."),
    429: ("TooMany", "The queue is full, the user has too many waiting, or too much is asked at once."),
    500: ("Failed", "The API failed."),
    502: ("PodsFailed", "What was asked of the pods failed."),
    503: (
        "Unavailable",
        "Redis, the ledger's database, the cluster or the OpenID provider does not answer, or too much is under way.",
    ),
}
_OF_FILES: Final = {415: ("UnreadMedia", "The body is a file of a kind that nobody reads here.")}


def _references(refusals: Mapping[int, tuple[str, str]]) -> dict[int | str, dict[str, Any]]:
    return {
        # FastAPI gives each answer a description, also one that is a reference.
        status: {"$ref": f"#/components/responses/{name}", "description": meaning}
        for status, (name, meaning) in refusals.items()
    }


REFERENCES: Final = _references(_REFUSALS)
"""Of every route."""
OF_FILES: Final = _references(_OF_FILES)
"""Of routes whose body is a file, besides."""


def add_components(document: dict[str, Any]) -> None:
    """Add to a document what the references refer to."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    components = document["components"]
    components["schemas"]["Problem"] = _PROBLEM
    components["responses"] = {
        name: {"description": meaning, "content": content} for name, meaning in (_REFUSALS | _OF_FILES).values()
    }
