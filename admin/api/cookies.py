"""The cookie by which a browser is known, and the header that says that a page of the API asks for a change.

In the flow: signing in sets the cookie, each request of the browser brings it. No program of a page can read it
(HttpOnly), and no page of another site can have it sent (SameSite=Strict). Over TLS it is sent over TLS only and by
nobody but this host (`__Host-`). Cookies do not know ports: another server on the same host gets it, too.
"""

from typing import Final

from fastapi import Request, Response

from ..auth.unguessable import Unguessable
from ..errors import Refused

NAME: Final = "bandmaster_session"
_OVER_TLS: Final = f"__Host-{NAME}"
CSRF_HEADER: Final = "X-CSRF-Token"
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def session_id_of(request: Request) -> Unguessable | None:
    """Return the session's id that a browser sent; None if there is none, or it cannot be one."""
    return Unguessable.read(request.cookies.get(_name_for(request)))


def keep(response: Response, request: Request, session_id: Unguessable, *, seconds: int) -> None:
    """Let a browser keep a session's id."""
    response.set_cookie(
        _name_for(request),
        session_id.text,
        max_age=seconds,
        path="/",
        secure=_is_over_tls(request),
        httponly=True,
        samesite="strict",
    )


def forget(response: Response, request: Request) -> None:
    """Let a browser forget it."""
    response.delete_cookie(_name_for(request), path="/", secure=_is_over_tls(request), httponly=True, samesite="strict")


def check_csrf(request: Request, session_id: Unguessable) -> None:
    """Let a request change something only if a page of the API sent it.

    Raises:
        Refused: If it does not have the header with the session's CSRF token.
    """
    if request.method not in _READING and not session_id.is_csrf_token(request.headers.get(CSRF_HEADER, "")):
        detail = f"a change by cookie needs the header {CSRF_HEADER}, with what GET /api/v1/session tells"
        raise Refused(403, "csrf_token_needed", detail)


def _name_for(request: Request) -> str:
    return _OVER_TLS if _is_over_tls(request) else NAME


def _is_over_tls(request: Request) -> bool:
    # Behind a proxy that is believed (`api.trusted_proxies`), as the browser sees it.
    return request.url.scheme == "https"
