"""The length of an event: 1 MiB of JSON at most, at every door, whatever it is made of (F27)."""

import json

import pytest

from bandmaster.scheduler.events import EVENT_MAX_BYTES, ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import InvalidRequest


@pytest.mark.parametrize("unit", ["x", "\x1b", "é", '"', "😀"])
def test_an_event_is_one_mebibyte_long_at_most_whatever_its_script_is_made_of(unit: str) -> None:
    frame = ExecutionRequestedEvent(execution_id="a", script=unit)
    unit_bytes = len(json.dumps(unit, ensure_ascii=False).encode()) - 2
    room = EVENT_MAX_BYTES - len(frame.to_json()) + unit_bytes
    count = room // unit_bytes
    values = {"execution_id": "a", "requested_at": frame.requested_at}
    longest = ExecutionRequestedEvent.from_any({**values, "script": unit * count})
    assert EVENT_MAX_BYTES - unit_bytes < len(longest.to_json()) <= EVENT_MAX_BYTES
    assert ExecutionRequestedEvent.from_json(longest.to_json()) == longest
    for change in ({"script": unit * (count + 1)}, {"script": None, "command": [unit * (count + 1)]}):
        with pytest.raises(
            InvalidRequest, match=r"event: its JSON is 10\d+ bytes long; allowed: at most 1048576 bytes"
        ):
            ExecutionRequestedEvent.from_any({**values, **change})


def test_json_that_is_too_long_is_not_even_read() -> None:
    for data in (b" " * (EVENT_MAX_BYTES + 1), " " * (EVENT_MAX_BYTES + 1), "é" * (EVENT_MAX_BYTES // 2 + 1)):
        with pytest.raises(InvalidRequest, match="its JSON is 10"):
            ExecutionRequestedEvent.from_any(data)


def test_a_thousand_empty_arguments_do_not_slip_past_the_length_check() -> None:
    with pytest.raises(InvalidRequest, match="its JSON is"):
        ExecutionRequestedEvent.from_any({"command": ["a"] + [""] * 400_000})
