"""One node on this machine: etcd, the API server, controllers, scheduler, kubelet and containerd as plain processes.

Its data, logs and process ids are in one folder, which ``down`` deletes. A cluster is for one boot and one test run:
etcd does not wait for the disk. The admin's token is made anew at each start; the API server listens on 127.0.0.1.

`BANDMASTER_TEST_CLUSTER_FOLDER`, `BANDMASTER_TEST_CLUSTER_CACHE` and `BANDMASTER_TEST_CLUSTER_PORT` move its data, what
it has built, and its ports (the API server's and the two after it, for etcd).
"""

import json
import os
import secrets
import shutil
import subprocess
from functools import partial
from pathlib import Path

from .binaries import Binaries
from .images import Images
from .network import DNS_ADDRESS, NODE_ADDRESS, POD_RANGE, SERVICE_RANGE, clear, take_node_address
from .processes import ClusterError, run, say, start, stop, succeeds, wait_for

NODE = "node-1"
# In the order in which they end.
PARTS = ("kubelet", "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd", "containerd")
_NAMESPACE = "k8s.io"  # containerd's, of all that the kubelet makes


class Node:
    """The node, up or not."""

    def __init__(self, *, control_plane: bool = False) -> None:
        """Bind to its folder.

        Args:
            control_plane: Whether it is etcd and the API server alone: pods are stored and watched, and none runs.
        """
        kind = "-control-plane" if control_plane else ""
        self._control_plane = control_plane
        self._cache = Path(
            os.environ.get("BANDMASTER_TEST_CLUSTER_CACHE", Path.home() / ".cache" / "bandmaster-cluster")
        )
        self._port = int(os.environ.get("BANDMASTER_TEST_CLUSTER_PORT", "27543" if control_plane else "27443"))
        self._binaries = Binaries(self._cache)
        self._images = Images(self._cache, self._binaries.folder)
        self.folder = Path(os.environ.get("BANDMASTER_TEST_CLUSTER_FOLDER", f"/var/tmp/bandmaster-cluster{kind}"))
        self.kubeconfig = self.folder / "kubeconfig"
        self._containerd = self.folder / "containerd.sock"
        os.environ["PATH"] += f":{self._binaries.folder}"

    def prepare(self) -> None:
        """Make the programs and the images that are missing; nothing is started.

        Raises:
            ClusterError: Something could not be made.
        """
        self._binaries.make()
        if not self._control_plane:
            self._images.make()
        say("prepared")

    def up(self) -> None:
        """Start it, unless it answers.

        Raises:
            ClusterError: Something is missing, or did not come up.
        """
        if self.kubeconfig.exists() and self._answers("get", "--raw", "/readyz"):
            return
        self.down()
        self.prepare()
        self.folder.mkdir(parents=True)
        self._start_control_plane()
        if not self._control_plane:
            self._start_node(self._images.make())
        say("up")

    def down(self) -> None:
        """End all that runs, containers too, and delete the data; nothing is done if there is none."""
        if not self.folder.exists():
            return
        stop(self.folder, "kubelet")  # first, or it would start again what is ended
        if self._containerd.is_socket():
            listed = subprocess.run(self._ctr("tasks", "ls", "-q"), check=False, capture_output=True, text=True)
            for task in listed.stdout.split():
                succeeds(*self._ctr("tasks", "kill", "--signal", "KILL", task))
        for part in PARTS:
            stop(self.folder, part)
        mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in sorted(mounted, reverse=True):
            if Path(mount).is_relative_to(self.folder):
                succeeds("umount", "--lazy", mount)
        if not self._control_plane:  # which has no network, and may run beside a node
            clear()
        shutil.rmtree(self.folder)
        say("down")

    def _start_control_plane(self) -> None:
        key, tokens, token = self.folder / "service-accounts.key", self.folder / "tokens.csv", secrets.token_hex(16)
        run("openssl", "genrsa", "-out", key, "2048", log=self.folder / "openssl.log")
        tokens.touch(mode=0o600)
        tokens.write_text(f'{token},admin,1,"system:masters"\n')
        clients, peers = (f"http://127.0.0.1:{self._port + more}" for more in (1, 2))
        etcd = (
            *("etcd", "--data-dir", self.folder / "etcd", "--unsafe-no-fsync"),
            *("--listen-client-urls", clients, "--advertise-client-urls", clients),
            *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
            *("--initial-cluster", f"default={peers}"),
        )
        start(self.folder, "etcd", etcd)
        api_server = (
            "kube-apiserver",
            f"--etcd-servers={clients}",
            f"--cert-dir={self.folder / 'certificates'}",
            *(f"--secure-port={self._port}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"),
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={tokens}",
            *("--authorization-mode=RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true"),
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--kubelet-preferred-address-types=InternalIP",
        )
        start(self.folder, "kube-apiserver", api_server)
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(json.dumps(self._access(token), indent=2))
        wait_for(partial(self._answers, "get", "--raw", "/readyz"), 90, "the API server", self.folder)

    def _start_node(self, images: list[Path]) -> None:
        common = (f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--port=0")
        controllers = (
            *("kube-controller-manager", *common, "--use-service-account-credentials", "--allocate-node-cidrs=false"),
            f"--service-account-private-key-file={self.folder / 'service-accounts.key'}",
        )
        start(self.folder, "kube-controller-manager", controllers)
        start(self.folder, "kube-scheduler", ("kube-scheduler", *common))
        self._write_configuration()
        start(self.folder, "containerd", ("containerd", "--config", self.folder / "containerd.toml"))
        wait_for(partial(succeeds, *self._ctr("version")), 60, "containerd", self.folder)
        for archive in images:
            run(*self._ctr("images", "import", archive), log=self.folder / "images.log")
        clear()  # of a node whose folder somebody deleted
        if not take_node_address():
            raise ClusterError(f"the loopback interface could not be given the address {NODE_ADDRESS}: are you root?")
        kubelet = (
            "kubelet",
            *(f"--config={self.folder / 'kubelet.json'}", f"--kubeconfig={self.kubeconfig}"),
            *("--container-runtime=remote", f"--container-runtime-endpoint=unix://{self._containerd}"),
            *(f"--root-dir={self.folder / 'kubelet'}", f"--hostname-override={NODE}", f"--node-ip={NODE_ADDRESS}"),
        )
        start(self.folder, "kubelet", kubelet)
        ready = ("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=1s")
        wait_for(partial(self._answers, *ready), 120, "the node", self.folder)
        # No pod is admitted before its namespace has one.
        wait_for(partial(self._answers, "get", "serviceaccount", "default"), 60, "the service account", self.folder)

    def _write_configuration(self) -> None:
        network = self.folder / "network"
        network.mkdir()
        ipam = {"type": "host-local", "ranges": [[{"subnet": POD_RANGE}]], "dataDir": str(self.folder / "addresses")}
        plugins = [{"type": "ptp", "ipMasq": False, "ipam": ipam}]
        (network / "10-pods.conflist").write_text(
            json.dumps({"cniVersion": "0.4.0", "name": "bandmaster-test", "plugins": plugins})
        )
        (self.folder / "containerd.toml").write_text(
            f"""version = 2
root = "{self.folder}/containerd/root"
state = "{self.folder}/containerd/state"
[grpc]
  address = "{self._containerd}"
[plugins."io.containerd.grpc.v1.cri"]
  netns_mounts_under_state_dir = true
  sandbox_image = "localhost/pause:test"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{network}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
"""
        )
        kubelet = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "cgroupDriver": "cgroupfs",
            "failSwapOn": False,
            "enforceNodeAllocatable": [],
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "address": NODE_ADDRESS,
            "maxPods": 250,
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            # On a disk that is 85 % full it would delete the images that were imported, and pull them from nowhere.
            "imageGCHighThresholdPercent": 100,
            "syncFrequency": "5s",
            # A folder that is too full is noticed when its size was taken last: by default a minute or two ago.
            "volumeStatsAggPeriod": "5s",
            "nodeStatusUpdateFrequency": "5s",
            "clusterDNS": [DNS_ADDRESS],
            "registryPullQPS": 0,
            # A test holds up the pull of one image, and no other pod waits for it.
            "serializeImagePulls": False,
            "eventRecordQPS": 0,
        }
        (self.folder / "kubelet.json").write_text(json.dumps(kubelet, indent=2))

    def _access(self, token: str) -> dict[str, object]:
        server = {"server": f"https://127.0.0.1:{self._port}", "insecure-skip-tls-verify": True}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": server}],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }

    def _answers(self, *arguments: str) -> bool:
        return succeeds("kubectl", f"--kubeconfig={self.kubeconfig}", *arguments)

    def _ctr(self, *arguments: str | Path) -> tuple[str | Path, ...]:
        return ("ctr", "--address", self._containerd, "--namespace", _NAMESPACE, *arguments)
