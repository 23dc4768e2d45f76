"""How much a queue, an item and an answer may have."""

from typing import Final

NAME_MAX_CHARS: Final = 128
DESCRIPTION_MAX_CHARS: Final = 1_000
REFERENCE_MAX_CHARS: Final = 256
ROBOT_ID_MAX_CHARS: Final = 128
MESSAGE_MAX_CHARS: Final = 4_000
"""Of an error message."""
PROGRESS_MAX_CHARS: Final = 500
PAYLOAD_MAX_BYTES: Final = 262_144
RESULT_MAX_BYTES: Final = 49_152
"""Of what a robot answers; with the rest of the body it has less than other bodies may have."""
SCHEMA_MAX_BYTES: Final = 32_768
JSON_MOST_LEVELS: Final = 32
"""How deep lists and objects of a payload may stand in each other."""
RETRIES_MAX: Final = 1_000
PRIORITY_MAX: Final = 2**31 - 1
LEASE_MAX_SECONDS: Final = 86_400
RETRY_MAX_SECONDS: Final = 3_600
"""Between two tries of an item, however often it has failed."""
LEASE_SECONDS: Final = 300
RETRY_SECONDS: Final = 5
WAIT_MAX_SECONDS: Final = 30
MOST_CLAIMED: Final = 100
"""By one call."""
CLAIMED_MAX_BYTES: Final = 4_194_304
"""Of the payloads of one call's items; one item it always has."""
MOST_JOINED: Final = 200
"""How many items are claimed by one statement."""
RETURNED_A_PAGE: Final = 500
DELETED_A_PAGE: Final = 1_000
TRIGGERS_A_ROUND: Final = 100
LOOKED_A_PAGE: Final = 200
"""Triggers that a look for those that wait for the wrong time goes through."""
SENT_A_PAGE: Final = 100
BATCH_MAX: Final = 100
"""How many items one execution of a trigger works on."""
POLLING_MAX_SECONDS: Final = 86_400
MOST_JOBS: Final = 10_000
"""Executions of a trigger that live at once."""
ZONE_MAX_CHARS: Final = 100
BATCH_SIZE: Final = 1
POLLING_SECONDS: Final = 30
JOBS: Final = 1
TIMEOUT_SECONDS: Final = 300
COMMAND_MAX_CHARS: Final = 32_768
"""Of a trigger's command."""
