"""What the fixtures of these tests make, for annotations, and the images that they run."""

import os
from collections.abc import Callable

from bandmaster.k8s.pods import Pods, PodSpec

BUSYBOX = os.environ.get("BANDMASTER_TEST_BUSYBOX_IMAGE", "localhost/busybox:test")
PYTHON = os.environ.get("BANDMASTER_TEST_PYTHON_IMAGE", "localhost/python:test")

SEEN_RUNNING_SECONDS = 12
"""A program that is over much sooner is perhaps never told to run, by a node that has much to do."""

MakeSpec = Callable[..., PodSpec]
Connect = Callable[..., Pods]
