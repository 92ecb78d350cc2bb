"""The names in packages and the chart: settings, units, flags, version. `make release-check` runs the packages."""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from nncache.settings.commands import PROXY, PUBLISHER, load_settings
from nncache.settings.forms import Form
from tests.house.tree import ROOT

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "nncache"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_default_settings_are_good(tmp_path: Path) -> None:
    """As installed, every key is commented out. The file is also valid with all keys uncommented."""
    installed = DEPLOY / "packages" / "nncache.toml"
    text = re.sub(r"^# (\w+ = )", r"\1", installed.read_text(), flags=re.MULTILINE)
    (tmp_path / "nncache.toml").write_text(text)
    assert len(tomllib.loads(text)) == 4
    assert tomllib.loads(installed.read_text()) == {}
    load_settings(PROXY, installed, {})
    assert (
        load_settings(PROXY, tmp_path / "nncache.toml", {"hadoop_conf_dir": ""}).proxy.listen
        == "0.0.0.0:9871"
    )


@pytest.mark.parametrize("script", ["postinstall.sh", "preremove.sh"])
def test_scripts_name_units_that_are_there(script: str) -> None:
    """Otherwise systemctl would fail, and with it the upgrade."""
    units = {path.name for path in (DEPLOY / "systemd").iterdir()}
    text = (DEPLOY / "packages" / script).read_text()
    named = re.findall(r"nncache-[\w.]+", text)
    assert named
    assert {name if "." in name else f"{name}.service" for name in named} <= units


@pytest.mark.parametrize(
    ("script", "words"), [("postinstall.sh", ("configure", "0.1.0-1")), ("preremove.sh", ("remove",))]
)
def test_a_daemon_that_cannot_start_or_stop_breaks_no_package(
    tmp_path: Path, script: str, words: tuple[str, ...]
) -> None:
    """Otherwise the package is half installed, and apt installs no other, until the settings are right."""
    for name in ("systemctl", "systemd-sysusers", "usr/lib/nncache/bin/python"):
        command = tmp_path / name
        command.parent.mkdir(parents=True, exist_ok=True)
        fails = "*try-restart*|*disable*) exit 1 ;;" if name == "systemctl" else ""
        command.write_text(f'#!/bin/sh\ncase "$*" in {fails} esac\n')
        command.chmod(0o755)
    text = (DEPLOY / "packages" / script).read_text()
    text = text.replace("/usr/lib", f"{tmp_path}/usr/lib").replace("/run/systemd/system", str(tmp_path))
    environ = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", text, script, *words], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "journalctl" in done.stderr


@pytest.mark.parametrize("form", [PROXY, PUBLISHER], ids=lambda form: form.command)
def test_the_charts_settings_and_flags_are_good(form: Form[Any], tmp_path: Path) -> None:
    """values.yaml is valid for the proxy and the publisher, and so are the flags of their pods."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    (tmp_path / "nncache.toml").write_text(values["settings"])
    assert load_settings(form, tmp_path / "nncache.toml", {})
    flags = re.findall(r"^ +- --([\w-]+)", (CHART / "templates" / "_helpers.tpl").read_text(), re.MULTILINE)
    known = {"config", *form.keys} | ({"listen", "lame_duck_s"} if form is PUBLISHER else set())
    assert {flag.replace("-", "_") for flag in flags} <= known


def test_the_chart_gives_a_stop_the_time_that_it_needs() -> None:
    """It covers the lame-duck time and the drain."""
    proxy = yaml.safe_load((CHART / "values.yaml").read_text())["proxy"]
    drain = float(PROXY.keys["drain_timeout_s"].default)  # type: ignore[arg-type]  # a number, as all of its kind
    assert proxy["lameDuckSeconds"] + drain < proxy["terminationGracePeriodSeconds"]


def test_the_chart_asks_an_admin_port_with_tls_over_tls() -> None:
    """It takes no plain HTTP: each pod would be restarted again and again, and none would be ready for clients."""
    template = (CHART / "templates" / "_helpers.tpl").read_text()
    probes = re.findall(r"httpGet: {(.*)}$", template, re.MULTILINE)
    assert [each.partition(", ")[2] for each in probes] == ["port: admin, scheme: {{ $scheme }}"] * 2
    (pattern,) = re.findall(r'regexMatch "(.*?)"', template)
    settings = yaml.safe_load((CHART / "values.yaml").read_text())["settings"]
    assert not re.search(pattern, f"{settings}# admin_tls_certificate = 'x'\n")
    assert re.search(pattern, f"{settings}admin_tls_certificate='x'\n")


def test_all_manifests_are_of_this_version() -> None:
    """This covers the chart and the image of the plain manifest."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)
    images = re.findall(r"image: nncache:(\S+)", (DEPLOY / "kubernetes" / "nncache.yaml").read_text())
    assert images == [VERSION, VERSION]
