"""What the tests of browsers' sessions share."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from calling import V1, Api, signed_in

SESSION = f"{V1}/session"
SUBMIT = f"{V1}/executions/"


def keys(api: Api, kind: str) -> list[str]:
    client: Any = api.queue.scripts.client
    return [key.decode() for key in client.scan_iter(f"exec_queue:{kind}:*")]


def revoke(api: Api, token: str) -> None:
    api.table.revoke(token.split("_")[1], by="a test")


def status(client: httpx.Client) -> tuple[int, str | None]:
    answer = client.get(SESSION)
    return answer.status_code, answer.json().get("code")


NO_QUOTAS = {"requests_per_minute": 0, "failed_logins_per_minute": 0}
SIGNED_IN = (200, None)
SIGNED_OUT = (401, "unauthorized")


@pytest.fixture
def token(api: Api) -> str:
    return api.token("ann", "submit", max_band="HIGH", gates=("tenant:*",))


@pytest.fixture
def client(api: Api, token: str) -> Iterator[httpx.Client]:
    with signed_in(api, token) as client:
        yield client


def known_token(api: Api, text: str) -> Any:
    return next(each for each in api.table.all() if each.token_id == text.split("_")[1])
