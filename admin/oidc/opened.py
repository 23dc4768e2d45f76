"""``Oidc``: what the routes need for logins with a provider, opened once for a process if the settings name one.

In the flow: `opening` makes it. Requests by the cookie of such a login need the users only, and no library of the
extra; the provider is asked by logins alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...configs.extras import import_extra
from ...configs.oidc import OidcSettings
from ...scheduler.transport.scripts import Scripts
from ..auth.users import Users
from .attempts import Attempts

if TYPE_CHECKING:
    from .provider import Provider


@dataclass(frozen=True, slots=True)
class Oidc:
    """Logins with one provider."""

    settings: OidcSettings
    users: Users
    attempts: Attempts
    provider: "Provider"


def open_oidc(settings: OidcSettings, scripts: Scripts) -> Oidc | None:
    """Open it; None if no provider is named. Nothing is asked of the provider.

    Raises:
        ExtraMissing: If the libraries are not installed.
    """
    if settings.issuer is None:
        return None
    provider: Provider = import_extra("bandmaster.admin.oidc.provider", "oidc").Provider(settings)
    return Oidc(settings, Users(settings), Attempts(scripts), provider)
