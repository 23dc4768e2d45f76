"""Names the option in an error where the queue names its field: people typed ``--max-jobs``, not ``max_jobs``.

In the flow: commands that change queues and triggers do it within `as_options`. Nothing here does I/O.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from bandmaster.admin.client.errors import Invalid
from bandmaster.scheduler.model.errors import InvalidRequest

OF_QUEUE: Final[Mapping[str, str]] = {
    "name": "QUEUE",
    "max_retries": "--max-retries",
    "lease_seconds": "--lease",
    "retry_seconds": "--retry",
    "description": "--description",
    "notify_url": "--notify",
    "payload_schema": "--schema",
}
OF_UPLOAD: Final[Mapping[str, str]] = {"Idempotency-Key": "--key"}
OF_TRIGGER: Final[Mapping[str, str]] = {
    "name": "TRIGGER",
    "queue_id": "--queue",
    "cron": "--cron",
    "tz": "--tz",
    "command": "--command",
    "batch_size": "--batch",
    "max_jobs": "--max-jobs",
    "polling_interval": "--every",
    "image": "--image",
    "action": "--action",
    "user_id": "--user",
    "priority": "--priority",
    "timeout_seconds": "--timeout",
    "notify_url": "--notify",
}


@contextmanager
def as_options(names: Mapping[str, str]) -> Generator[None]:
    """Let an error within name the option that was typed.

    Args:
        names: Options by the field that they set; other fields keep their names.

    Raises:
        InvalidRequest: The one within, of the option.
        Invalid: Likewise, if the API refused it.
    """
    try:
        yield
    except InvalidRequest as error:
        named = _option(error.field.removeprefix("metadata."), names)
        if named is None:
            raise
        raise InvalidRequest(named, error.problem, allowed=error.allowed) from None
    except Invalid as refused:
        named = None if refused.field is None else _option(refused.field, names)
        if named is None or refused.field is None:
            raise
        detail = f"{named}{refused.detail.removeprefix(refused.field)}"
        raise Invalid(refused.status, refused.code, detail, named) from None


def _option(field: str, names: Mapping[str, str]) -> str | None:
    first, dot, rest = field.partition(".")
    return f"{names[first]}{dot}{rest}" if first in names else None
