"""Turns calls into requests and answers into documents or errors, the same for both clients."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from ...configs.redaction import redacted_url
from ...scheduler.model.errors import InvalidRequest, shown
from ..answers.items import LineRefused
from .call import V1, Call
from .errors import LINES_REFUSED, ApiError, ApiUnavailable, LinesRefused, problem_of
from .strict_json import json_of

TIMEOUT_SECONDS: Final = 30.0
TRIES: Final = 3
AGAIN_SECONDS: Final = 0.5
"""How long to wait before a call is sent again; twice as long before the next."""
AGAIN: Final = frozenset({502, 503, 504})
RATE_LIMITED: Final = "rate_limited"
T = TypeVar("T", bound=BaseModel)


def options(url: str, token: str, timeout_seconds: float, verify: Any) -> Mapping[str, Any]:
    """Return what both of httpx's clients are made with.

    Raises:
        InvalidRequest: If the URL or the token cannot be one.
    """
    return {
        "base_url": _checked_url(url),
        "headers": {"Authorization": f"Bearer {_checked_token(token)}"},
        "timeout": timeout_seconds,
        "verify": verify,
        "follow_redirects": False,
    }


def _checked_url(url: str) -> str:
    base = url.strip().rstrip("/").removesuffix(V1)
    try:
        parts = httpx.URL(base)
        is_url = parts.scheme in ("http", "https") and bool(parts.host)
    except (httpx.InvalidURL, TypeError):
        is_url = False
    if not is_url:
        named = shown(redacted_url(base) if "@" in base else base)
        raise InvalidRequest("url", f"{named} is none", allowed="like https://bandmaster.example")
    return base


def _checked_token(token: str) -> str:
    # A file from which it is read ends with a line break. What it is, no error tells.
    text = token.strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidRequest("token", "it cannot be one", allowed="what `bandmaster token create` prints")
    return text


def request_of(call: Call[T], timeout_seconds: float = TIMEOUT_SECONDS) -> Mapping[str, Any]:
    """Return the arguments of httpx's `request`. `timeout_seconds`: for how long an answer may take once it is made.

    Raises:
        TypeError: If its body is not JSON.
        ValueError: If its body has a number that is not finite, or itself.
    """
    content: dict[str, Any] = {}
    headers = dict(call.headers)
    if call.files is not None:
        content = {"data": dict(call.body or {}), "files": dict(call.files)}
    elif call.body is not None:
        content = {"content": json_of(dict(call.body))}
        headers |= {"Content-Type": "application/json"}
    if call.content is not None:
        content = {"content": call.content.pieces()}
        headers |= {"Content-Type": call.content.media_type, "Content-Length": str(call.content.size())}
    return content | {
        "method": call.method,
        "url": call.path,
        "params": dict(call.query) or None,
        "headers": headers,
        "timeout": timeout_seconds + call.waits_seconds,
    }


def pause_seconds(
    call: Call[T], tried: int, outcome: httpx.Response | httpx.HTTPError, most_seconds: float
) -> float | None:
    """After how long a call that was not answered, or not yet, is sent again; None: it is not.

    Args:
        call: The call.
        tried: How often it was sent.
        outcome: What came of it the last time.
        most_seconds: What asks for a longer pause is not sent again: the caller would wait for longer than it said.
    """
    pause = AGAIN_SECONDS * 2 ** (tried - 1)
    if isinstance(outcome, httpx.Response) and outcome.status_code in call.documents:
        return None
    if tried >= TRIES:
        return None
    if isinstance(outcome, httpx.Response):
        asked = outcome.headers.get("Retry-After", "")
        pause = max(pause, float(asked)) if asked.isdecimal() else pause
        # Of what is refused because there were too many, nothing was carried out, whatever it was.
        is_repeated = _code_of(outcome) == RATE_LIMITED or (outcome.status_code in AGAIN and call.is_repeatable)
        return pause if is_repeated and pause <= most_seconds else None
    return pause if call.is_repeatable or isinstance(outcome, httpx.ConnectError) else None


def _code_of(response: httpx.Response) -> str | None:
    try:
        return response.json()["code"]
    except (ValueError, KeyError, TypeError):
        return None


def document_of(call: Call[T], response: httpx.Response) -> T:
    """Return the document of an answer.

    Raises:
        ApiProblem: If the API refused.
        ApiUnavailable: If something else answered.
    """
    url = address_of(response)
    if response.is_success or response.status_code in call.documents:
        try:
            return call.answer.model_validate_json(response.content or b"{}")
        except ValidationError as error:
            raise ApiUnavailable(f"its answer is not one of the API's: {error.error_count()} fields", url=url) from None
    raise refusal_of(response)


def refusal_of(response: httpx.Response) -> ApiError:
    """Return what an answer that is no success is raised as."""
    try:
        told = response.json()
        if told["code"] == LINES_REFUSED:
            lines = [LineRefused.model_validate(each) for each in told["lines"]]
            return LinesRefused(response.status_code, told["detail"], told["refused"], lines)
        return problem_of(response.status_code, told["code"], told["detail"], told.get("field"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ApiUnavailable(f"it answered with status {response.status_code}", url=address_of(response))


def address_of(response: httpx.Response) -> str:
    """Return where the API is that gave an answer."""
    return str(response.request.url.copy_with(path="/", query=None))
