"""Finds out who calls: ``ReadCaller``, ``SubmitCaller``, ``OperateCaller``, ``AdminCaller`` as a route's parameter.

In the flow: each route names the scope that it needs by the type of its parameter, and the OpenAPI document says it,
too; a test asks every route with every scope. A request counts in the quotas of its token; one that needs the scope
submit submits something. A token that nobody here knows to be valid counts as a failed login of its network before it
is looked up, and no more are looked up than that allows. So whoever tries tokens locks none: those that are known are
served wherever they are, and one that is new is from elsewhere.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, ParamSpec, TypeVar

from fastapi import BackgroundTasks, Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes

from ...configs.logger import Logger
from ...ledger.errors import LedgerError
from ..auth.keeper import Keeper
from ..auth.lookups import Lookups
from ..auth.scopes import Scope
from ..auth.secrets import Secret
from ..auth.tokens import Caller, Token
from ..border import ANSWERED_WITH
from ..errors import forbidden, unauthorized
from ..quotas.networks import network_of
from ..quotas.quota import Quota
from ..services import Services

_log = Logger(__name__)
_bearer: Final = HTTPBearer(
    scheme_name="token",
    description="A token: `bandmaster token create`.",
    auto_error=False,
    bearerFormat="bm_ID_SECRET",
)
_UNKNOWN: Final = "unknown"
_OF_KNOWN: Final = Lookups(16, most=10_000)
_OF_STRANGERS: Final = Lookups(4, most=256, patience_seconds=1.0)
_TOKEN: Final = "token"
_REFUSED: Final = "token_refused"
P = ParamSpec("P")
T = TypeVar("T")


async def services_of(request: Request) -> Services:
    """The services of the application that answers a request."""
    # Not a plain function: such a one would be called in another thread, which costs more than all that it does.
    services: Any = request.app.state.services
    return services


async def in_thread(look: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Look a token up that was valid before, in one of the threads that do nothing else."""
    return await _OF_KNOWN.run(look, *given, **named)


def credentials_of(request: Request) -> str:
    """What a request that was let in has sent as its token."""
    return request.headers["Authorization"].partition(" ")[2].strip()


async def caller_of(
    request: Request,
    services: Annotated[Services, Depends(services_of)],
    after: BackgroundTasks,
    scopes: SecurityScopes,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    """Return who calls, if it may.

    Raises:
        Refused: If nobody knows who calls, the token's scopes do not include the needed one, or it calls too often.
        LedgerError: If only the ledger's database knows the token, and it does not answer.
    """
    address = _UNKNOWN if request.client is None else request.client.host
    keeper, quotas = services.keeper, services.quotas
    # A route for admins asks twice, for itself and for all of them.
    token: Token | None = getattr(request.state, _TOKEN, None)
    if token is None:
        token = await _token_of(keeper, credentials, quotas.failed_logins, address)
        setattr(request.state, _TOKEN, token)
        await _take(request, quotas.requests, token)
    for needed in scopes.scopes:
        if not token.may(Scope(needed)):
            raise forbidden(f"this needs the scope {needed}, and the token has {', '.join(sorted(token.scopes))}")
    if Scope.SUBMIT in scopes.scopes:
        await _take(request, quotas.submissions, token)
    if keeper.is_use_to_note(token):
        # After the answer: it is written into a database, which may be slow.
        after.add_task(_note_use, keeper.note_use, token)
    return Caller(token, address)


async def _token_of(
    keeper: Keeper, credentials: HTTPAuthorizationCredentials | None, failed_logins: Quota | None, address: str
) -> Token:
    secret = None if credentials is None else Secret.read(credentials.credentials)
    if secret is not None:
        token = keeper.known(secret)
        if token is None and keeper.recalls(secret):
            token = await in_thread(keeper.find, secret)
        if token is not None:
            return token
    network = network_of(address)
    share = None if failed_logins is None else await failed_logins.take(network)
    has_failed = False
    try:
        # A file or a database is asked, which may take its time.
        token = None if secret is None else await _OF_STRANGERS.run(keeper.find, secret)
        has_failed = token is None
    finally:
        # Only what is known to be no token is a failed login.
        if failed_logins is not None and share is not None and not has_failed:
            failed_logins.give_back(share)
    if token is not None:
        return token
    if share is None or share.is_news(_REFUSED):
        _log.warning(_REFUSED, network=network)
    if credentials is None:
        raise unauthorized("a token is needed: the header Authorization: Bearer bm_…")
    raise unauthorized("there is no such token, it was revoked, or it has expired")


async def _take(request: Request, quota: Quota | None, token: Token) -> None:
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
AdminCaller = Annotated[Caller, Security(caller_of, scopes=[Scope.ADMIN.value])]
