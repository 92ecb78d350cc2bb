"""compose.yaml, the image and the provisioning. No container engine runs here, so the names in them are checked."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import pytest
import yaml

from nncache.admin.server import AdminServer, Page, as_json
from nncache.admin.settings import AdminSettings, access_of
from nncache.commands.group import nncache
from nncache.net.endpoint import ListenAddress
from nncache.settings.commands import FORMS
from nncache.testbed.certificates import Authority
from tests.house.test_packages import TOOLS
from tests.house.tree import ROOT
from tests.processes import free_address

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: each for name, each in SERVICES.items() if each["image"] == "nncache"}
DAEMONS = {name: each for name, each in OURS.items() if each["command"][0] in {"proxy", "publisher"}}
PROVISIONING = DEPLOY / "grafana" / "provisioning"


def flag(service: dict[str, Any], name: str) -> str:
    """Return the value of a flag in a service's command."""
    (value,) = [word.partition("=")[2] for word in service["command"] if word.startswith(f"--{name}=")]
    return str(value)


def test_each_service_depends_on_services_that_are_there() -> None:
    """There is a proxy and a publisher."""
    assert {each["command"][0] for each in DAEMONS.values()} == {"proxy", "publisher"}
    for each in SERVICES.values():
        assert set(each.get("depends_on", ())) <= SERVICES.keys()


@pytest.mark.parametrize("name", OURS)
def test_the_command_line_understands_a_services_words(name: str) -> None:
    """The hosts in its arguments are services."""
    command: click.Command | None = nncache
    words = list(OURS[name]["command"])
    while isinstance(command, click.Group):
        _, command, words = command.resolve_command(click.Context(command), words)
    assert command is not None
    command.make_context(name, list(words))
    hosts = set(re.findall(r"([\w.-]+):\d+", " ".join(words)))
    assert {host for host in hosts if not host.startswith("0.")} <= SERVICES.keys()


@pytest.mark.parametrize("name", DAEMONS)
def test_each_daemon_registers_under_the_name_of_its_service(name: str) -> None:
    """It is the host name of the container, since the daemon listens on every address."""
    assert "--registry" in DAEMONS[name]["command"]
    assert DAEMONS[name]["hostname"] == name
    assert flag(DAEMONS[name], "admin").startswith("0.")


def test_prometheus_asks_the_proxies_what_to_scrape() -> None:
    """The host name is an alias of all proxies, so that any running one answers."""
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    (job,) = scraped["scrape_configs"]
    (found,) = job["http_sd_configs"]
    url = urlsplit(found["url"])
    assert f"{url.path}?{url.query}" == "/v1/registry/services?format=prometheus"
    proxies = [each for each in DAEMONS.values() if each["command"][0] == "proxy"]
    for each in proxies:
        assert each["networks"]["default"]["aliases"] == [url.hostname]
        assert flag(each, "listen").rpartition(":")[2] == str(url.port)
    assert all((DEPLOY / "prometheus" / name).is_file() for name in scraped["rule_files"])


def test_what_is_mounted_is_there() -> None:
    """Each file is mounted where its program reads it."""
    mounts = {}
    for each in SERVICES.values():
        for volume in each.get("volumes", ()):
            source, target, mode = volume.split(":")
            assert (DEPLOY / source).exists(), source
            assert mode == "ro"
            mounts[target] = DEPLOY / source
    (provider,) = yaml.safe_load((PROVISIONING / "dashboards" / "nncache.yaml").read_text())["providers"]
    path = provider["options"]["path"]
    assert mounts[path] == DEPLOY / "grafana" / "dashboards"
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert json.loads((mounts[path] / home.relative_to(path)).read_text())["title"]


def test_grafanas_data_source_is_that_prometheus() -> None:
    """It knows the scrape interval, on which `$__rate_interval` depends."""
    (source,) = yaml.safe_load((PROVISIONING / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert source["type"] == "prometheus"
    assert re.match(r"http://([\w-]+):9090$", source["url"])[1] in SERVICES  # type: ignore[index]  # None fails it, too
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert source["jsonData"]["timeInterval"] == scraped["global"]["scrape_interval"]


IMAGE = (DEPLOY / "Dockerfile").read_text()


def test_the_image_needs_no_rights() -> None:
    """The user is numeric, since a cluster that forbids root cannot check a name. No volume is declared."""
    final_image = IMAGE.rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\d+):(\d+)$", final_image, re.MULTILINE)
    assert "0" not in user
    assert "VOLUME" not in IMAGE
    assert 'ENTRYPOINT ["nncache"]' in final_image


def test_the_image_asks_whether_it_lives() -> None:
    """The check asks /health of the admin port, which is another port for a publisher."""
    assert "/health" in re.findall(r"^HEALTHCHECK .*$", IMAGE, re.MULTILINE)[0]
    ports = {form.command: _default_port(form) for form in FORMS if form.command in {"proxy", "publisher"}}
    assert f"NNCACHE_ADMIN_PORT={ports['proxy']}" in IMAGE
    assert set(ports.values()) < set(re.findall(r"^EXPOSE (.*)$", IMAGE, re.MULTILINE)[0].split())
    for each in DAEMONS.values():
        asked = {"NNCACHE_ADMIN_PORT": ports["proxy"]} | each["environment"]
        assert asked["NNCACHE_ADMIN_PORT"] == flag(each, "admin").rpartition(":")[2]


@pytest.mark.parametrize("has_tls", [False, True])
async def test_the_images_question_takes_no_proxy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, has_tls: bool
) -> None:
    """Docker sets HTTP_PROXY in containers where its own configuration names a proxy, which knows no loopback."""
    (words,) = re.findall(r"^HEALTHCHECK .* CMD (.*)$", IMAGE, re.MULTILINE)
    _, *arguments = json.loads(words)
    issued = Authority(tmp_path).issue("proxy1.example.com")
    settings = AdminSettings(admin_tls_certificate=str(issued.chain), admin_tls_key=str(issued.key))
    access = access_of(settings if has_tls else AdminSettings(), "127.0.0.1")
    async with AdminServer(ListenAddress("127.0.0.1", 0), [ALIVE], str, access=access) as server:
        environ = os.environ | {
            "NNCACHE_ADMIN_PORT": str(server.address.port),
            "http_proxy": f"http://{free_address()}",
        }
        asking = await asyncio.create_subprocess_exec(sys.executable, *arguments, env=environ)
        assert await asking.wait() == 0
    assert caplog.messages == [], "it is asked every ten seconds"


ALIVE = Page("/health", "the process lives", lambda _: as_json({"alive": True}))


def _default_port(form: Any) -> str:
    return str(form.keys["admin"].default).rpartition(":")[2]


def test_the_image_is_built_from_the_rooms_of_the_wheel() -> None:
    """Additional files would make each changed test rebuild it; without these it would not start."""
    listed = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert [line for line in listed if line.startswith("!")] == [
        "!pyproject.toml",
        "!README.md",
        "!LICENSE",
        "!nncache",
    ]
    assert {line.removeprefix("nncache/") for line in listed if line.startswith("nncache/")} == {*TOOLS}
