"""What the chart's service account may do on a real API server: what the program needs, and nothing else.

Asked of the server's own authorizer: one list of all rules, and one review for each verb, resource and namespace.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from deploy_chart import of_kind, rendered_for
from deploy_kubectl import Kubectl, Manifest, cluster_or_skip
from deploy_namespaces import Namespaces, own_namespaces

pytestmark = pytest.mark.cluster

MAY = {
    ("", "pods"): {"create", "get", "list", "watch", "delete", "patch"},
    ("", "pods/log"): {"get"},
    ("", "configmaps"): {"create", "list", "delete"},
    ("", "events"): {"list"},
}
VERBS = ("create", "get", "list", "watch", "update", "patch", "delete", "deletecollection", "escalate", "bind")
RESOURCES = (
    *MAY,
    ("", "pods/exec"),
    ("", "pods/attach"),
    ("", "pods/portforward"),
    ("", "pods/eviction"),
    ("", "pods/status"),
    ("", "pods/ephemeralcontainers"),
    ("", "secrets"),
    ("", "serviceaccounts"),
    ("", "serviceaccounts/token"),
    ("", "services"),
    ("", "namespaces"),
    ("", "nodes"),
    ("", "persistentvolumeclaims"),
    ("apps", "deployments"),
    ("batch", "jobs"),
    ("networking.k8s.io", "networkpolicies"),
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("coordination.k8s.io", "leases"),
)


@pytest.fixture(scope="module")
def kubectl() -> Kubectl:
    return cluster_or_skip()


@pytest.fixture(scope="module")
def namespaces(kubectl: Kubectl) -> Iterator[Namespaces]:
    with own_namespaces(kubectl) as namespaces:
        yield namespaces


@pytest.fixture(scope="module")
def account(kubectl: Kubectl, namespaces: Namespaces) -> str:
    """The user name of the chart's service account, whose rights are now in force."""
    manifests = rendered_for(kubectl.kubeconfig, namespace=namespaces.release)
    rights = of_kind(manifests, "ServiceAccount", "Role", "RoleBinding")
    for manifest in rights:
        manifest["metadata"].setdefault("namespace", namespaces.release)
    kubectl.apply(rights)
    (made,) = of_kind(rights, "ServiceAccount")
    return f"system:serviceaccount:{namespaces.release}:{made['metadata']['name']}"


def test_the_service_account_suffices_and_may_do_nothing_else(
    kubectl: Kubectl, namespaces: Namespaces, account: str
) -> None:
    asked = [
        (namespace, group, resource, verb)
        for namespace, (group, resource), verb in itertools.product(
            (namespaces.executions, namespaces.release, "kube-system", ""), RESOURCES, VERBS
        )
    ]
    answers = kubectl.create(_review(account, *question) for question in asked)
    allowed = {question for question, each in zip(asked, answers, strict=True) if each["status"]["allowed"]}
    assert allowed == {
        (namespaces.executions, group, resource, verb) for (group, resource), verbs in MAY.items() for verb in verbs
    }


def _review(account: str, namespace: str, group: str, resource: str, verb: str) -> Manifest:
    main, _, sub = resource.partition("/")
    attributes = {"namespace": namespace, "group": group, "resource": main, "subresource": sub, "verb": verb}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": account,
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": attributes,
        },
    }


@pytest.mark.parametrize("where", ["executions", "release"])
def test_the_list_of_its_rules_holds_no_more_than_everyones(
    kubectl: Kubectl, namespaces: Namespaces, account: str, where: str
) -> None:
    namespace: str = getattr(namespaces, where)
    own = _rules(kubectl, account, namespace) - _rules(kubectl, "system:serviceaccount:nowhere:nobody", namespace)
    granted = {(group, resource, verb) for (group, resource), verbs in MAY.items() for verb in verbs}
    assert own == (granted if where == "executions" else set())


def _rules(kubectl: Kubectl, account: str, namespace: str) -> set[tuple[str, str, str]]:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    answer: Any = json.loads(
        kubectl.run("create", "-f", "-", "-o", "json", f"--as={account}", stdin=json.dumps(review))
    )
    assert not answer["status"]["incomplete"]
    rules = answer["status"]["resourceRules"]
    # A rule for named objects only is still a rule.
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule.get("apiGroups", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
