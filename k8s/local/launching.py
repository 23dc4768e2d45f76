"""Prepares an attempt's folder and starts its supervisor: the worker's side of ``create``.

The supervising process runs the base interpreter in isolated mode, without site packages and without importing
Bandmaster, in its own session, so that neither a heavy import nor a Ctrl-C in the worker's terminal reaches it. If the
worker dies in here, the claim (``claiming.py``) decides whether the pod exists; a folder that was merely prepared is
swept up later.
"""

import math
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from ..errors import PodsUnavailable
from ..quantity import cpu_cores, memory_bytes
from ..runtimes import Runtime
from ..spec import PodScript, PodSpec
from . import claiming
from .records import PREPARED_PREFIX, UID_VARIABLE, Folder, Manifest
from .segments import SEGMENTS

_START_TIMEOUT_SECONDS = 30.0
_STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: The folder of the package `k8s` goes to the end of the path, behind the standard library.
_BOOTSTRAP = "import sys; sys.path.append(sys.argv[1]); from k8s.local.claiming import main; main()"
_PACKAGE_PARENT = Path(__file__).resolve().parent.parent.parent


def base_python() -> str:
    """Find the interpreter below any virtual environment, so that programs don't see the worker's packages."""
    candidate = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    return str(candidate) if candidate.exists() else sys.executable


def default_search_path() -> str:
    """Compose the PATH of programs: the system's folders, then the one of the interpreter."""
    return f"{_STANDARD_PATH}:{Path(base_python()).parent}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLimits:
    """What holds for every local pod.

    Args:
        grace_seconds: Between TERM and KILL.
        output_limit_bytes: So much of a program's output is kept on disk: its beginning and its end.
        tail_bytes: So much of it is in the outcome.
        keep_seconds: How long a pod is kept after it was acknowledged, for its logs and files.
        search_path: PATH of the programs.
    """

    grace_seconds: float = 2.0
    output_limit_bytes: int = 1 << 20
    tail_bytes: int = 8 << 10
    keep_seconds: float = 3600.0
    search_path: str = default_search_path()


def launch(spec: PodSpec, folder: Folder, limits: LocalLimits) -> bool:
    """Start a pod under its name.

    Returns:
        False if the name is taken.

    Raises:
        PodsUnavailable: If the machine has no room for it.
    """
    uid = str(uuid4())
    prepared = Folder(os.path.join(folder.root, PREPARED_PREFIX + uid))
    try:
        _prepare(spec, uid, prepared, folder, limits)
        code = _start(prepared, folder)
    except subprocess.TimeoutExpired as error:
        # The folder stays: its claim may still succeed, and the next `create` then adopts the pod.
        raise PodsUnavailable(f"the supervisor of pod {spec.name} does not start: {error}") from error
    except OSError as error:
        shutil.rmtree(prepared.path, ignore_errors=True)
        raise PodsUnavailable(f"pod {spec.name} could not be started: {error}", pod_may_exist=False) from error
    if code == claiming.CREATED:
        return True
    shutil.rmtree(prepared.path, ignore_errors=True)
    if code != claiming.NAME_TAKEN:
        # Even if it had claimed the name: it runs no more, and has started nothing.
        raise PodsUnavailable(f"the supervisor of pod {spec.name} ended with exit code {code}", pod_may_exist=False)
    return False


def _prepare(spec: PodSpec, uid: str, prepared: Folder, folder: Folder, limits: LocalLimits) -> None:
    for directory in (prepared.path, prepared.output, prepared.work, prepared.tmp):
        os.mkdir(directory, 0o700)
    Path(prepared.lock).touch(0o600)
    if spec.script is not None:
        path = Path(prepared.work, spec.script.resolved_file_name)
        path.write_bytes(spec.script.text.encode())
        path.chmod(0o700)
    prepared.write_manifest(
        Manifest(
            uid=uid,
            execution_id=spec.execution_id,
            attempt=spec.attempt,
            action=spec.action,
            user_id=spec.user_id,
            created_at=time.time(),
            argv=_script_argv(spec.script, folder) if spec.script is not None else list(spec.command or ()),
            env=_environment(spec, uid, folder, limits.search_path),
            timeout_seconds=spec.timeout_seconds,
            grace_seconds=limits.grace_seconds,
            memory_limit_bytes=None if spec.memory_limit is None else memory_bytes(spec.memory_limit),
            cpu_cores=None if spec.cpu_limit is None else float(cpu_cores(spec.cpu_limit)),
            segment_bytes=math.ceil(limits.output_limit_bytes / SEGMENTS),
            tail_bytes=limits.tail_bytes,
        )
    )


def _script_argv(script: PodScript, folder: Folder) -> list[str]:
    path = os.path.join(folder.work, script.resolved_file_name)
    match script.resolved_runtime:
        case Runtime.ITSELF:
            return [path]
        case Runtime.PYTHON:
            return [base_python(), path]
        case Runtime.PROGRAM:
            return [script.runtime or "", path]
        case runtime:
            return [runtime.value, path]


def _environment(spec: PodSpec, uid: str, folder: Folder, search_path: str) -> dict[str, str]:
    return {
        "PATH": search_path,
        "HOME": folder.work,
        "TMPDIR": folder.tmp,
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",  # so that a log can be followed, and a killed script leaves what it printed
        "EXECUTION_ID": spec.execution_id,
        "EXECUTION_ATTEMPT": str(spec.attempt),
        UID_VARIABLE: uid,
    }


def _start(prepared: Folder, folder: Folder) -> int:
    command = [base_python(), "-I", "-S", "-c", _BOOTSTRAP, str(_PACKAGE_PARENT), prepared.path, folder.path]
    with open(prepared.errors, "wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd="/",
            env={},
            start_new_session=True,
        )
    # It ends as soon as the pod is claimed; the supervisor is its child, and no child of ours.
    return process.wait(_START_TIMEOUT_SECONDS)
