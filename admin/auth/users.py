"""``Users``: who the users of an OpenID provider are here, and what they may do.

In the flow: the end of a login asks once what to keep of somebody, and each request by cookie what they may: their
groups are those of the login, and what a group may is what the settings say now. So a mapping that was changed counts
for living sessions as soon as the process has it, and what changed at the provider counts from the next login on.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from ...configs.oidc import OidcSettings
from ...scheduler.model.errors import InvalidRequest
from ...scheduler.model.identifiers import check_user_id
from ...scheduler.model.priority import Priority
from ..errors import forbidden
from .scopes import Scope
from .standing_for import OfUser
from .tokens import Token

_MOST_GROUPS: Final = 200
"""Of each session so many are kept, and those that mean something now before others."""
_GROUP_MAX_CHARS: Final = 256
Claims = Mapping[str, object]


class Users:
    """The users of one provider. Safe to share between threads; nothing is asked of anybody."""

    def __init__(self, settings: OidcSettings) -> None:
        """Args: `settings`, which name the provider."""
        self._settings = settings

    def read(self, claims: Claims) -> OfUser:
        """Return what to keep of a user.

        Args:
            claims: Of an ID token that was found to be the provider's, for this API.

        Raises:
            Refused: If the claims do not name a user as this API needs it.
        """
        its = self._settings
        named = _claim(claims, its.owner_claim)
        if its.owner_claim == "email" and claims.get("email_verified") is not True:
            # Else whoever may write an address into their own profile is whoever they like.
            raise forbidden("the provider does not say that this address is the user's own: email_verified")
        try:
            owner = check_user_id(f"{its.owner_prefix}{named}") if isinstance(named, str) else None
        except InvalidRequest:
            owner = None
        if owner is None:
            raise forbidden("the provider does not name the user in a way that can be one's here: oidc.owner_claim")
        return OfUser(
            issuer=str(claims["iss"]),
            client_id=its.client_id,
            subject=str(claims["sub"]),
            owner=owner,
            groups=self._groups(claims),
        )

    def token_of(self, of: OfUser) -> Token | None:
        """Return what a user may do now, as if it were a token's; None if nothing, or it is another provider's.

        Args:
            of: What was kept.
        """
        its = self._settings
        if (of.issuer, of.client_id) != (its.issuer, its.client_id):
            return None
        scopes = frozenset(Scope(its.roles[group]) for group in of.groups if group in its.roles)
        if not scopes and its.default_scope is not None:
            scopes = frozenset({Scope(its.default_scope)})
        if not scopes:
            return None
        return Token(
            token_id=of.whose,
            digest="",
            owner=of.owner,
            scopes=scopes,
            robot_id=None if scopes.isdisjoint({Scope.ROBOT, Scope.SETTLE}) else of.owner,
            max_band=Priority.CRITICAL if Scope.ADMIN in scopes else Priority.parse(its.max_band),
            gates=its.gates,
        )

    def _groups(self, claims: Claims) -> tuple[str, ...]:
        found = _claim(claims, self._settings.groups_claim)
        listed = cast("list[object]", found) if isinstance(found, list) else [found]
        groups = {each for each in listed if isinstance(each, str) and len(each) <= _GROUP_MAX_CHARS}
        ordered = sorted(groups, key=lambda each: (each not in self._settings.roles, each))
        return tuple(ordered[:_MOST_GROUPS])


def _claim(claims: Claims, name: str) -> object:
    """A claim; if there is none of this name, with dots that of one inside of another."""
    if name in claims:
        return claims[name]
    found: object = claims
    for part in name.split("."):
        if not isinstance(found, dict):
            return None
        found = cast("Any", found).get(part)
    return found
