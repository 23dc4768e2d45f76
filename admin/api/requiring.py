"""Finds out who calls: a route's parameter is a ``ReadCaller``, ``SubmitCaller``, ``OperateCaller``,
``SettleCaller``, ``RobotCaller`` or ``AdminCaller``.

In the flow: each route names the scope that it needs by the type of its parameter, and the OpenAPI document says it,
too; a test asks every route with every scope. A request sends a token, or the cookie of a session that stands for one;
of both the token counts. It counts in the quotas of its token; one that needs the scope submit submits something.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import BackgroundTasks, Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer, SecurityScopes

from ...configs.logger import Logger
from ...ledger.errors import LedgerError
from ..auth.scopes import Scope
from ..auth.secrets import Secret
from ..auth.tokens import CALLER, Caller, Token
from ..border import ANSWERED_WITH
from ..errors import forbidden, unauthorized
from ..quotas.quota import Quota
from ..services import Services
from . import cookies
from .knowing import nobody, token_of_secret, token_of_session
from .parameters import check_parameters

_log = Logger(__name__)
_bearer: Final = HTTPBearer(
    scheme_name="token",
    description="A token: `bandmaster token create`.",
    auto_error=False,
    bearerFormat="bm_ID_SECRET",
)
_cookie: Final = APIKeyCookie(
    scheme_name="session",
    name=cookies.NAME,
    description=f"A browser's session: `POST /api/v1/session`. Over TLS the name begins with `__Host-`. "
    f"Whatever changes something needs the header `{cookies.CSRF_HEADER}`, too.",
    auto_error=False,
)
_UNKNOWN: Final = "unknown"


async def services_of(request: Request) -> Services:
    """The services of the application that answers a request."""
    # Not a plain function: such a one would be called in another thread, which costs more than all that it does.
    services: Any = request.app.state.services
    return services


def address_of(request: Request) -> str:
    """From where a request comes, as a proxy that is believed says."""
    return _UNKNOWN if request.client is None else request.client.host


async def caller_of(
    request: Request,
    services: Annotated[Services, Depends(services_of)],
    after: BackgroundTasks,
    scopes: SecurityScopes,
    _sent: Annotated[object, Depends(_bearer)],
    _kept: Annotated[object, Depends(_cookie)],
) -> Caller:
    """Return who calls, if it may.

    Raises:
        Refused: If nobody knows who calls, the token's scopes do not include the needed one, it calls too often, or it
            would change something by a cookie alone.
        LedgerError: If only the ledger's database knows the token, and it does not answer.
        QueueUnavailable: If it sent a session's cookie, and Redis does not answer.
        InvalidRequest: If the route does not know a parameter of the query.
    """
    # A route for admins asks twice, for itself and for all of them.
    caller: Caller | None = getattr(request.state, CALLER, None)
    if caller is None:
        caller = await _find(request, services)
        setattr(request.state, CALLER, caller)
        await take(request, services.quotas.requests, caller.token)
    token = caller.token
    for needed in scopes.scopes:
        if not token.may(Scope(needed)):
            raise forbidden(f"this needs the scope {needed}, and the token has {', '.join(sorted(token.scopes))}")
    check_parameters(request)
    if Scope.SUBMIT in scopes.scopes:
        await take(request, services.quotas.submissions, token)
    if services.keeper.is_use_to_note(token):
        # After the answer: it is written into a database, which may be slow.
        after.add_task(_note_use, services.keeper.note_use, token)
    return caller


async def _find(request: Request, services: Services) -> Caller:
    address = address_of(request)
    sent = await _bearer(request)
    if sent is not None:
        return Caller(await find_token(services, sent.credentials, address), address)
    session_id = cookies.session_id_of(request)
    if session_id is None:
        await nobody(services, address)
        raise unauthorized("a token is needed: the header Authorization: Bearer bm_…")
    found = await token_of_session(services, session_id, address)
    if found is None:
        raise unauthorized("nobody is signed in by this cookie: sign in again")
    cookies.check_csrf(request, session_id)
    token, session = found
    return Caller(token, address, session)


async def find_token(services: Services, text: str, address: str) -> Token:
    """Return the token that a caller sent.

    Raises:
        Refused: If there is none that is valid, or too many are tried.
        LedgerError: If only the ledger's database knows the token, and it does not answer.
    """
    secret = Secret.read(text)
    if secret is None:
        await nobody(services, address)
    elif (token := await token_of_secret(services, secret, address)) is not None:
        return token
    raise unauthorized("there is no such token, it was revoked, or it has expired")


async def take(request: Request, quota: Quota | None, token: Token) -> None:
    """Take one of a token's quota, and tell of it in the answer.

    Raises:
        Refused: If all are taken.
    """
    if quota is None:
        return
    share = await quota.take(token.token_id)
    told: list[tuple[str, str]] = request.scope.setdefault("state", {}).setdefault(ANSWERED_WITH, [])
    told.extend(quota.headers_of(share).items())


def _note_use(note: Callable[[Token], None], token: Token) -> None:
    try:
        note(token)
    except LedgerError as error:
        _log.debug("use_not_noted", problem=str(error))


ServicesOf = Annotated[Services, Depends(services_of)]
ReadCaller = Annotated[Caller, Security(caller_of, scopes=[Scope.READ.value])]
SubmitCaller = Annotated[Caller, Security(caller_of, scopes=[Scope.SUBMIT.value])]
OperateCaller = Annotated[Caller, Security(caller_of, scopes=[Scope.OPERATE.value])]
SettleCaller = Annotated[Caller, Security(caller_of, scopes=[Scope.SETTLE.value])]
RobotCaller = Annotated[Caller, Security(caller_of, scopes=[Scope.ROBOT.value])]
AdminCaller = Annotated[Caller, Security(caller_of, scopes=[Scope.ADMIN.value])]
