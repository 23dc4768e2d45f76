"""Pods as API servers report them: recorded from Kubernetes 1.20, and what later releases say instead.

The recorded ones are files beside this one. The later ones are a recorded pod whose status was replaced by what the
documentation and the sources of those releases give, since 1.20 knows no DisruptionTarget and ends pods differently.
"""

import json
from pathlib import Path
from typing import Any

from bandmaster.k8s.cluster.objects import Pod

FOLDER = Path(__file__).parent / "recorded"
Json = dict[str, Any]


def recorded_json(name: str) -> Json:
    return json.loads((FOLDER / f"{name}.json").read_text())


def recorded(name: str, **annotations: str) -> Pod:
    """A pod as 1.20 reported it, with annotations added."""
    found = recorded_json(name)
    found["metadata"]["annotations"] |= annotations
    return Pod.model_validate(found)


def later(
    *,
    phase: str = "Failed",
    reason: str = "",
    message: str = "",
    disruption: str = "",
    terminated: Json | None = None,
    waiting: Json | None = None,
    deleted_at: str | None = None,
) -> Pod:
    """A pod as a later release reports it; it was created and started in 2026, on 21 November, shortly after 05:08."""
    found = recorded_json("running")
    status: Json = {"phase": phase, "startTime": "2026-11-21T05:08:38Z", "reason": reason, "message": message}
    status["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-21T05:08:38Z"}]
    if disruption:
        condition = {"type": "DisruptionTarget", "status": "True", "reason": disruption, "message": "so it was"}
        status["conditions"].append(condition | {"lastTransitionTime": "2026-11-21T05:08:50Z"})
    if terminated is not None:
        times = {"startedAt": "2026-11-21T05:08:39Z", "finishedAt": "2026-11-21T05:08:51Z"}
        status["containerStatuses"] = [{"name": "program", "state": {"terminated": times | terminated}}]
    if waiting is not None:
        status["containerStatuses"] = [{"name": "program", "state": {"waiting": waiting}}]
    found["status"] = status
    if deleted_at is not None:
        found["metadata"] |= {"deletionTimestamp": deleted_at, "deletionGracePeriodSeconds": 5}
    return Pod.model_validate(found)


KILLED: Json = {"exitCode": 137, "reason": "Error"}
STOPPED: Json = {"exitCode": 143, "reason": "Error"}
EXITED: Json = {"exitCode": 0, "reason": "Completed"}
