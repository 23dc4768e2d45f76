"""Checks an execution's image against the allow-list: each pattern matches repository, tag and digest. Pure.

In the flow: when an event becomes a specification, and again where the manifest is made. A name has the form
`[host[:port]/]path[:tag][@digest]` of the distribution specification; without tag and digest, the tag is `latest`. A
pattern has the same form. `*` stands for any characters between two slashes, `**` as the last part for a whole path. An
image with a digest needs a pattern with a digest, because a registry serves the digest and ignores the tag beside it.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..scheduler.model.errors import shown
from .errors import PodRejected

_ANY_PATH = "**"
_LATEST = "latest"


@dataclass(frozen=True, slots=True)
class _Reference:
    parts: list[str]
    tag: str
    digest: str

    @classmethod
    def parse(cls, text: str, untagged: str = "") -> "_Reference":
        named, _, digest = text.partition("@")
        parts = named.split("/")
        # A colon before a slash belongs to a host's port.
        parts[-1], _, tag = parts[-1].partition(":")
        return cls(parts, tag or ("" if digest else untagged), digest)

    def allows(self, image: "_Reference") -> bool:
        tag_fits = fnmatchcase(image.tag, self.tag or "*")
        return self._allows_repository(image.parts) and tag_fits and fnmatchcase(image.digest, self.digest)

    def _allows_repository(self, parts: list[str]) -> bool:
        wanted = self.parts
        if wanted[-1] == _ANY_PATH:
            wanted, parts = wanted[:-1], parts[: len(wanted) - 1] if len(parts) >= len(wanted) else []
        return len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted))


def check_image(image: str, allowed: tuple[str, ...]) -> None:
    """Check that an image may be used.

    Args:
        image: Its name, as the cluster gets it.
        allowed: The patterns; none: any image may be used.

    Raises:
        PodRejected: If no pattern allows it.
    """
    if not allowed:
        return
    reference = _Reference.parse(image, _LATEST)
    if not any(_Reference.parse(pattern).allows(reference) for pattern in allowed):
        raise PodRejected(f"image {shown(image)} is not on the list of allowed images: {', '.join(allowed)}")
