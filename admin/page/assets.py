"""``Assets``: the files of the page, read once, under addresses that name their content.

In the flow: the API reads them when it is built. All of them stand under one digest, so that what one names relatively
is of the same release, and a browser keeps each of them for good: a new release has new addresses. Only the document
at `/` is asked for each time, and says which those are.
"""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "files"
PREFIX: Final = "/page"
_DOCUMENT: Final = "index.html"
_MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_DIGEST_CHARS: Final = 16
_BASE: Final = "@BASE@"
_PROVIDER: Final = "@PROVIDER@"
_PRELOADS: Final = "<!--PRELOADS-->"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is served."""

    body: bytes
    packed: bytes
    """The same, by gzip."""
    media_type: str
    etag: str

    @classmethod
    def of(cls, body: bytes, suffix: str) -> "Asset":
        """Return the asset of a file's content; its name ends in `suffix`."""
        packed = gzip.compress(body, mtime=0)
        return cls(body, packed, _MEDIA_TYPES[suffix], f'"{_digest(body)}"')


@dataclass(frozen=True, slots=True)
class Assets:
    """All of them."""

    digest: str
    documents: dict[bool, Asset]
    """The page itself: where browsers may sign in with a provider (True), and where not."""
    files: dict[str, Asset]
    """By path within the folder."""

    @classmethod
    def read(cls) -> "Assets":
        """Read them.

        Raises:
            OSError: If the installation is not whole.
        """
        bodies = {
            path.relative_to(FOLDER).as_posix(): path.read_bytes()
            for path in sorted(FOLDER.rglob("*"))
            if path.is_file()
        }
        digest = _digest(b"".join(f"{name}\n{len(body)}\n".encode() + body for name, body in bodies.items()))
        base = f"{PREFIX}/{digest}"
        # Without it a browser would learn of each module only when it has read the one that imports it.
        preloads = "\n".join(
            f'<link rel="modulepreload" href="{base}/{name}">' for name in bodies if name.endswith(".js")
        )
        text = bodies.pop(_DOCUMENT).decode().replace(_PRELOADS, preloads).replace(_BASE, base)
        files = {name: Asset.of(body, Path(name).suffix) for name, body in bodies.items()}
        documents = {
            has_provider: Asset.of(text.replace(_PROVIDER, "yes" if has_provider else "no").encode(), ".html")
            for has_provider in (False, True)
        }
        return cls(digest, documents, files)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]
