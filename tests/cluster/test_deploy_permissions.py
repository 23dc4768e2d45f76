"""What the chart's service accounts may do on a real API server: what worker and API need, and nothing else.

Asked of the server's own authorizer: one list of all rules, and one review for each verb, resource and namespace.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from deploy_chart import Values, of_kind, rendered_for
from deploy_kubectl import Kubectl, Manifest, cluster_or_skip, undisturbed
from deploy_namespaces import Namespaces, own_namespaces

pytestmark = pytest.mark.cluster

MAY = {
    "worker": {
        ("", "pods"): {"create", "get", "list", "watch", "delete", "patch"},
        ("", "pods/log"): {"get"},
        ("", "configmaps"): {"create", "list", "delete"},
        ("", "secrets"): {"create"},
        ("", "events"): {"list"},
    },
    "api": {("", "pods"): {"get"}, ("", "pods/log"): {"get"}},
}
WITH_API: Values = {"ledger": {"enabled": True, "existingSecret": "my-ledger"}, "api": {"enabled": True}}
VERBS = ("create", "get", "list", "watch", "update", "patch", "delete", "deletecollection", "escalate", "bind")
RESOURCES = (
    *MAY["worker"],
    ("", "pods/exec"),
    ("", "pods/attach"),
    ("", "pods/portforward"),
    ("", "pods/eviction"),
    ("", "pods/status"),
    ("", "pods/ephemeralcontainers"),
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
    with undisturbed(kubectl), own_namespaces(kubectl) as namespaces:
        yield namespaces


@pytest.fixture(scope="module")
def accounts(kubectl: Kubectl, namespaces: Namespaces) -> dict[str, str]:
    """The user name of each of the chart's service accounts, whose rights are now in force."""
    manifests = rendered_for(kubectl.kubeconfig, WITH_API, namespace=namespaces.release)
    rights = of_kind(manifests, "ServiceAccount", "Role", "RoleBinding")
    for manifest in rights:
        manifest["metadata"].setdefault("namespace", namespaces.release)
    kubectl.apply(rights)
    names = [each["metadata"]["name"] for each in of_kind(rights, "ServiceAccount")]
    return {name.rpartition("-")[2]: f"system:serviceaccount:{namespaces.release}:{name}" for name in names}


def test_there_is_an_account_for_each_of_those_who_have_rights(accounts: dict[str, str]) -> None:
    assert accounts.keys() == MAY.keys()


@pytest.mark.parametrize("component", MAY)
def test_a_service_account_suffices_and_may_do_nothing_else(
    kubectl: Kubectl, namespaces: Namespaces, accounts: dict[str, str], component: str
) -> None:
    asked = [
        (namespace, group, resource, verb)
        for namespace, (group, resource), verb in itertools.product(
            (namespaces.executions, namespaces.release, "kube-system", ""), RESOURCES, VERBS
        )
    ]
    answers = kubectl.create(_review(accounts[component], *question) for question in asked)
    allowed = {question for question, each in zip(asked, answers, strict=True) if each["status"]["allowed"]}
    assert allowed == {
        (namespaces.executions, group, resource, verb)
        for (group, resource), verbs in MAY[component].items()
        for verb in verbs
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


@pytest.mark.parametrize("component", MAY)
@pytest.mark.parametrize("where", ["executions", "release"])
def test_the_list_of_its_rules_holds_no_more_than_everyones(
    kubectl: Kubectl, namespaces: Namespaces, accounts: dict[str, str], where: str, component: str
) -> None:
    namespace: str = getattr(namespaces, where)
    own = _rules(kubectl, accounts[component], namespace) - _rules(
        kubectl, "system:serviceaccount:nowhere:nobody", namespace
    )
    granted = {(group, resource, verb) for (group, resource), verbs in MAY[component].items() for verb in verbs}
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
