"""A cluster of kind, k3d or minikube, with the two images that the tests' pods use.

Each brings a cluster up in containers of Docker or Podman. The tests name their images `localhost/busybox:test` and
`localhost/python:test`, so that none is ever pulled by a node: here they are pulled once and loaded.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .processes import ClusterError, say, succeeds

IMAGES = {
    "localhost/busybox:test": "docker.io/library/busybox:1.37",
    "localhost/python:test": "docker.io/library/python:3.13-alpine",
}
_CREATE = {
    "kind": ("kind", "create", "cluster", "--name", "{name}", "--wait", "120s"),
    "k3d": ("k3d", "cluster", "create", "{name}", "--wait", "--timeout", "120s", "--kubeconfig-update-default=false"),
    "minikube": ("minikube", "start", "--profile", "{name}", "--wait=all"),
}
_LOAD = {
    "kind": ("kind", "load", "docker-image", "{image}", "--name", "{name}"),
    "k3d": ("k3d", "image", "import", "{image}", "--cluster", "{name}"),
    "minikube": ("minikube", "image", "load", "{image}", "--profile", "{name}"),
}
_DELETE = {
    "kind": ("kind", "delete", "cluster", "--name", "{name}"),
    "k3d": ("k3d", "cluster", "delete", "{name}"),
    "minikube": ("minikube", "delete", "--profile", "{name}"),
}
PROVIDERS = tuple(_CREATE)


def installed() -> str | None:
    """The first of them that is on the path together with Docker; None if there is none."""
    if shutil.which("docker") is None:
        return None
    return next((provider for provider in PROVIDERS if shutil.which(provider)), None)


def prepare(provider: str, kubeconfig: Path) -> None:
    """Pull the images.

    Args:
        provider: Who will run the cluster, one of `PROVIDERS`.
        kubeconfig: Where its access data will be.

    Raises:
        ClusterError: The provider or Docker is missing, or Docker failed; it has said why.
    """
    _find(provider)
    for image, source in IMAGES.items():
        _run(("docker", "pull", "--quiet", source), kubeconfig)
        _run(("docker", "tag", source, image), kubeconfig)


def up(provider: str, name: str, kubeconfig: Path) -> None:
    """Start the cluster, unless it answers, and give it the images.

    Args:
        provider: Who runs it, one of `PROVIDERS`.
        name: The cluster's name.
        kubeconfig: Where its access data are written; the user's own file stays as it is.

    Raises:
        ClusterError: A command is missing or failed; it has said why.
    """
    kubeconfig.parent.mkdir(parents=True, exist_ok=True)
    if not _answers(kubeconfig):
        say(f"starting {name} with {provider}")
        _run(_CREATE[provider], kubeconfig, name=name)
        if provider == "k3d":  # the others write the file that KUBECONFIG names
            _run(("k3d", "kubeconfig", "write", "{name}", "--output", str(kubeconfig)), kubeconfig, name=name)
    prepare(provider, kubeconfig)
    for image in IMAGES:
        _run(_LOAD[provider], kubeconfig, name=name, image=image)


def down(provider: str, name: str, kubeconfig: Path) -> None:
    """End the cluster and forget its access data.

    Raises:
        ClusterError: The provider is missing, or could not delete it; it has said why.
    """
    _run(_DELETE[provider], kubeconfig, name=name)
    kubeconfig.unlink(missing_ok=True)


def _answers(kubeconfig: Path) -> bool:
    return kubeconfig.exists() and succeeds("kubectl", f"--kubeconfig={kubeconfig}", "get", "--raw", "/readyz")


def _run(command: tuple[str, ...], kubeconfig: Path, **values: str) -> None:
    words = [word.format(**values) for word in command]
    _find(words[0])
    done = subprocess.run(words, check=False, stdout=sys.stderr, env={**os.environ, "KUBECONFIG": str(kubeconfig)})
    if done.returncode != 0:
        raise ClusterError(f"`{' '.join(words)}` failed with {done.returncode}")


def _find(program: str) -> None:
    if shutil.which(program) is None:
        raise ClusterError(f"{program} is not installed; without --provider, one that is gets chosen")
