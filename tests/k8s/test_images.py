"""The allow-list of images: patterns match the repository, the tag and the digest, each as a whole."""

import pytest

from bandmaster.k8s.errors import PodRejected
from bandmaster.k8s.images import check_image

DIGEST = "sha256:" + "0" * 64


ALLOWED = (
    ("python:3.11-slim", "python:3.11-*"),
    ("python", "python"),
    ("python:latest", "python:latest"),
    ("python", "python:latest"),
    ("python:3.12", "python"),
    ("host:5000/team/app:1.2", "host:5000/team/*:1.*"),
    ("host/team/a/b/app", "host/team/**"),
    (f"app@{DIGEST}", f"app@{DIGEST}"),
    (f"app:1.2@{DIGEST}", "app:1.*@sha256:*"),
    ("app:1", "**"),
)


def test_what_a_pattern_allows(subtests: pytest.Subtests) -> None:
    for image, pattern in ALLOWED:
        with subtests.test(image=image, pattern=pattern):
            check_image(image, ("another", pattern))


NOT_ALLOWED = (
    ("python:3.11-slim/evil", "python:3.11-*"),
    ("python:3.11-x/evil:3.11-y", "python:3.11-*"),
    ("evil/python:3.11-slim", "python:3.11-*"),
    (f"app@{DIGEST}", "app:1.*"),
    (f"app:1.2@{DIGEST}", "app:1.*"),
    (f"app@{DIGEST}", "app"),
    (f"app:2@{DIGEST}", "app:1.*@sha256:*"),
    ("app:2", "app:1.*"),
    ("app", "app:1.*"),
    ("host/team/a/app", "host/team/*"),
    ("host/team", "host/team/**"),
    ("good/x/../../evil", "good/*"),
    ("host:5000/app", "host/app"),
    ("apple", "app"),
)


def test_what_a_pattern_does_not_allow(subtests: pytest.Subtests) -> None:
    for image, pattern in NOT_ALLOWED:
        says = "is not on the list of allowed images: "
        with subtests.test(image=image, pattern=pattern), pytest.raises(PodRejected, match=says):
            check_image(image, (pattern,))


def test_without_a_list_every_image_may_be_used() -> None:
    check_image("anything:at@all", ())
