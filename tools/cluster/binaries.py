"""Kubernetes, built from Debian 12's own source package: no program of another origin is fetched.

Some minutes the first time; what is built stays in the cache, and a build that was interrupted goes on with what is
missing. Debian ships no binaries of the server, and its source leaves out one generated file, which is made first.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .processes import ClusterError, run, say

RELEASE = "1.20.2"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
# Without what a node on this machine never uses: the clouds' clients, and Docker beneath the kubelet.
TAGS = "providerless,dockerless"
PACKAGES = (
    *("golang-go", "dpkg-dev", "etcd-server", "containerd", "runc", "containernetworking-plugins"),
    *("iptables", "iproute2", "conntrack", "busybox-static", "openssl"),
)
# It waits for a signal in each pod's sandbox: the whole program.
PAUSE = """package main

import (
    "os"
    "os/signal"
    "syscall"
)

func main() {
    ended := make(chan os.Signal, 1)
    signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
    <-ended
}
"""
_SOURCES = Path("/etc/apt/sources.list.d/bandmaster-cluster.list")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_VENDORED = "k8s.io/kubernetes/vendor/k8s.io"


class Binaries:
    """The programs of Kubernetes in one folder of the cache."""

    def __init__(self, cache: Path) -> None:
        self.folder = cache / "bin"
        self._logs = cache / "logs"
        self._gopath = cache / "gopath"
        self._source = self._gopath / "src" / "k8s.io" / "kubernetes"
        self._packed = cache / "source"

    def make(self) -> None:
        """Build what is missing.

        Raises:
            ClusterError: This is no Debian 12, nobody is root, or a step failed.
        """
        if not shutil.which("apt-get"):
            raise ClusterError("there is no Docker with kind, k3d or minikube here, and no apt-get to build one")
        if os.geteuid() != 0:
            raise ClusterError("a cluster from Debian's packages needs root; kind, k3d or minikube do not")
        self._install()
        wanted = [name for name in (*COMPONENTS, "pause") if not (self.folder / name).exists()]
        if not shutil.which("kubectl") and not (self.folder / "kubectl").exists():
            wanted.append("kubectl")
        if not wanted:
            return
        self._unpack()
        self._generate()
        self._build(wanted)

    def _install(self) -> None:
        missing = [package for package in PACKAGES if not _is_installed(package)]
        if missing:
            say(f"installing {' '.join(missing)}")
            quiet = {"DEBIAN_FRONTEND": "noninteractive"}
            run("apt-get", "update", log=self._logs / "update.log")
            run(
                *("apt-get", "install", "--yes", "--no-install-recommends", *missing),
                log=self._logs / "install.log",
                settings=quiet,
            )

    def _unpack(self) -> None:
        if self._source.is_dir():
            return
        say("fetching Debian's source package of Kubernetes")
        self._packed.mkdir(parents=True, exist_ok=True)
        _SOURCES.write_text(f"deb-src [signed-by={_KEYRING}] {_mirror()} bookworm main\n")
        try:
            run("apt-get", "update", log=self._logs / "update.log")
            fetch = ("apt-get", "source", "--download-only", "kubernetes/bookworm")
            run(*fetch, log=self._logs / "source.log", folder=self._packed)
        finally:
            _SOURCES.unlink()
        described = next(self._packed.glob("*.dsc"))
        if RELEASE not in described.name:
            raise ClusterError(f"Debian's Kubernetes is {described.name} by now, and this was written for {RELEASE}")
        unpacked = self._packed / "unpacked"
        run("dpkg-source", "--no-check", "-x", described, unpacked, log=self._logs / "unpack.log")
        self._source.parent.mkdir(parents=True, exist_ok=True)
        unpacked.rename(self._source)

    def _generate(self) -> None:
        """Make the OpenAPI definitions, of every folder that is marked to have some."""
        made = self._source / "pkg" / "generated" / "openapi" / "zz_generated.openapi.go"
        if made.exists():
            return
        say("generating the OpenAPI definitions")
        generator = self._gopath / "openapi-gen"
        self._go("build", "-o", generator, f"{_VENDORED}/kube-openapi/cmd/openapi-gen", log="openapi-gen")
        places = ("staging/src/k8s.io", "pkg", "vendor/k8s.io/kube-openapi")
        marked = subprocess.run(
            ["grep", "-rlE", "--include=*.go", r"^// *\+k8s:openapi-gen=true", *places],
            cwd=self._source,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        packages = sorted({_package_of(Path(file).parent) for file in marked if not _is_aside(file)})
        run(
            *(
                generator,
                "-O",
                "zz_generated.openapi",
                "--go-header-file",
                "hack/boilerplate/boilerplate.generatego.txt",
            ),
            *("--input-dirs", ",".join(packages), "--output-package", "k8s.io/kubernetes/pkg/generated/openapi"),
            *("-o", self._gopath / "src", "-r", os.devnull),
            log=self._logs / "openapi.log",
            folder=self._source,
            settings=self._environment(),
        )

    def _build(self, wanted: list[str]) -> None:
        """Build all of them by one command, so that no core waits while one of them is linked."""
        self._write_pause()
        told = {
            "gitVersion": f"v{RELEASE}",
            "gitMajor": RELEASE.split(".")[0],
            "gitMinor": RELEASE.split(".")[1],
            "gitTreeState": "clean",
            "gitCommit": 40 * "0",
            "buildDate": "1970-01-01T00:00:00Z",
        }
        marks = [
            f"-X {_VENDORED}/{package}.{key}={value}"
            for package in ("component-base/version", "client-go/pkg/version")
            for key, value in told.items()
        ]
        made = self._gopath / "made"
        made.mkdir(exist_ok=True)
        packages = [name if name == "pause" else f"k8s.io/kubernetes/cmd/{name}" for name in wanted]
        flags = (
            "-tags",
            TAGS,
            "-gcflags=k8s.io/kubernetes/...=-dwarf=false",
            "-ldflags",
            " ".join(["-s", "-w", *marks]),
        )
        log = self._logs / "build.log"
        # Each package is named in the log as its turn comes.
        progress = partial(self._progress, log, self._count(packages))
        say(f"building {', '.join(wanted)}, of Kubernetes {RELEASE}")
        self._go("build", "-v", *flags, "-o", made, *packages, log=log.stem, progress=progress)
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in wanted:
            (made / name).rename(self.folder / name)

    def _write_pause(self) -> None:
        folder = self._gopath / "src" / "pause"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.go").write_text(PAUSE)

    def _count(self, packages: list[str]) -> int:
        log = self._logs / "packages.log"
        self._go("list", "-deps", "-tags", TAGS, *packages, log=log.stem)
        return len(log.read_text().splitlines())

    def _progress(self, log: Path, count: int) -> str:
        return f"built {len(log.read_text(errors='replace').splitlines())} of {count} packages at the most"

    def _go(self, *arguments: str | Path, log: str, progress: Callable[[], str] | None = None) -> None:
        where = self._logs / f"{log}.log"
        run("go", *arguments, log=where, folder=self._source, settings=self._environment(), progress=progress)

    def _environment(self) -> dict[str, str]:
        # With GOGC, more memory (up to 1.5 GB) for less time.
        alone = {"GOPATH": str(self._gopath), "GO111MODULE": "off", "CGO_ENABLED": "0", "GOFLAGS": ""}
        return {**alone, "GOGC": "400"}


def _is_installed(package: str) -> bool:
    asked = ["dpkg-query", "--show", "--showformat=${Status}", package]
    return "ok installed" in subprocess.run(asked, check=False, capture_output=True, text=True).stdout


def _mirror() -> str:
    """From where this machine takes Debian 12."""
    wanted = ("Identifier: Packages", "Origin: Debian", "Codename: bookworm", "Component: main")
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted]
    mirrors = subprocess.run(asked, check=False, capture_output=True, text=True).stdout.split()
    if not mirrors:
        raise ClusterError("apt knows no mirror of Debian 12 (bookworm), whose Kubernetes this builds")
    return mirrors[0]


def _package_of(folder: Path) -> str:
    """The Go package of a folder of the source: what is staged is imported as if it were vendored."""
    text = folder.as_posix()
    if text.startswith("staging/src/k8s.io"):
        return text.replace("staging/src/k8s.io", _VENDORED, 1)
    return f"k8s.io/kubernetes/{text}"


def _is_aside(file: str) -> bool:
    return any(part in file for part in ("testdata", "/example/", "/examples/", "_examples", "test/"))
