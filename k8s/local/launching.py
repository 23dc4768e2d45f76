"""Prepares an attempt's folder and starts its supervisor: the worker's side of ``create``.

The supervising process runs the base interpreter in isolated mode, without site packages and without importing
Bandmaster, so that it starts fast. It has its own session, so that a Ctrl-C in the worker's terminal does not reach it.
If the worker dies in here, the claim (``claiming.py``) decides whether the pod exists; a folder that was only prepared
is removed later by a sweep.
"""

import math
import os
import shutil
import subprocess
import time
from pathlib import Path
from uuid import uuid4

from ...scheduler.model.item_tokens import ITEMS_VARIABLE
from ..errors import PodsUnavailable
from ..quantity import cpu_cores, memory_bytes
from ..runtimes import Runtime
from ..spec import PodScript, PodSpec
from . import claiming
from .limits import LocalLimits, base_python
from .records import PREPARED_PREFIX, UID_VARIABLE, Folder, Manifest, write_atomically
from .sandbox import ITEMS_FILE, TMP_FOLDER, WORK_FOLDER
from .segments import SEGMENTS

_START_TIMEOUT_SECONDS = 30.0
#: The folder that contains the package `k8s` goes to the end of the path, after the standard library.
_BOOTSTRAP = "import sys; sys.path.append(sys.argv[1]); from k8s.local.claiming import main; main()"
_PACKAGE_PARENT = Path(__file__).resolve().parent.parent.parent


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
        # The folder stays: the claim may still succeed, and the next `create` then adopts the pod.
        raise PodsUnavailable(f"the supervisor of pod {spec.name} does not start: {error}") from error
    except OSError as error:
        shutil.rmtree(prepared.path, ignore_errors=True)
        raise PodsUnavailable(f"pod {spec.name} could not be started: {error}", pod_may_exist=False) from error
    if code == claiming.CREATED:
        return True
    shutil.rmtree(prepared.path, ignore_errors=True)
    if code != claiming.NAME_TAKEN:
        # Even if the supervisor had claimed the name: it has exited without starting anything.
        raise PodsUnavailable(f"the supervisor of pod {spec.name} ended with exit code {code}", pod_may_exist=False)
    return False


def _prepare(spec: PodSpec, uid: str, prepared: Folder, folder: Folder, limits: LocalLimits) -> None:
    # Another user may pass through the pod's folder to its own folders, but not list it.
    os.mkdir(prepared.path, 0o700 if limits.user is None else 0o711)
    for directory in (prepared.output, prepared.work, prepared.tmp):
        os.mkdir(directory, 0o700)
    for path in (prepared.lock, prepared.errors):
        Path(path).touch(0o600)
    programs = [prepared.work, prepared.tmp]
    if spec.script is not None:
        path = Path(prepared.work, spec.script.resolved_file_name)
        path.write_bytes(spec.script.text.encode())
        path.chmod(0o700)
        programs.append(str(path))
    if spec.items_file is not None:
        write_atomically(prepared.items, spec.items_file, durable=False)
        programs.append(prepared.items)
    if limits.user is not None:
        for path in programs:
            os.chown(path, limits.user.uid, limits.user.gid)
    prepared.write_manifest(_manifest(spec, uid, folder, limits))


def _manifest(spec: PodSpec, uid: str, folder: Folder, limits: LocalLimits) -> Manifest:
    # Where the program sees its folders.
    work, tmp, items = folder.work, folder.tmp, folder.items
    if limits.sandbox is not None:
        work, tmp, items = WORK_FOLDER, TMP_FOLDER, ITEMS_FILE
    argv = list(spec.command or ()) if spec.script is None else _script_argv(spec.script, work, limits.python)
    if limits.sandbox is not None:
        bound = None if spec.items_file is None else folder.items
        argv = limits.sandbox.enter(argv, work=folder.work, tmp=folder.tmp, items=bound)
    env = _environment(spec, uid, work, tmp, limits.search_path)
    if spec.items_file is not None:
        env[ITEMS_VARIABLE] = items
    return Manifest(
        uid=uid,
        execution_id=spec.execution_id,
        attempt=spec.attempt,
        action=spec.action,
        user_id=spec.user_id,
        created_at=time.time(),
        argv=argv,
        env=env,
        timeout_seconds=spec.timeout_seconds,
        grace_seconds=limits.grace_seconds,
        memory_limit_bytes=None if spec.memory_limit is None else memory_bytes(spec.memory_limit),
        cpu_cores=None if spec.cpu_limit is None else float(cpu_cores(spec.cpu_limit)),
        segment_bytes=math.ceil(limits.output_limit_bytes / SEGMENTS),
        tail_bytes=limits.tail_bytes,
        user=None if limits.user is None else (limits.user.uid, limits.user.gid),
        sandboxed=limits.sandbox is not None,
        max_processes=limits.max_processes,
        max_open_files=limits.max_open_files,
        disk_limit_bytes=limits.disk_limit_bytes,
    )


def _script_argv(script: PodScript, work: str, python: str) -> list[str]:
    path = os.path.join(work, script.resolved_file_name)
    match script.resolved_runtime:
        case Runtime.ITSELF:
            return [path]
        case Runtime.PYTHON:
            return [python, path]
        case Runtime.PROGRAM:
            return [script.runtime or "", path]
        case runtime:
            return [runtime.value, path]


def _environment(spec: PodSpec, uid: str, work: str, tmp: str, search_path: str) -> dict[str, str]:
    return {
        "PATH": search_path,
        "HOME": work,
        "TMPDIR": tmp,
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",  # so that a log can be followed, and a killed script leaves what it printed
        **spec.identity,
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
    # This process exits as soon as the pod is claimed; the supervisor is its child, not ours.
    return process.wait(_START_TIMEOUT_SECONDS)
