"""What the fixtures of these tests make, for annotations, and the images that they run."""

import os
from collections.abc import Callable

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.pods import Pods, PodSpec

BUSYBOX = os.environ.get("BANDMASTER_TEST_BUSYBOX_IMAGE", "localhost/busybox:test")
PYTHON = os.environ.get("BANDMASTER_TEST_PYTHON_IMAGE", "localhost/python:test")

HELD = "until [ -e /tmp/go ]; do sleep 0.1; done"
"""A program waits here for `Admin.let_go`: so it is seen to run, however much its node has to do."""

MakeSpec = Callable[..., PodSpec]
Connect = Callable[..., Pods]


def pod_settings(kubeconfig: str, namespace: str) -> KubernetesSettings:
    """Small pods in a namespace of one's own."""
    return KubernetesSettings(
        backend="kubernetes",
        namespace=namespace,
        kubeconfig=kubeconfig,
        default_image=BUSYBOX,
        cpu_request="10m",
        cpu_limit="500m",
        memory_request="16Mi",
        memory_limit="64Mi",
        termination_grace_seconds=2,
    )
