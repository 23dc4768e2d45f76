"""Validate orders in JSON against a schema and point at every mistake.

Understands the everyday part of JSON Schema. The mistakes are known; exactly those must be reported.
"""

import json
import re
from collections.abc import Iterator

TYPES = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int, "boolean": bool}
SCHEMA = json.loads(r"""
{"type": "object", "required": ["id", "email", "items"], "additionalProperties": false, "properties": {
    "id": {"type": "string", "pattern": "^ORD-[0-9]{4}$"},
    "email": {"type": "string", "pattern": "^[^@ ]+@[^@ ]+[.][a-z]+$"},
    "express": {"type": "boolean"},
    "currency": {"enum": ["EUR", "SEK", "GBP"]},
    "items": {"type": "array", "minItems": 1, "items": {
        "type": "object", "required": ["sku", "quantity"], "properties": {
            "sku": {"type": "string"},
            "quantity": {"type": "integer", "minimum": 1, "maximum": 100},
            "price": {"type": "number", "minimum": 0}}}}}}
""")
ORDERS = json.loads("""[
    {"id": "ORD-0001", "email": "ada@example.org", "items": [{"sku": "KB-1", "quantity": 2, "price": 49.5}]},
    {"id": "ORD-2", "email": "bob@example", "items": [{"sku": "KB-1", "quantity": 0}]},
    {"id": "ORD-0003", "email": "eve@example.org", "currency": "USD", "items": []},
    {"id": "ORD-0004", "email": "kim@example.org", "items": [{"sku": 7, "quantity": true}], "cupon": "SPRING"},
    {"id": "ORD-0005", "items": [{"sku": "MS-9", "quantity": 1}, {"quantity": 3}]}
]""")
EXPECTED = [
    "1.id", "1.email", "1.items.0.quantity", "2.currency", "2.items", "3.cupon", "3.items.0.sku",
    "3.items.0.quantity", "4.email", "4.items.1.sku",
]  # fmt: skip


def mistakes(value: object, schema: dict, path: str) -> Iterator[tuple[str, str]]:
    """Yield (path, message) for each way in which ``value`` breaks ``schema``."""
    if "enum" in schema and value not in schema["enum"]:
        yield path, f"{value!r} is not one of {', '.join(schema['enum'])}"
    if "type" in schema:
        wrong_bool = isinstance(value, bool) and schema["type"] != "boolean"  # bool is an int to Python
        if wrong_bool or not isinstance(value, TYPES[schema["type"]]):
            yield path, f"{value!r} is not of type {schema['type']}"
            return
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield path, f"{value!r} does not match {schema['pattern']}"
    if isinstance(value, (int, float)):
        if value < schema.get("minimum", value):
            yield path, f"{value} is less than {schema['minimum']}"
        if value > schema.get("maximum", value):
            yield path, f"{value} is more than {schema['maximum']}"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield path, f"fewer than {schema['minItems']} items"
        for number, item in enumerate(value):
            yield from mistakes(item, schema.get("items", {}), f"{path}.{number}")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                yield f"{path}.{name}", "is missing"
        for name, item in value.items():
            if name in known:
                yield from mistakes(item, known[name], f"{path}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{path}.{name}", "is not a known property"


def main() -> None:
    found = [mistake for number, order in enumerate(ORDERS) for mistake in mistakes(order, SCHEMA, str(number))]
    for path, message in found:
        print(f"{path:<20} {message}")
    valid = len(ORDERS) - len({path.split(".")[0] for path, _ in found})
    print(f"\n{valid} of {len(ORDERS)} orders valid, {len(found)} mistakes")
    if sorted(path for path, _ in found) != sorted(EXPECTED):
        raise SystemExit(f"expected mistakes at {EXPECTED}")


if __name__ == "__main__":
    main()
