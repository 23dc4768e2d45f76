"""Finds out who calls: ``ReadCaller``, ``SubmitCaller``, ``OperateCaller``, ``AdminCaller`` as a route's parameter.

In the flow: each route names the scope that it needs by the type of its parameter, and the OpenAPI document says it,
too; a test asks every route with every scope.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any, Final, ParamSpec, TypeVar

from fastapi import BackgroundTasks, Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes

from ...configs.logger import Logger
from ...ledger.errors import LedgerError
from ..auth.scopes import Scope
from ..auth.secrets import Secret
from ..auth.tokens import Caller, Token
from ..errors import forbidden, unauthorized
from ..services import Services

_log = Logger(__name__)
_bearer: Final = HTTPBearer(
    scheme_name="token",
    description="A token: `bandmaster token create`.",
    auto_error=False,
    bearerFormat="bm_ID_SECRET",
)
_UNKNOWN: Final = "unknown"
_LOOKUPS: Final = ThreadPoolExecutor(16, thread_name_prefix="token")
P = ParamSpec("P")
T = TypeVar("T")


async def services_of(request: Request) -> Services:
    """The services of the application that answers a request."""
    # Not a plain function: such a one would be called in another thread, which costs more than all that it does.
    services: Any = request.app.state.services
    return services


async def in_thread(look: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Look a token up in one of the threads that do nothing else: a database that hangs holds up no other part."""
    return await asyncio.get_running_loop().run_in_executor(_LOOKUPS, partial(look, *given, **named))


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
        Refused: If nobody knows who calls, or the token's scopes do not include the needed one.
        LedgerError: If only the ledger's database knows the token, and it does not answer.
    """
    address = _UNKNOWN if request.client is None else request.client.host
    if credentials is None:
        raise unauthorized("a token is needed: the header Authorization: Bearer bm_…")
    keeper = services.keeper
    secret = Secret.read(credentials.credentials)
    token = None
    if secret is not None:
        # Mostly it is known; else a file or a database is asked, which may take its time.
        token = keeper.known(secret) or await in_thread(keeper.find, secret)
    if token is None:
        _log.warning("token_refused", address=address)
        raise unauthorized("there is no such token, it was revoked, or it has expired")
    for needed in scopes.scopes:
        if not token.may(Scope(needed)):
            raise forbidden(f"this needs the scope {needed}, and the token has {', '.join(sorted(token.scopes))}")
    if keeper.is_use_to_note(token):
        # After the answer: it is written into a database, which may be slow.
        after.add_task(_note_use, keeper.note_use, token)
    return Caller(token, address)


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
