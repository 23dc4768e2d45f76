"""The cookie by which a browser is known, and the header that says that a page of the API asks for a change.

In the flow: signing in sets the cookie, each request of the browser brings it. No program of a page can read it
(HttpOnly), and no page of another site can have it sent (SameSite=Strict). Over TLS it is sent over TLS only and by
nobody but this host (`__Host-`). Cookies do not know ports: another server on the same host gets it, too.

A login with a provider has a cookie of its own, for the minutes that it takes.
"""

from typing import Final, Literal

from fastapi import Request, Response

from ..auth.unguessable import Unguessable
from ..errors import Refused

NAME: Final = "bandmaster_session"
LOGIN_NAME: Final = "bandmaster_login"
_OVER_TLS: Final = "__Host-"
CSRF_HEADER: Final = "X-CSRF-Token"
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def session_id_of(request: Request) -> Unguessable | None:
    """Return the session's id that a browser sent; None if there is none, or it cannot be one."""
    return Unguessable.read(request.cookies.get(_name_for(request, NAME)))


def keep(response: Response, request: Request, session_id: Unguessable, *, seconds: int) -> None:
    """Let a browser keep a session's id."""
    _set(response, request, NAME, session_id.text, seconds, samesite="strict")


def forget(response: Response, request: Request) -> None:
    """Let a browser forget it."""
    _set(response, request, NAME, "", 0, samesite="strict")


def login_of(request: Request) -> Unguessable | None:
    """Return by what a browser shows that it began a login; None if there is nothing, or it cannot be that."""
    return Unguessable.read(request.cookies.get(_name_for(request, LOGIN_NAME)))


def keep_login(response: Response, request: Request, browser: Unguessable, *, seconds: int) -> None:
    """Let a browser keep it, instead of that of a login that it began before."""
    # Strict ones would not come with the browser that a page of the provider sends back.
    _set(response, request, LOGIN_NAME, browser.text, seconds, samesite="lax")


def forget_login(response: Response, request: Request) -> None:
    """Let a browser forget it."""
    _set(response, request, LOGIN_NAME, "", 0, samesite="lax")


def check_csrf(request: Request, session_id: Unguessable) -> None:
    """Let a request change something only if a page of the API sent it.

    Raises:
        Refused: If it does not have the header with the session's CSRF token.
    """
    if request.method not in _READING and not session_id.is_csrf_token(request.headers.get(CSRF_HEADER, "")):
        detail = f"a change by cookie needs the header {CSRF_HEADER}, with what GET /api/v1/session tells"
        raise Refused(403, "csrf_token_needed", detail)


def _set(
    response: Response, request: Request, name: str, value: str, seconds: int, *, samesite: Literal["lax", "strict"]
) -> None:
    response.set_cookie(
        _name_for(request, name),
        value,
        max_age=seconds,
        expires=None if seconds else 0,
        path="/",
        secure=_is_over_tls(request),
        httponly=True,
        samesite=samesite,
    )


def _name_for(request: Request, name: str) -> str:
    return f"{_OVER_TLS}{name}" if _is_over_tls(request) else name


def _is_over_tls(request: Request) -> bool:
    # Behind a proxy that is believed (`api.trusted_proxies`), as the browser sees it.
    return request.url.scheme == "https"
