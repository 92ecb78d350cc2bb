"""The names in the manifests, and Kubernetes' own schemas where they are installed."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from nncache.settings.commands import PROXY, PUBLISHER, load_settings
from tests.house.tree import ROOT

OBJECTS: list[dict[str, Any]] = list(
    yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "nncache.yaml").read_text())
)
DEPLOYMENTS = {each["metadata"]["name"]: each["spec"] for each in OBJECTS if each["kind"] == "Deployment"}
FORMS: dict[str, Any] = {"nncache-proxy": PROXY, "nncache-publisher": PUBLISHER}

each_deployment = pytest.mark.parametrize("name", DEPLOYMENTS)


def one(kind: str) -> dict[str, Any]:
    """Return the only object of a kind."""
    (found,) = [each for each in OBJECTS if each["kind"] == kind]
    return found


def container(name: str) -> dict[str, Any]:
    """Return the only container of a deployment."""
    (found,) = DEPLOYMENTS[name]["template"]["spec"]["containers"]
    return dict(found)


def ports(name: str) -> dict[str, int]:
    """Return the container's ports by name."""
    return {each["name"]: each["containerPort"] for each in container(name)["ports"]}


@pytest.mark.parametrize("document", OBJECTS, ids=lambda each: f"{each['kind']} {each['metadata']['name']}")
def test_kubernetes_would_take_it(document: dict[str, Any]) -> None:
    """There is no unknown field and no value of a wrong type."""
    schemas = pytest.importorskip(
        "kubernetes_validate", reason="pip install kubernetes-validate (100 MB of schemas)"
    )
    schemas.validate(document, "1.30", strict=True)


@each_deployment
def test_the_settings_are_good(name: str, tmp_path: Path) -> None:
    """The ConfigMap is valid for the pod's command with its flags."""
    text = one("ConfigMap")["data"]["nncache.toml"]
    assert tomllib.loads(text)
    (tmp_path / "nncache.toml").write_text(text)
    form = FORMS[name]
    command, config, *flags = container(name)["args"]
    assert (command, config) == (form.command, "--config=/etc/nncache/nncache.toml")
    given = {word.partition("=")[0].lstrip("-").replace("-", "_"): word.partition("=")[2] for word in flags}
    assert given.keys() <= form.keys.keys()
    assert load_settings(form, tmp_path / "nncache.toml", {})


@each_deployment
def test_pods_are_found_scraped_and_asked_whether_they_live(name: str) -> None:
    """Labels, annotations and probes match the pod's names and ports."""
    spec = DEPLOYMENTS[name]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == labels
    annotations = spec["template"]["metadata"]["annotations"]
    assert int(annotations["prometheus.io/port"]) == ports(name)["admin"]
    assert f"--admin=0.0.0.0:{ports(name)['admin']}" in container(name)["args"]
    assert container(name)["livenessProbe"]["httpGet"] == {"path": "/health", "port": "admin"}


@each_deployment
def test_pods_register_the_address_by_which_they_are_reached(name: str) -> None:
    """Kubernetes provides each pod's address."""
    pod = container(name)
    assert {"--registry", "--registry-host=$(POD_IP)"} <= {*pod["args"]}
    assert pod["env"] == [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]


def test_clients_go_to_proxies_that_are_ready() -> None:
    """The service selects proxies. A standby publisher is not ready, and must not block a rollout."""
    service = one("Service")["spec"]
    assert service["selector"] == DEPLOYMENTS["nncache-proxy"]["template"]["metadata"]["labels"]
    assert service["ports"][0]["targetPort"] in ports("nncache-proxy")
    assert container("nncache-proxy")["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "admin"}
    assert "readinessProbe" not in container("nncache-publisher")


@each_deployment
def test_a_pod_has_no_rights(name: str) -> None:
    """As in the image, the user is not root, and the file system is read-only."""
    assert DEPLOYMENTS[name]["template"]["spec"]["securityContext"]["runAsNonRoot"]
    fence = container(name)["securityContext"]
    assert (fence["allowPrivilegeEscalation"], fence["readOnlyRootFilesystem"]) == (False, True)
    assert fence["capabilities"] == {"drop": ["ALL"]}


def test_a_stop_has_the_time_that_it_needs() -> None:
    """It covers the lame-duck time and the drain."""
    (lame_duck,) = [word for word in container("nncache-proxy")["args"] if word.startswith("--lame-duck-s=")]
    drain = float(PROXY.keys["drain_timeout_s"].default)  # type: ignore[arg-type]  # a number, as all of its kind
    grace = DEPLOYMENTS["nncache-proxy"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert float(lame_duck.partition("=")[2]) + drain < grace
