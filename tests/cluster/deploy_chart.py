"""The manifests as their tools make them: the chart by Helm's own engine, the kustomizations by ``kubectl kustomize``.

In the flow: the deployment tests read what comes out, or give it to an API server.
"""

import copy
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml
from deploy_kubectl import Manifest, need, skip_or_fail

DEPLOY: Final = Path(__file__).parents[2] / "configs" / "deploy"
CHART: Final = DEPLOY / "helm" / "bandmaster"
KUSTOMIZE: Final = DEPLOY / "kustomize"
RELEASE: Final = "bandmaster"
NAMESPACE: Final = "bandmaster"
EXECUTIONS_NAMESPACE: Final = "bandmaster-executions"
POD_KINDS: Final = ("Deployment", "StatefulSet")

Values = Mapping[str, Any]


def helm() -> Any:
    """Helm's engine: the package `helm-python-sdk`, which has no types worth the name."""
    try:
        return pytest.importorskip("helm_python")
    except pytest.skip.Exception:
        skip_or_fail("the package helm-python-sdk is not installed")


def with_image(values: Values | None) -> dict[str, Any]:
    """The values, and the one that has no default."""
    given = dict(values or {})
    return given | {"image": {"repository": "bandmaster", **given.get("image", {})}}


def rendered(values: Values | None = None, *, namespace: str = NAMESPACE) -> list[Manifest]:
    """The chart's objects, for a cluster that has every API that Helm knows."""
    with helm().Chart.load(CHART) as chart:
        files: dict[str, str] = chart.render(with_image(values), name=RELEASE, namespace=namespace)
    return [document for path, text in files.items() if path.endswith(".yaml") for document in documents(text)]


def rendered_for(kubeconfig: Path, values: Values | None = None, *, namespace: str) -> list[Manifest]:
    """The chart's objects as an installation on this cluster would send them; nothing is installed."""
    engine = helm()
    with engine.Config(kubeconfig_path=kubeconfig, namespace=namespace) as config, engine.Chart.load(CHART) as chart:
        plan = config.install(
            chart, RELEASE, with_image(values), namespace=namespace, dry_run="server", create_namespace=True
        )
    return list(documents(plan["manifest"]))


def kustomized(folder: Path) -> list[Manifest]:
    """A kustomization's objects."""
    need("kubectl")
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return list(documents(done.stdout))


def documents(text: str) -> Iterator[Manifest]:
    """The objects of a YAML text."""
    for document in yaml.safe_load_all(text):
        if document is not None:
            yield cast(Manifest, document)


def overlay(folder: Path, *components: str) -> Path:
    """A kustomization of the trial and components, written into a folder (kustomize takes relative paths only)."""
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [str(_relative(KUSTOMIZE / "trial", folder))],
        "components": [str(_relative(KUSTOMIZE / component, folder)) for component in components],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return folder


def overlaid(*components: str) -> list[Manifest]:
    """The objects of the trial with components."""
    with tempfile.TemporaryDirectory(prefix="bm-overlay-") as folder:
        return kustomized(overlay(Path(folder), *components))


def _relative(path: Path, start: Path) -> Path:
    up = len(start.resolve().parts) - 1
    return Path(*[".."] * up, *path.resolve().parts[1:])


def moved(manifests: Iterable[Manifest], namespaces: Mapping[str, str]) -> list[Manifest]:
    """The same objects in other namespaces."""
    copies = [copy.deepcopy(manifest) for manifest in manifests]
    for manifest in copies:
        metadata = manifest["metadata"]
        if manifest["kind"] == "Namespace":
            metadata["name"] = namespaces[metadata["name"]]
        else:
            metadata["namespace"] = namespaces[metadata.get("namespace", NAMESPACE)]
        for subject in manifest.get("subjects", ()):
            subject["namespace"] = namespaces[subject["namespace"]]
        data = manifest.get("data", {})
        if "BANDMASTER_K8S__NAMESPACE" in data:
            data["BANDMASTER_K8S__NAMESPACE"] = namespaces[data["BANDMASTER_K8S__NAMESPACE"]]
    return copies


def of_kind(manifests: Iterable[Manifest], *kinds: str) -> list[Manifest]:
    """Those of some kinds."""
    return [manifest for manifest in manifests if manifest["kind"] in kinds]


def component_of(manifest: Manifest) -> str:
    """worker, scheduler, ledger, api or redis."""
    return manifest["metadata"]["labels"]["app.kubernetes.io/component"]


def pods_of(manifests: Iterable[Manifest]) -> dict[str, Manifest]:
    """Component → the specification of its pods."""
    return {component_of(each): each["spec"]["template"]["spec"] for each in of_kind(manifests, *POD_KINDS)}
