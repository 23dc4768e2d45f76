"""The manual's commands and the files they name: one version everywhere, five commands, and what they make."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from bandmaster.admin.auth.keeper import Keeper
from bandmaster.admin.auth.scopes import Scope
from bandmaster.admin.auth.secrets import Secret
from bandmaster.admin.auth.token_file import TokenFile

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "configs" / "deploy"
MANUAL: Final = (ROOT / "docs" / "kubernetes.md").read_text()
IMAGE: Final = "registry.example/bandmaster"


def five_commands() -> list[str]:
    """The first block of commands."""
    block = re.search(r"```sh\n(.*?)```", MANUAL, re.DOTALL)
    assert block is not None
    return [command for command in block[1].split("\n\n") if command.strip()]


def shell(command: str) -> str:
    """What a command prints."""
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_five_commands_and_every_file_that_the_manual_names_is_there() -> None:
    assert len(five_commands()) == 5
    named = set(re.findall(r"(?<![\w/.])configs/deploy/[\w./-]*\w", MANUAL))
    assert len(named) >= 4
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((DEPLOY / "helm" / "bandmaster" / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
    for manifest in DEPLOY.glob("kustomize/*/*.yaml"):
        assert set(re.findall(r"image: bandmaster:(\S+)", manifest.read_text())) <= {version}, manifest
    assert f"-t {IMAGE}:{version} " in five_commands()[0]


def test_the_first_token_of_a_file_is_taken(tmp_path: Path) -> None:
    (block,) = [each for each in re.findall(r"```sh\n(.*?)```", MANUAL, re.DOTALL) if "tokens.toml" in each]
    file = tmp_path / "tokens.toml"
    written = re.sub(r"kubectl -n bandmaster create secret \S+ bandmaster-api-tokens .*", f"cat > {file}", block)
    secret = Secret.read(shell(written).strip())
    assert secret is not None
    token = Keeper(file=TokenFile(file)).known(secret)
    assert token is not None
    assert (token.owner, token.scopes) == ("ann", {Scope.ADMIN})


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl on the PATH")
def test_the_second_command_gives_every_container_the_image_that_was_pushed() -> None:
    made: list[Any] = list(yaml.safe_load_all(shell(five_commands()[1].replace("kubectl apply -f -", "cat"))))
    pods = [each["spec"]["template"]["spec"] for each in made if each["kind"] in ("Deployment", "StatefulSet")]
    images = {container["image"].rpartition(":")[0] for pod in pods for container in pod["containers"]}
    assert (len(pods), images) == (3, {IMAGE})


def test_the_third_command_makes_a_password_and_the_url_with_it() -> None:
    made = shell(re.sub(r"kubectl -n .*", "cat", five_commands()[2], flags=re.DOTALL))
    found = re.fullmatch(r"password=([0-9a-f]{48})\nurl=redis://:\1@([a-z.-]+):6379/0\n", made)
    assert found is not None, made
    assert found[2] == "bandmaster-redis.bandmaster.svc"
