"""The JSON Schema of a queue's payloads: checked when a queue gets it, and asked for each payload.

In the flow: `queues` checks one, `adding` and `editing` ask it, both before a transaction begins. A schema is somebody
else's text: it fetches nothing, its patterns are those that take linear time (no look-around, no back references), and
it neither refers to itself nor unfolds without end, so that no payload keeps a thread for long. Nothing of a payload is
in an error.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

import jsonschema_rs

from ..scheduler.model.errors import InvalidRequest
from .bounds import SCHEMA_MAX_BYTES
from .json_texts import text_of, value_of

FIELD: Final = "payload_schema"
MOST_PARTS: Final = 2_000
"""How many parts a schema may have, with each reference unfolded."""
PATTERN_MAX_BYTES: Final = 1_000_000
"""Of a pattern, compiled."""
_NOT_TAKEN: Final = frozenset({"$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor", "$id", "$anchor"})
_HERE: Final = "#/"


def check_schema(schema: Any) -> str | None:
    """Return the text of a schema that may be a queue's; None for none.

    Raises:
        InvalidRequest: If it is no JSON Schema, or does what none may do here.
    """
    text = text_of(FIELD, schema, max_bytes=SCHEMA_MAX_BYTES)
    if text is None:
        return None
    if not isinstance(schema, dict | bool):
        raise InvalidRequest(FIELD, "it is no JSON Schema", allowed="an object, or true or false")
    _Unfolding(schema).unfold(cast("Any", schema), ())
    _validator(text)
    return text


def check_payload(schema: Any, payload: Any) -> None:
    """Refuse a payload that is not as its queue wants it.

    Args:
        schema: The queue's; None: any payload is right.
        payload: The value.

    Raises:
        InvalidRequest: If it is not; it says where and which rule.
    """
    text = text_of(FIELD, schema, max_bytes=SCHEMA_MAX_BYTES)
    if text is None:
        return
    try:
        wrong = next(_validator(text).iter_errors(payload), None)
    except ValueError:
        raise InvalidRequest("payload", "the queue's schema could not be asked", allowed="simpler ones") from None
    if wrong is not None:
        where = "".join(f"/{each}" for each in wrong.instance_path)[:200] or "/"
        rule = "/".join(map(str, wrong.schema_path))[:200]
        raise InvalidRequest("payload", f"at {where!r} it is not as the queue's schema wants it: {rule!r}")


class _Unfolding:
    """Counts the parts of a schema, with each reference unfolded."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._parts = 0

    def unfold(self, part: Any, within: tuple[str, ...]) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise InvalidRequest(FIELD, f"it has more than {MOST_PARTS:,} parts, with its references unfolded")
        if isinstance(part, list):
            for each in cast("list[Any]", part):
                self.unfold(each, within)
            return
        if not isinstance(part, dict):
            return
        its = cast("Mapping[str, Any]", part)
        for name in its:
            if name in _NOT_TAKEN and isinstance(its[name], str | bool):
                raise InvalidRequest(FIELD, f"it uses {name}", allowed="$ref to its own $defs")
        reference = its.get("$ref")
        if isinstance(reference, str):
            if reference in within:
                raise InvalidRequest(FIELD, "it refers to itself", allowed="references that end")
            self.unfold(self._at(reference), (*within, reference))
        for name, each in its.items():
            # Definitions are unfolded where they are used.
            if name not in ("$defs", "definitions", "const", "enum", "default", "examples"):
                self.unfold(each, within)

    def _at(self, reference: str) -> Any:
        if not reference.startswith(_HERE):
            raise InvalidRequest(FIELD, "it refers to something elsewhere", allowed="references like #/$defs/NAME")
        found = self._root
        for each in reference.removeprefix(_HERE).split("/"):
            name = each.replace("~1", "/").replace("~0", "~")
            found = cast("Any", found.get(name)) if isinstance(found, dict) else None
        if found is None:
            raise InvalidRequest(FIELD, "it refers to something that it does not have", allowed="like #/$defs/NAME")
        return found


def _nothing(_: str) -> Any:
    raise ValueError("nothing is fetched")


@lru_cache(maxsize=256)
def _validator(text: str) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(
            value_of(text),
            retriever=_nothing,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=PATTERN_MAX_BYTES),
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        why = str(getattr(error, "message", error)).partition("\n")[0][:200]
        raise InvalidRequest(FIELD, f"it is no JSON Schema that is taken here: {why}") from None
