"""Serves the page: its document at `/`, and its files under an address that names their content.

In the flow: beside the routes of the API, and outside its document. Nobody has to be signed in to read these files:
they are the same for all, and everything that they show they ask the API for, as the one who is signed in.
"""

from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..services import Services
from .assets import PREFIX, Asset, Assets

_HEADERS: Final = {
    # Programs and styles are files of ours and nothing else; nothing is sent elsewhere, and no page may frame this one.
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "worker-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            # No text becomes HTML, and only the page's own policy names a program to run.
            "require-trusted-types-for 'script'",
            "trusted-types bandmaster",
        )
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Vary": "Accept-Encoding",
}
_ASKED_EACH_TIME: Final = "no-cache"
_FOR_GOOD: Final = "public, max-age=31536000, immutable"


def serve_page(application: Starlette) -> None:
    """Let an application serve the page.

    Raises:
        OSError: If the installation is not whole.
    """
    assets = Assets.read()

    async def document(request: Request) -> Response:
        services: Services = request.app.state.services
        return _answer(request, assets.documents[services.oidc is not None], _ASKED_EACH_TIME)

    async def file(request: Request) -> Response:
        found = assets.files.get(request.path_params["path"])
        if found is None or request.path_params["digest"] != assets.digest:
            raise HTTPException(404)
        return _answer(request, found, _FOR_GOOD)

    application.router.add_route("/", document, include_in_schema=False)
    application.router.add_route(PREFIX + "/{digest}/{path:path}", file, include_in_schema=False)


def _answer(request: Request, asset: Asset, kept: str) -> Response:
    headers = _HEADERS | {"ETag": asset.etag, "Cache-Control": kept}
    if _names(request.headers.get("if-none-match", ""), asset.etag):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.body, headers=headers, media_type=asset.media_type)


def _names(if_none_match: str, etag: str) -> bool:
    # A proxy that packs an answer makes its tag a weak one.
    return any(each.strip().removeprefix("W/") in (etag, "*") for each in if_none_match.split(","))
