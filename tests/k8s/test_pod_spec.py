"""Specifications: names, runtimes, quantities, and what is rejected before anything is created."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandmaster.k8s.backend import connect
from bandmaster.k8s.errors import BackendNotAvailable, PodError, PodRejected
from bandmaster.k8s.pods import PodScript, PodSpec, pod_name
from bandmaster.k8s.quantity import cpu_cores, memory_bytes
from bandmaster.k8s.runtimes import Runtime
from bandmaster.scheduler.model.errors import BandmasterError

DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
IDS = st.text("ABCabc019._-", min_size=1, max_size=128).filter(lambda text: text.strip("."))


def spec(**fields: object) -> PodSpec:
    values: dict[str, object] = {"execution_id": "one", "attempt": 1, "action": "pod", "timeout_seconds": 1.0}
    return PodSpec(**(values | {"command": ("true",)} | fields))  # pyright: ignore[reportArgumentType]


@given(IDS, st.integers(1, 999_999_999))
def test_every_id_and_attempt_makes_a_dns_label_that_names_the_attempt(execution_id: str, attempt: int) -> None:
    name = pod_name(execution_id, attempt)
    assert DNS_LABEL.fullmatch(name)
    assert name.startswith("exec-")
    assert name.endswith(f"-{attempt}")
    assert name == pod_name(execution_id, attempt)


@pytest.mark.parametrize(
    ("one", "other"), [("a.b", "a-b"), ("Job", "job"), ("x" * 127 + "1", "x" * 127 + "2"), ("---", "-.-")]
)
def test_ids_that_look_alike_have_different_pods(one: str, other: str) -> None:
    assert pod_name(one, 1) != pod_name(other, 1)


def test_an_attempt_of_one_id_is_never_taken_for_another_ids() -> None:
    assert pod_name("job-1", 11) != pod_name("job-1-1", 1)


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"command": None}, "exactly one"),
    ({"script": PodScript("true")}, "exactly one"),
    ({"command": ()}, "empty"),
    ({"command": ("",)}, "empty"),
    ({"command": ("echo", "a\0b")}, "argument 1"),
    ({"command": ("echo", "\ud800")}, "argument 1"),
    ({"command": ("echo", "x" * (1 << 20))}, "longer than"),
    ({"execution_id": "a b"}, "'a b'"),
    ({"attempt": 0}, "attempt 0"),
    ({"timeout_seconds": 0}, "timeout_seconds 0"),
    ({"timeout_seconds": float("nan")}, "timeout_seconds nan"),
    ({"memory_limit": "64MB"}, "'64MB'"),
    ({"memory_limit": "128m"}, "'128m'"),
    ({"cpu_limit": "much"}, "'much'"),
    ({"cpu_request": "2", "cpu_limit": "1500m"}, "cpu_request 2"),
    ({"memory_request": "1Gi", "memory_limit": "1G"}, "memory_request 1Gi"),
)


def test_a_bad_specification_is_rejected_with_the_value_named(subtests: pytest.Subtests) -> None:
    for fields, named in BAD:
        with subtests.test(fields=fields, named=named), pytest.raises(PodRejected, match=re.escape(named)):
            spec(**fields)


LEAVING = (
    "",
    ".",
    "..",
    "../up.py",
    "/etc/passwd",
    "a\nb",
    "a\0b",
    "x" * 201,
)


def test_a_file_name_that_leaves_the_work_folder_is_rejected(subtests: pytest.Subtests) -> None:
    for name in LEAVING:
        with subtests.test(name=name), pytest.raises(PodRejected, match="file name"):
            PodScript("true", file_name=name)


@pytest.mark.parametrize("text", ["", " \n", "a\ud800", "x" * ((1 << 20) + 1)])
def test_a_script_without_text_or_too_long_is_rejected(text: str) -> None:
    with pytest.raises(PodRejected, match="script"):
        PodScript(text)


def test_an_unknown_runtime_is_rejected_with_the_allowed_ones() -> None:
    with pytest.raises(PodRejected, match=r"'cobol'.*python, python3, bash, sh, node"):
        PodScript("DISPLAY 1", runtime="cobol")


RUNTIMES = (
    (PodScript("print()"), Runtime.PYTHON),
    (PodScript("#!/bin/bash\n", file_name="report.sh"), Runtime.ITSELF),
    (PodScript("#!/bin/bash\n", file_name="report.sh", runtime="sh"), Runtime.SH),
    (PodScript("echo", file_name="report.SH"), Runtime.SH),
    (PodScript("1", file_name="a.mjs"), Runtime.NODE),
    (PodScript("1", runtime="python3"), Runtime.PYTHON),
    (PodScript("1", runtime="/usr/bin/awk"), Runtime.PROGRAM),
)


def test_the_runtime_is_the_one_asked_for_else_by_first_line_else_by_suffix(subtests: pytest.Subtests) -> None:
    for script, runtime in RUNTIMES:
        with subtests.test(script=script, runtime=runtime):
            assert script.resolved_runtime is runtime


BYTES = (
    ("128Mi", 128 << 20),
    ("1G", 10**9),
    ("1.5Ki", 1536),
    ("1", 1),
    ("7Ei", 7 << 60),
)


def test_memory_is_read_as_bytes(subtests: pytest.Subtests) -> None:
    for text, size in BYTES:
        with subtests.test(text=text, size=size):
            assert memory_bytes(text) == size


@pytest.mark.parametrize(("text", "cores"), [("500m", 0.5), ("1", 1), ("1.5", 1.5), ("1000", 1000)])
def test_cpu_is_read_as_cores(text: str, cores: float) -> None:
    assert float(cpu_cores(text)) == cores


NO_MEMORY = (
    "",
    "-1",
    "0",
    "1 Mi",
    "1mi",
    "Mi",
    "1KB",
    "0.5",
    "8Ei",
    "1e30",
    "٣",
)


def test_what_is_no_memory_quantity_is_rejected_by_name(subtests: pytest.Subtests) -> None:
    for text in NO_MEMORY:
        with subtests.test(text=text), pytest.raises(PodRejected, match=re.escape(repr(text))):
            memory_bytes(text)


@pytest.mark.parametrize("text", ["", "-1", "0", "1u", "one"])
def test_what_is_no_cpu_quantity_is_rejected_by_name(text: str) -> None:
    with pytest.raises(PodRejected, match=re.escape(repr(text))):
        cpu_cores(text)


@pytest.mark.parametrize("backend", ["kubernetes", "docker", ""])
def test_a_backend_that_is_not_there_is_an_error_that_names_it(backend: str, tmp_path: Path) -> None:
    with pytest.raises(BackendNotAvailable, match=re.escape(repr(backend))):
        connect(backend, root=tmp_path)


def test_every_pod_error_is_one_of_bandmasters() -> None:
    assert issubclass(PodError, BandmasterError)
